//! What a linear map does with the results of its product.

use super::product::Epilogue;
use super::simd::{LANES, Simd};

pub(super) const ASSIGN: u8 = 0;
pub(super) const RELU: u8 = 1;
pub(super) const ADD: u8 = 2;

/// Adds a bias and writes rows of `d_out`; `HOW` is one of the constants above, so that the choice is made when the
/// kernel is compiled.
pub(super) struct Linear<'a, const HOW: u8> {
    pub(super) bias: &'a [f32],
    pub(super) d_out: usize,
    pub(super) out: &'a mut [f32],
}

impl<const HOW: u8> Epilogue for Linear<'_, HOW> {
    #[inline(always)]
    fn take<S: Simd, const N: usize>(&mut self, simd: S, row: usize, column: usize, values: &[S::F32; N]) {
        let width = (self.d_out - column.min(self.d_out)).min(N * LANES);
        let out = &mut self.out[row * self.d_out + column.min(self.d_out)..][..width];
        let bias = &self.bias[column.min(self.d_out)..][..width];
        if width == N * LANES {
            for v in 0..N {
                let (out, bias) = (&mut out[v * LANES..], &bias[v * LANES..]);
                let value = simd.add(values[v], simd.load(bias));
                let value = match HOW {
                    ADD => simd.add(value, simd.load(out)),
                    RELU => simd.max(value, simd.splat(0.0)),
                    _ => value,
                };
                simd.store(value, out);
            }
            return;
        }
        for ((out, bias), &value) in out.chunks_mut(LANES).zip(bias.chunks(LANES)).zip(values) {
            let value = simd.add(value, simd.load_partial(bias));
            let value = match HOW {
                ADD => simd.add(value, simd.load_partial(out)),
                RELU => simd.max(value, simd.splat(0.0)),
                _ => value,
            };
            simd.store_partial(value, out);
        }
    }
}
