//! The exponential function on vectors.

use std::f32::consts::LOG2_E;

use super::simd::{LANES, Simd};

/// 2^f for f in -1/2..=1/2 within 3e-7 of itself: the least-maximum fit of degree 5 to the relative error (found by
/// reweighted least squares on Chebyshev nodes), its constant then set to 1. Highest power first.
const EXP2: [f32; 6] = [1.327_647_1e-3, 9.675_541e-3, 5.550_713e-2, 0.240_221_2, 0.693_146_94, 1.0];

/// `e^(x * scale - shift)` within 1e-6 of itself for exponents in -80..=0; below that it stays above 1e-38, which is as
/// good as 0 beside 1.
///
/// `2^n * 2^f` with `n + f = (x * scale - shift) / ln 2` and n integral; `scale` and `shift` come divided by ln 2, from
/// [`in_base_2`].
#[inline(always)]
pub(crate) fn exp2<S: Simd>(simd: S, x: S::F32, scale: S::F32, shift: S::F32) -> S::F32 {
    let exponent = simd.mul_add(x, scale, shift);
    let n = simd.round(exponent);
    let f = simd.sub(exponent, n);
    let mut p = simd.splat(EXP2[0]);
    for coefficient in &EXP2[1..] {
        p = simd.mul_add(p, f, simd.splat(*coefficient));
    }
    simd.times_exp2(p, n)
}

/// Scale and shift for `e^((x - greatest) * scale)`.
#[inline(always)]
pub(crate) fn in_base_2<S: Simd>(simd: S, greatest: f32, scale: f32) -> (S::F32, S::F32) {
    let scale = scale * LOG2_E;
    (simd.splat(scale), simd.splat(-greatest * scale))
}

/// Replaces `scores` by `e^((score - greatest) * scale)` and gives 1 over their sum: the softmax is their product.
#[inline(always)]
pub(crate) fn exponentials<S: Simd>(simd: S, scores: &mut [f32], scale: f32) -> f32 {
    let whole = scores.len() / LANES * LANES;
    let (scores, rest) = scores.split_at_mut(whole);
    let mut greatest = simd.splat(f32::NEG_INFINITY);
    for chunk in scores.chunks_exact(LANES) {
        greatest = simd.max(greatest, simd.load(chunk));
    }
    let greatest = rest.iter().fold(simd.greatest(greatest), |greatest, &score| greatest.max(score));
    let (scale, shift) = in_base_2(simd, greatest, scale);
    let mut total = simd.splat(0.0);
    for chunk in scores.chunks_exact_mut(LANES) {
        let value = exp2(simd, simd.load(chunk), scale, shift);
        simd.store(value, chunk);
        total = simd.add(total, value);
    }
    if !rest.is_empty() {
        simd.store_partial(exp2(simd, simd.load_partial(rest), scale, shift), rest);
        // Loaded again, so that the lanes beyond the end count as zeros.
        total = simd.add(total, simd.load_partial(rest));
    }
    1.0 / simd.sum(total)
}
