//! AVX2 with FMA, alone or with AVX-VNNI: sixteen lanes in two registers.

#[cfg_attr(not(test), expect(clippy::wildcard_imports, reason = "intrinsics carry their own prefix"))]
use std::arch::x86_64::*;

use super::{LANES, Simd, ZERO_POINT};

/// Proof that the processor has AVX2 and FMA, and with `VNNI` AVX-VNNI as well: integer dot products in one
/// instruction, on the many processors that have them without AVX-512.
#[derive(Clone, Copy)]
pub(crate) struct Avx2<const VNNI: bool>(());

/// Lanes of a register.
const HALF: usize = LANES / 2;

impl<const VNNI: bool> Avx2<VNNI> {
    /// The proof.
    ///
    /// # Safety
    /// The processor has AVX2 and FMA, and AVX-VNNI if `VNNI`.
    #[inline(always)]
    pub(crate) unsafe fn new() -> Self {
        Self(())
    }
}

/// The sum of eight lanes: halves are added to each other until one number is left.
///
/// # Safety
/// The processor has AVX.
#[inline(always)]
pub(super) unsafe fn sum_of_eight(a: __m256) -> f32 {
    // SAFETY: the caller's promise.
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps::<1>(a));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// The bf16 numbers of a register, as f32.
#[inline(always)]
fn widen<const VNNI: bool>(_proof: Avx2<VNNI>, from: &[u16; HALF]) -> __m256 {
    // SAFETY: the proof is of the instructions; the array holds eight.
    unsafe {
        let wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(from.as_ptr().cast()));
        _mm256_castsi256_ps(_mm256_slli_epi32::<16>(wide))
    }
}

// SAFETY of the blocks below: a value of this type proves that the instructions exist; slices are checked to hold what
// is read or written; raw pointers are the caller's promise.
impl<const VNNI: bool> Simd for Avx2<VNNI> {
    const IS_WIDE: bool = false;
    const ROWS: usize = 6;
    // Without VNNI a dot product wants registers for magnitudes, for products, and for ones.
    const DOT_ROWS: usize = if VNNI { 6 } else { 4 };
    type F32 = [__m256; 2];
    type I32 = [__m256i; 2];

