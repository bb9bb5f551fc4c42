//! The exponential function on vectors.

use super::simd::Simd;

/// e^x within 2e-7 of its value for x <= 88; below -87 it stays at e^-87, which is as good as 0 beside e^0 = 1.
///
/// `e^x = 2^n * e^r` with `n = round(x / ln 2)`; `e^r` for |r| <= ln 2 / 2 by its Taylor polynomial of degree 6 (whose
/// remainder there is below 2e-7), and r with ln 2 in two parts so that the subtraction loses nothing.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::F32) -> S::F32 {
    let x = simd.max(x, simd.splat(-87.0));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    let r = simd.mul_add(n, simd.splat(-0.693_359_4), x);
    let r = simd.mul_add(n, simd.splat(2.121_944_4e-4), r);
    let mut p = simd.splat(1.0 / 720.0);
    for coefficient in [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0] {
        p = simd.mul_add(p, r, simd.splat(coefficient));
    }
    simd.mul(p, simd.exp2_integral(n))
}

/// Replaces `scores` by `e^(score * scale - max)` and gives 1 over their sum: the softmax is their product. What pads
/// the last vector is left alone.
#[inline(always)]
pub(crate) fn exponentials<S: Simd>(simd: S, scores: &mut [f32], scale: f32) -> f32 {
    let scale = simd.splat(scale);
    let mut greatest = f32::NEG_INFINITY;
    let whole = scores.chunks_exact(S::LANES);
    for &score in whole.remainder() {
        greatest = greatest.max(score);
    }
    for chunk in whole {
        greatest = greatest.max(simd.greatest(simd.load(chunk)));
    }
    let shift = simd.mul(simd.splat(-greatest), scale);
    let mut total = 0.0;
    for chunk in scores.chunks_mut(S::LANES) {
        let value = exp(simd, simd.mul_add(simd.load_partial(chunk), scale, shift));
        simd.store_partial(value, chunk);
        // A partial chunk is loaded again, so that the lanes beyond its end count as zeros.
        total += simd.sum(simd.load_partial(chunk));
    }
    1.0 / total
}
