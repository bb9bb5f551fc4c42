//! Layer normalisation.

use super::simd::{LANES, Simd, on_best_isa};

/// Layer normalisation over `d` numbers: `(x - mean) / sqrt(variance + epsilon) * gain + bias` (Ba et al. 2016), with
/// the variance of the row itself, divided by `d`.
#[derive(Clone, Debug)]
pub struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    /// A normalisation with the given gain and bias, both `[d]`.
    ///
    /// # Panics
    /// If they differ in length or are empty.
    #[must_use]
    pub fn new(gain: Vec<f32>, bias: Vec<f32>, epsilon: f32) -> Self {
        assert!(gain.len() == bias.len() && !gain.is_empty(), "gain of {}, bias of {}", gain.len(), bias.len());
        Self { gain, bias, epsilon }
    }

    /// The width of a row.
    #[must_use]
    pub fn d(&self) -> usize {
        self.gain.len()
    }
}

on_best_isa! {
    /// Normalises each row of `x`, `[rows, d]`, in place.
    pub fn normalise(x: &mut [f32], norm: &Norm) = normalise_on;
}

#[inline(always)]
fn normalise_on<S: Simd>(simd: S, x: &mut [f32], norm: &Norm) {
    let mut normalised = vec![0.0; norm.d()];
    for row in x.chunks_exact_mut(norm.d()) {
        normalised_row(simd, row, norm, &mut normalised);
        row.copy_from_slice(&normalised);
    }
}

/// Writes `row`, normalised, to `out`.
#[inline(always)]
pub(crate) fn normalised_row<S: Simd>(simd: S, row: &[f32], norm: &Norm, out: &mut [f32]) {
    let d = row.len() as f32;
    let mean = sum(simd, row) / d;
    let variance = squared_deviation(simd, row, mean) / d;
    let scale = simd.splat(1.0 / (variance + norm.epsilon).sqrt());
    let mean = simd.splat(mean);
    let whole = row.len() / LANES * LANES;
    let weights = norm.gain.chunks_exact(LANES).zip(norm.bias.chunks_exact(LANES));
    for ((x, out), (gain, bias)) in row.chunks_exact(LANES).zip(out.chunks_exact_mut(LANES)).zip(weights) {
        let unit = simd.mul(simd.sub(simd.load(x), mean), scale);
        simd.store(simd.mul_add(unit, simd.load(gain), simd.load(bias)), out);
    }
    let unit = simd.mul(simd.sub(simd.load_partial(&row[whole..]), mean), scale);
    let (gain, bias) = (simd.load_partial(&norm.gain[whole..]), simd.load_partial(&norm.bias[whole..]));
    simd.store_partial(simd.mul_add(unit, gain, bias), &mut out[whole..]);
}

#[inline(always)]
fn sum<S: Simd>(simd: S, row: &[f32]) -> f32 {
    let mut total = simd.splat(0.0);
    let whole = row.chunks_exact(LANES);
    let rest = simd.load_partial(whole.remainder());
    for x in whole {
        total = simd.add(total, simd.load(x));
    }
    simd.sum(simd.add(total, rest))
}

/// The sum of `(x - mean)^2`.
#[inline(always)]
fn squared_deviation<S: Simd>(simd: S, row: &[f32], mean: f32) -> f32 {
    let mean_lanes = simd.splat(mean);
    let mut total = simd.splat(0.0);
    let whole = row.chunks_exact(LANES);
    let rest = whole.remainder();
    for x in whole {
        let centred = simd.sub(simd.load(x), mean_lanes);
        total = simd.mul_add(centred, centred, total);
    }
    simd.sum(total) + rest.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>()
}