    #[inline(always)]
    fn splat(self, value: f32) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_set1_ps(value); 2] }
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> [__m256; 2] {
        // SAFETY: the slice holds sixteen.
        unsafe { self.load_at(from[..LANES].as_ptr()) }
    }

    #[inline(always)]
    fn load_partial(self, from: &[f32]) -> [__m256; 2] {
        if from.len() >= LANES {
            return self.load(from);
        }
        let mut lanes = [0.0; LANES];
        lanes[..from.len()].copy_from_slice(from);
        self.load(&lanes)
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16]) -> [__m256; 2] {
        let (halves, _) = from[..LANES].as_chunks();
        [widen(self, &halves[0]), widen(self, &halves[1])]
    }

    #[inline(always)]
    fn load_bf16_partial(self, from: &[u16]) -> [__m256; 2] {
        let mut lanes = [0; LANES];
        let len = from.len().min(LANES);
        lanes[..len].copy_from_slice(&from[..len]);
        self.load_bf16(&lanes)
    }

    #[inline(always)]
    fn store(self, vector: [__m256; 2], to: &mut [f32]) {
        // SAFETY: the slice holds sixteen.
        unsafe { self.store_at(vector, to[..LANES].as_mut_ptr()) }
    }

    #[inline(always)]
    fn store_partial(self, vector: [__m256; 2], to: &mut [f32]) {
        if to.len() >= LANES {
            return self.store(vector, to);
        }
        let mut lanes = [0.0; LANES];
        self.store(vector, &mut lanes);
        to.copy_from_slice(&lanes[..to.len()]);
    }

    #[inline(always)]
    fn add(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_add_ps(a[0], b[0]), _mm256_add_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn sub(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_sub_ps(a[0], b[0]), _mm256_sub_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_mul_ps(a[0], b[0]), _mm256_mul_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn mul_add(self, a: [__m256; 2], b: [__m256; 2], c: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_fmadd_ps(a[0], b[0], c[0]), _mm256_fmadd_ps(a[1], b[1], c[1])] }
    }

    #[inline(always)]
    fn max(self, a: [__m256; 2], b: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_max_ps(a[0], b[0]), _mm256_max_ps(a[1], b[1])] }
    }

    #[inline(always)]
    fn abs(self, a: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        a.map(|a| unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) })
    }

    #[inline(always)]
    fn round(self, a: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        a.map(|a| unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a) })
    }

    #[inline(always)]
    fn times_exp2(self, a: [__m256; 2], n: [__m256; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instructions.
        let power = n.map(|n| unsafe {
            let n = _mm256_cvtps_epi32(_mm256_max_ps(n, _mm256_set1_ps(-125.0)));
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(n, _mm256_set1_epi32(127))))
        });
        self.mul(a, power)
    }

    #[inline(always)]
    fn sum(self, [low, high]: [__m256; 2]) -> f32 {
        // SAFETY: the type proves the instructions.
        unsafe { sum_of_eight(_mm256_add_ps(low, high)) }
    }

    #[inline(always)]
    fn sums(self, [a, b, c, d]: [[__m256; 2]; 4]) -> [f32; 4] {
        // SAFETY: the type proves the instructions; the array holds four.
        unsafe {
            let halves: [__m256; 2] = std::array::from_fn(|half| {
                let (a, b, c, d) = (a[half], b[half], c[half], d[half]);
                let ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                let cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
                _mm256_add_ps(_mm256_shuffle_ps::<0x44>(ab, cd), _mm256_shuffle_ps::<0xee>(ab, cd))
            });
            let half = _mm256_add_ps(halves[0], halves[1]);
            let quarter = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
            let mut sums = [0.0; 4];
            _mm_storeu_ps(sums.as_mut_ptr(), quarter);
            sums
        }
    }

    #[inline(always)]
    fn greatest(self, [low, high]: [__m256; 2]) -> f32 {
        // SAFETY: the type proves the instruction.
        unsafe {
            let eight = _mm256_max_ps(low, high);
            let four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps::<1>(eight));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn any_above(self, a: [__m256; 2], b: [__m256; 2]) -> bool {
        // SAFETY: the type proves the instruction.
        unsafe {
            let (low, high) = (_mm256_cmp_ps::<_CMP_GT_OQ>(a[0], b[0]), _mm256_cmp_ps::<_CMP_GT_OQ>(a[1], b[1]));
            _mm256_movemask_ps(_mm256_or_ps(low, high)) != 0
        }
    }

    #[inline(always)]
    fn store_codes(self, a: [__m256; 2], to: &mut [u8]) {
        let mut lanes = [0_u8; LANES];
        // SAFETY: the type proves the instructions; the array holds sixteen.
        unsafe {
            let (low, high) = (_mm256_cvtps_epi32(a[0]), _mm256_cvtps_epi32(a[1]));
            // Packing works within halves of 128 bits: the words of `low` and `high` alternate until they are put in order.
            let words = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi32(low, high));
            let bytes = _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
            let codes = _mm_xor_si128(bytes, _mm_set1_epi8(i8::MIN));
            _mm_storeu_si128(lanes.as_mut_ptr().cast(), codes);
        }
        let len = to.len().min(LANES);
        to[..len].copy_from_slice(&lanes[..len]);
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> [__m256; 2] {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(HALF))] }
    }

    #[inline(always)]
    unsafe fn store_at(self, [low, high]: [__m256; 2], to: *mut f32) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm256_storeu_ps(to, low);
            _mm256_storeu_ps(to.add(HALF), high);
        }
    }

    #[inline(always)]
    unsafe fn load_i32_at(self, from: *const i32) -> [__m256i; 2] {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(HALF).cast())] }
    }

    #[inline(always)]
    unsafe fn store_i32_at(self, [low, high]: [__m256i; 2], to: *mut i32) {
        // SAFETY: the caller's promise.
        unsafe {
            _mm256_storeu_si256(to.cast(), low);
            _mm256_storeu_si256(to.add(HALF).cast(), high);
        }
    }

    #[inline(always)]
    fn begin_dot(self, correction: [__m256i; 2]) -> [__m256i; 2] {
        // SAFETY: the type proves the instruction.
        if VNNI { correction } else { unsafe { [_mm256_setzero_si256(); 2] } }
    }

    #[inline(always)]
    fn splat_codes(self, codes: u32) -> [__m256i; 2] {
        let zero_point = u32::from_ne_bytes([ZERO_POINT; 4]);
        let codes = if VNNI { codes } else { codes ^ zero_point };
        // SAFETY: the type proves the instruction.
        unsafe { [_mm256_set1_epi32(codes as i32); 2] }
    }

    /// Without VNNI, the products of `|w|` (unsigned) and `±x` (signed) are at most 127 * 127, two of which fit 16 bits:
    /// nothing saturates, unlike with the codes 0..=255 themselves.
    #[inline(always)]
    fn dot(self, sum: [__m256i; 2], codes: [__m256i; 2], weights: [__m256i; 2]) -> [__m256i; 2] {
        std::array::from_fn(|half| {
            let (sum, codes, weights) = (sum[half], codes[half], weights[half]);
            // SAFETY: the type proves the instructions, `VNNI` the first.
            unsafe {
                if VNNI {
                    return _mm256_dpbusd_avx_epi32(sum, codes, weights);
                }
                let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(weights), _mm256_sign_epi8(codes, weights));
                _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
            }
        })
    }

    #[inline(always)]
    fn to_f32(self, a: [__m256i; 2]) -> [__m256; 2] {
        // SAFETY: the type proves the instruction.
        a.map(|a| unsafe { _mm256_cvtepi32_ps(a) })
    }

    #[inline(always)]
    fn prefetch(self, at: *const u8) {
        // SAFETY: a prefetch of any address is harmless.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
    }
}
