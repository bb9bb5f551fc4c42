//! How keys and values are kept: as f32, or as bf16 beside int8 products.
//!
//! A decoder reads all of them in every step, from beyond the second cache: half the bytes are half the time. What bf16
//! rounds away, 2^-9 of a number, is little beside the 2^-7 of the quantised product that the number came from.

use super::simd::Simd;
use crate::dispatch::vectorised;

/// A number as it is kept.
pub(crate) trait Stored: Copy + Default {
    /// Rounds numbers to their stored form.
    fn store(from: &[f32], to: &mut [Self]);
    /// The first vector of `from`, which must hold as much.
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32;
    /// At most a vector of `from`, zeros beyond its end.
    fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32;
}

impl Stored for f32 {
    fn store(from: &[f32], to: &mut [Self]) {
        to.copy_from_slice(from);
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        simd.load(from)
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        simd.load_partial(from)
    }
}

/// The upper half of an f32.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub(crate) struct Bf16(u16);

impl Bf16 {
    fn bits(numbers: &[Self]) -> &[u16] {
        // SAFETY: the type is transparent over u16.
        unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
    }
}

vectorised! {
    fn narrow(from: &[f32], to: &mut [Bf16]) {
        for (to, from) in to.iter_mut().zip(from) {
            let bits = from.to_bits();
            // To nearest, ties to even. Numbers are finite.
            *to = Bf16((bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16);
        }
    }
}

impl Stored for Bf16 {
    fn store(from: &[f32], to: &mut [Self]) {
        assert_eq!(from.len(), to.len(), "a place for each number");
        narrow(from, to);
    }

    #[inline(always)]
    fn load<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        simd.load_bf16(Self::bits(from))
    }

    #[inline(always)]
    fn load_partial<S: Simd>(simd: S, from: &[Self]) -> S::F32 {
        simd.load_bf16_partial(Self::bits(from))
    }
}
