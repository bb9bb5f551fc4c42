//! AVX2 with FMA: eight lanes.

#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "intrinsics carry their own prefix"))]
use std::arch::x86_64::*;

use super::Simd;

/// Proof that the processor has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

impl Avx2 {
    /// The proof.
    ///
    /// # Safety
    /// The processor has AVX2 and FMA.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

// SAFETY of the blocks below: a value of this type proves that the instructions exist; slices are checked to hold what
// is read or written; raw pointers are the caller's promise.
impl Simd for Avx2 {
    const LANES: usize = 8;
    type F32 = __m256;
    type I32 = __m256i;

    #[inline(always)]
    fn splat(self, value: f32) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_set1_ps(value) }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> __m256 {
        // SAFETY: the slice holds eight.
        unsafe { _mm256_loadu_ps(from[..8].as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, from: &[f32]) -> __m256 {
        if from.len() >= 8 {
            return self.load(from);
        }
        let mut lanes = [0.0; 8];
        lanes[..from.len()].copy_from_slice(from);
        self.load(&lanes)
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16]) -> __m256 {
        // SAFETY: the slice holds eight.
        unsafe {
            let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from[..8].as_ptr().cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
        }
    }

    #[inline(always)]
    fn load_bf16_partial(self, from: &[u16]) -> __m256 {
        let mut lanes = [0; 8];
        let len = from.len().min(8);
        lanes[..len].copy_from_slice(&from[..len]);
        self.load_bf16(&lanes)
    }

    #[inline(always)]
    fn store(self, vector: __m256, to: &mut [f32]) {
        // SAFETY: the slice holds eight.
        unsafe { _mm256_storeu_ps(to[..8].as_mut_ptr(), vector) }
    }

    #[inline(always)]
    fn store_partial(self, vector: __m256, to: &mut [f32]) {
        if to.len() >= 8 {
            return self.store(vector, to);
        }
        let mut lanes = [0.0; 8];
        self.store(vector, &mut lanes);
        to.copy_from_slice(&lanes[..to.len()]);
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn mul_add(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn abs(self, a: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    }

    #[inline(always)]
    fn round(self, a: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) }
    }

    #[inline(always)]
    fn times_exp2(self, a: __m256, n: __m256) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe {
            let n = _mm256_cvtps_epi32(_mm256_max_ps(n, _mm256_set1_ps(-126.0)));
            let power = _mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127)));
            _mm256_mul_ps(a, _mm256_castsi256_ps(power))
        }
    }

    #[inline(always)]
    fn sum(self, a: __m256) -> f32 {
        // SAFETY: the type proves the instruction.
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn sums(self, [a, b, c, d]: [__m256; 4]) -> [f32; 4] {
        // SAFETY: the type proves the instructions; the array holds four.
        unsafe {
            let ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let abcd = _mm256_add_ps(_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xee>(ab, cd));
            let half = _mm_add_ps(_mm256_castps256_ps128(abcd), _mm256_extractf128_ps::<1>(abcd));
            let mut sums = [0.0; 4];
            _mm_storeu_ps(sums.as_mut_ptr(), half);
            sums
        }
    }

    #[inline(always)]
    fn greatest(self, a: __m256) -> f32 {
        // SAFETY: the type proves the instruction.
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn any_above(self, a: __m256, b: __m256) -> bool {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) != 0 }
    }

    #[inline(always)]
    fn store_codes(self, a: __m256, to: &mut [u8]) {
        let mut lanes = [0_i32; 8];
        // SAFETY: the array holds eight.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), _mm256_cvtps_epi32(a)) };
        for (code, lane) in to.iter_mut().zip(lanes) {
            *code = (lane as u8) ^ super::ZERO_POINT;
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_ps(from) }
    }

    #[inline(always)]
    unsafe fn store_at(self, vector: __m256, to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_ps(to, vector) }
    }

    #[inline(always)]
    unsafe fn load_i32_at(self, from: *const i32) -> __m256i {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }

    #[inline(always)]
    unsafe fn store_i32_at(self, vector: __m256i, to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_si256(to.cast(), vector) }
    }

    #[inline(always)]
    fn begin_dot(self, _correction: __m256i) -> __m256i {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_setzero_si256() }
    }

    #[inline(always)]
    fn splat_codes(self, codes: u32) -> __m256i {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_set1_epi32((codes ^ 0x8080_8080) as i32) }
    }

    /// The products of `|w|` (unsigned) and `±x` (signed) are at most 127 * 127, two of which fit 16 bits: nothing
    /// saturates, unlike with the codes 0..=255 themselves.
    #[inline(always)]
    fn dot(self, sum: __m256i, codes: __m256i, weights: __m256i) -> __m256i {
        // SAFETY: the type proves the instruction.
        unsafe {
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(codes, weights));
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }

    #[inline(always)]
    fn to_f32(self, a: __m256i) -> __m256 {
        // SAFETY: the type proves the instruction.
        unsafe { _mm256_cvtepi32_ps(a) }
    }

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
