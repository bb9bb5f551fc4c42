//! No instructions beyond the target's baseline: sixteen lanes of plain arithmetic, which compilers vectorise.

use super::{LANES, Simd, ZERO_POINT};

/// The baseline, which every processor has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// `f` of each pair of lanes.
#[inline(always)]
fn zip<T: Copy + Default>(a: [T; LANES], b: [T; LANES], f: impl Fn(T, T) -> T) -> [T; LANES] {
    let mut out = [T::default(); LANES];
    for i in 0..LANES {
        out[i] = f(a[i], b[i]);
    }
    out
}

impl Simd for Portable {
    const IS_WIDE: bool = false;
    const ROWS: usize = 2;
    const DOT_ROWS: usize = 2;
    type F32 = [f32; LANES];
    type I32 = [i32; LANES];

    #[inline(always)]
    fn splat(self, value: f32) -> Self::F32 {
        [value; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::F32 {
        let mut lanes = [0.0; LANES];
        lanes.copy_from_slice(&from[..LANES]);
        lanes
    }

    #[inline(always)]
    fn load_partial(self, from: &[f32]) -> Self::F32 {
        let mut lanes = [0.0; LANES];
        let len = from.len().min(LANES);
        lanes[..len].copy_from_slice(&from[..len]);
        lanes
    }

    #[inline(always)]
    fn load_bf16(self, from: &[u16]) -> Self::F32 {
        self.load_bf16_partial(&from[..LANES])
    }

    #[inline(always)]
    fn load_bf16_partial(self, from: &[u16]) -> Self::F32 {
        let mut lanes = [0.0; LANES];
        for (lane, &bits) in lanes.iter_mut().zip(from) {
            *lane = f32::from_bits(u32::from(bits) << 16);
        }
        lanes
    }

    #[inline(always)]
    fn store(self, vector: Self::F32, to: &mut [f32]) {
        to[..LANES].copy_from_slice(&vector);
    }

    #[inline(always)]
    fn store_partial(self, vector: Self::F32, to: &mut [f32]) {
        let len = to.len().min(LANES);
        to[..len].copy_from_slice(&vector[..len]);
    }

    #[inline(always)]
    fn add(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::F32, b: Self::F32, c: Self::F32) -> Self::F32 {
        zip(zip(a, b, |a, b| a * b), c, |product, c| product + c)
    }

    #[inline(always)]
    fn max(self, a: Self::F32, b: Self::F32) -> Self::F32 {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn abs(self, a: Self::F32) -> Self::F32 {
        a.map(f32::abs)
    }

    #[inline(always)]
    fn round(self, a: Self::F32) -> Self::F32 {
        a.map(f32::round_ties_even)
    }

    #[inline(always)]
    fn times_exp2(self, a: Self::F32, n: Self::F32) -> Self::F32 {
        zip(a, n, |a, n| a * f32::from_bits(((n.max(-125.0) as i32 + 127) << 23) as u32))
    }

    /// Halves are added to each other until one number is left, as shuffles do.
    #[inline(always)]
    fn sum(self, mut a: Self::F32) -> f32 {
        for half in [8, 4, 2, 1] {
            for i in 0..half {
                a[i] += a[i + half];
            }
        }
        a[0]
    }

    #[inline(always)]
    fn sums(self, vectors: [Self::F32; 4]) -> [f32; 4] {
        vectors.map(|vector| self.sum(vector))
    }

    #[inline(always)]
    fn greatest(self, a: Self::F32) -> f32 {
        a.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    #[inline(always)]
    fn any_above(self, a: Self::F32, b: Self::F32) -> bool {
        a.iter().zip(b).any(|(&a, b)| a > b)
    }

    #[inline(always)]
    fn store_codes(self, a: Self::F32, to: &mut [u8]) {
        for (code, value) in to.iter_mut().zip(a) {
            *code = (value.round_ties_even() as i32 as u8) ^ ZERO_POINT;
        }
    }

    #[inline(always)]
    unsafe fn load_at(self, from: *const f32) -> Self::F32 {
        // SAFETY: the caller promises that many f32; an array of them needs no other alignment.
        unsafe { from.cast::<Self::F32>().read() }
    }

    #[inline(always)]
    unsafe fn store_at(self, vector: Self::F32, to: *mut f32) {
        // SAFETY: as in `load_at`.
        unsafe { to.cast::<Self::F32>().write(vector) }
    }

    #[inline(always)]
    unsafe fn load_i32_at(self, from: *const i32) -> Self::I32 {
        // SAFETY: the caller promises that many i32.
        unsafe { from.cast::<Self::I32>().read() }
    }

    #[inline(always)]
    unsafe fn store_i32_at(self, vector: Self::I32, to: *mut i32) {
        // SAFETY: the caller promises room for that many i32.
        unsafe { to.cast::<Self::I32>().write(vector) }
    }

    #[inline(always)]
    fn begin_dot(self, _correction: Self::I32) -> Self::I32 {
        [0; LANES]
    }

    #[inline(always)]
    fn splat_codes(self, codes: u32) -> Self::I32 {
        [(codes ^ 0x8080_8080) as i32; LANES]
    }

    #[inline(always)]
    fn dot(self, sum: Self::I32, codes: Self::I32, weights: Self::I32) -> Self::I32 {
        let mut out = sum;
        for i in 0..LANES {
            let (x, w) = (codes[i].to_le_bytes(), weights[i].to_le_bytes());
            for j in 0..4 {
                out[i] += i32::from(x[j] as i8) * i32::from(w[j] as i8);
            }
        }
        out
    }

    #[inline(always)]
    fn to_f32(self, a: Self::I32) -> Self::F32 {
        a.map(|a| a as f32)
    }

    #[inline(always)]
    fn prefetch(self, _at: *const u8) {}
}
