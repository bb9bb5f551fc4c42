//! Vectors of an instruction set, so that each kernel is written once.
//!
//! A kernel is a function generic over [`Simd`], inlined into one function per instruction set by [`on_best_isa`];
//! the value of the trait's type is the proof that the processor has the instructions.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod isa;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use isa::on_best_isa;
pub use isa::{Isa, with_isa_at_most};
pub(crate) use portable::Portable;

/// The zero point of quantised activations: code 128 stands for 0.
pub(crate) const ZERO_POINT: u8 = 128;

/// Numbers in a vector, whatever the registers of the instruction set: sums are taken in one order on all of them, and
/// those that fuse a multiplication with its addition agree to the bit.
pub(crate) const LANES: usize = 16;

/// An instruction set's vectors of [`LANES`] numbers.
///
/// Every method is inlined into its caller, which [`on_best_isa`] compiles for the instruction set in question.
pub(crate) trait Simd: Copy {
    /// Whether there are registers for tiles of several vectors: thirty-two that hold a whole one.
    const IS_WIDE: bool;
    /// Rows of a tile of f32 products, at most 6: as many as the registers hold sums for.
    const ROWS: usize;
    /// Rows of a tile of integer dot products, at most 6, which leave registers for what [`dot`](Simd::dot) computes on
    /// the way.
    const DOT_ROWS: usize;
    /// A vector of f32.
    type F32: Copy;
    /// A vector of i32.
    type I32: Copy;

    /// `value` in every lane.
    fn splat(self, value: f32) -> Self::F32;
    /// The first lanes of `from`, which must hold that many.
    fn load(self, from: &[f32]) -> Self::F32;
    /// At most a vector's worth of `from`, zeros beyond its end.
    fn load_partial(self, from: &[f32]) -> Self::F32;
    /// The first lanes of bf16 numbers, which must be that many.
    fn load_bf16(self, from: &[u16]) -> Self::F32;
    /// At most a vector's worth of bf16 numbers, zeros beyond their end.
    fn load_bf16_partial(self, from: &[u16]) -> Self::F32;
    /// Writes a vector to the front of `to`, which must have room for it.
    fn store(self, vector: Self::F32, to: &mut [f32]);
    /// Writes as many lanes as `to` holds, at most all.
    fn store_partial(self, vector: Self::F32, to: &mut [f32]);
    /// `a + b`.
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a - b`.
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b`.
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// `a * b + c`, fused where the instruction set fuses.
    fn mul_add(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32;
    /// The greater of each pair.
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32;
    /// The absolute values.
    fn abs(self, a: Self::F32) -> Self::F32;
    /// The nearest integers, ties to even.
    fn round(self, a: Self::F32) -> Self::F32;
    /// `a * 2^n` for integral `n` of at most 127; below -125 that of -125, so that an `a` of at least 1/2 gives no
    /// subnormal, on which processors lose a hundred cycles.
    fn times_exp2(self, a: Self::F32, n: Self::F32) -> Self::F32;
    /// The sum of the lanes: halves are added to each other until one number is left.
    fn sum(self, a: Self::F32) -> f32;
    /// The sum of the lanes of each vector, in an order of its own.
    fn sums(self, vectors: [Self::F32; 4]) -> [f32; 4];
    /// The greatest lane.
    fn greatest(self, a: Self::F32) -> f32;
    /// Whether some lane of `a` is above its counterpart in `b`.
    fn any_above(self, a: Self::F32, b: Self::F32) -> bool;
    /// Rounds lanes of -127..=127 and writes them as codes around [`ZERO_POINT`]; as many as `to` holds, at most all.
    fn store_codes(self, a: Self::F32, to: &mut [u8]);

    /// The vector at `from`.
    ///
    /// # Safety
    /// `from` is readable for a vector's worth of f32.
    unsafe fn load_at(self, from: *const f32) -> Self::F32;
    /// Writes the vector to `to`.
    ///
    /// # Safety
    /// `to` is writable for a vector's worth of f32.
    unsafe fn store_at(self, vector: Self::F32, to: *mut f32);
    /// The vector at `from`.
    ///
    /// # Safety
    /// `from` is readable for a vector's worth of i32.
    unsafe fn load_i32_at(self, from: *const i32) -> Self::I32;
    /// Writes the vector to `to`.
    ///
    /// # Safety
    /// `to` is writable for a vector's worth of i32.
    unsafe fn store_i32_at(self, vector: Self::I32, to: *mut i32);

    /// Where an integer dot product begins, given `-128 * sum(weights)` of each column: instruction sets that multiply
    /// the unsigned codes begin there, those that subtract the zero point first begin at nothing.
    fn begin_dot(self, correction: Self::I32) -> Self::I32;
    /// Four activation codes, in every lane, ready for [`dot`](Simd::dot).
    fn splat_codes(self, codes: u32) -> Self::I32;
    /// `sum + x · w` in each lane: four products of activation codes and weights in -127..=127, exactly.
    fn dot(self, sum: Self::I32, codes: Self::I32, weights: Self::I32) -> Self::I32;
    /// The integers as f32, rounded to nearest.
    fn to_f32(self, a: Self::I32) -> Self::F32;
    /// Asks for the cache line at `at`, which need not be readable.
    fn prefetch(self, at: *const u8);
}
