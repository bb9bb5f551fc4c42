//! AVX-512 with VNNI: sixteen lanes.

#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "intrinsics carry their own prefix"))]
use std::arch::x86_64::*;

use super::Simd;
use super::avx2::sum_of_eight;

/// Proof that the processor has AVX-512 F, BW, DQ, VL and VNNI.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// The proof.
    ///
    /// # Safety
    /// The processor has AVX-512 F, BW, DQ, VL and VNNI.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// A mask of the first `len` lanes.
#[inline(always)]
fn first(len: usize) -> u16 {
    if len >= 16 { u16::MAX } else { (1 << len) - 1 }
}

// SAFETY of the blocks below: a value of this type proves that the instructions exist; slices are checked to hold what
// is read or written, or masked to their length; raw pointers are the caller's promise.
impl Simd for Avx512 {
    const IS_WIDE: bool = true;
    const ROWS: usize = 6;
    const DOT_ROWS: usize = 6;
    type F32 = __m512;
    type I32 = __m512i;

    #[inline(always)]
    fn splat(self, value: f32) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_set1_ps(value) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m512 {
        // SAFETY: the slice holds sixteen.
        unsafe { _mm512_loadu_ps(from[..16].as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, from: &[f32]) -> __m512 {
        // SAFETY: the mask ends where the slice does.
        unsafe { _mm512_maskz_loadu_ps(first(from.len()), from.as_ptr()) }
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16]) -> __m512 {
        // SAFETY: the slice holds sixteen.
        unsafe {
            let wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from[..16].as_ptr().cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn load_bf16_partial(self, from: &[u16]) -> __m512 {
        // SAFETY: the mask ends where the slice does.
        unsafe {
            let narrow = _mm256_maskz_loadu_epi16(first(from.len()), from.as_ptr().cast());
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(narrow)))
        }
    }

    #[inline(always)]
    fn store(self, vector: __m512, to: &mut [f32]) {
        // SAFETY: the slice holds sixteen.
        unsafe { _mm512_storeu_ps(to[..16].as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn store_partial(self, vector: __m512, to: &mut [f32]) {
        // SAFETY: the mask ends where the slice does.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), first(to.len()), vector) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn abs(self, a: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_abs_ps(a) }
    }

    #[inline(always)]
    fn round(self, a: __m512) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_roundscale_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    fn times_exp2(self, a: __m512, n: __m512) -> __m512 {
        // SAFETY: the type proves the instructions.
        unsafe { _mm512_scalef_ps(a, _mm512_max_ps(n, _mm512_set1_ps(-125.0))) }
    }

    #[inline(always)]
    fn sum(self, a: __m512) -> f32 {
        // SAFETY: the type proves the instructions.
        unsafe { sum_of_eight(_mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps::<1>(a))) }
    }

    #[inline(always)]
    fn sums(self, [a, b, c, d]: [__m512; 4]) -> [f32; 4] {
        // SAFETY: the type proves the instructions; the array holds four.
        unsafe {
            let ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let abcd = _mm512_add_ps(_mm512_shuffle_ps::<0x44>(ab, cd), _mm512_shuffle_ps::<0xee>(ab, cd));
            let half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps::<1>(abcd));
            let quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
            let mut sums = [0.0; 4];
            _mm_storeu_ps(sums.as_mut_ptr(), quarter);
            sums
        }
    }

    #[inline(always)]
    fn greatest(self, a: __m512) -> f32 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_reduce_max_ps(a) }
    }

    #[inline(always)]
    fn any_above(self, a: __m512, b: __m512) -> bool {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b) != 0 }
    }

    #[inline(always)]
    fn store_codes(self, a: __m512, to: &mut [u8]) {
        // SAFETY: the mask ends where the slice does.
        unsafe {
            let bytes = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a));
            let codes = _mm_xor_si128(bytes, _mm_set1_epi8(i8::MIN));
            _mm_mask_storeu_epi8(to.as_mut_ptr().cast(), first(to.len()), codes);
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m512 {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, vector: __m512, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_ps(to, vector) }
    }

    #[inline(always)]
    unsafe fn load_i32_at(self, from: *const i32) -> __m512i {
        // SAFETY: the caller's promise.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_i32_at(self, vector: __m512i, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { _mm512_storeu_si512(to.cast(), vector) }
    }

    #[inline(always)]
    fn begin_dot(self, correction: __m512i) -> __m512i {
        correction
    }

    #[inline(always)]
    fn splat_codes(self, codes: u32) -> __m512i {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_set1_epi32(codes as i32) }
    }

    #[inline(always)]
    fn dot(self, sum: __m512i, codes: __m512i, weights: __m512i) -> __m512i {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_dpbusd_epi32(sum, codes, weights) }
    }

    #[inline(always)]
    fn to_f32(self, a: __m512i) -> __m512 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm512_cvtepi32_ps(a) }
    }

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
