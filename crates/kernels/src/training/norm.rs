//! Layer normalisation (Ba et al., arXiv 1607.06450) and its gradient.

use rayon::prelude::*;

use super::{ROWS_PER_PIECE, add};
use crate::dispatch::vectorised;

/// Gradients of a layer normalisation.
#[derive(Debug)]
pub struct NormGradients {
    /// With respect to the input, `[rows, d_model]`.
    pub input: Vec<f32>,
    /// With respect to the gain, `[d_model]`.
    pub weight: Vec<f32>,
    /// With respect to the shift, `[d_model]`.
    pub bias: Vec<f32>,
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over each row of `input` `[rows, d_model]`.
#[must_use]
pub fn forward(input: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) -> Vec<f32> {
    let width = weight.len();
    let mut output = vec![0.0; input.len()];
    let piece = ROWS_PER_PIECE * width;
    output.par_chunks_mut(piece).zip(input.par_chunks(piece)).for_each(|(output, input)| {
        for (y, x) in output.chunks_exact_mut(width).zip(input.chunks_exact(width)) {
            normalise_row(y, x, weight, bias, epsilon);
        }
    });
    output
}

/// The gradients, from the gradient `upstream` of the output. With x̂ the normalised row and g = upstream * weight:
/// dx = (g - mean(g) - x̂ mean(g x̂)) / sqrt(variance + epsilon).
#[must_use]
pub fn backward(input: &[f32], weight: &[f32], upstream: &[f32], epsilon: f32) -> NormGradients {
    let width = weight.len();
    let mut gradient = vec![0.0; input.len()];
    let piece = ROWS_PER_PIECE * width;
    let partial: Vec<(Vec<f32>, Vec<f32>)> = gradient
        .par_chunks_mut(piece)
        .zip(input.par_chunks(piece).zip(upstream.par_chunks(piece)))
        .map(|(gradient, (input, upstream))| {
            let (mut d_weight, mut d_bias) = (vec![0.0; width], vec![0.0; width]);
            let rows =
                gradient.chunks_exact_mut(width).zip(input.chunks_exact(width)).zip(upstream.chunks_exact(width));
            for ((dx, x), dy) in rows {
                backward_row(dx, x, dy, weight, &mut d_weight, &mut d_bias, epsilon);
            }
            (d_weight, d_bias)
        })
        .collect();
    let mut gradients = NormGradients { input: gradient, weight: vec![0.0; width], bias: vec![0.0; width] };
    for (d_weight, d_bias) in &partial {
        add(&mut gradients.weight, d_weight);
        add(&mut gradients.bias, d_bias);
    }
    gradients
}

/// A sum over sixteen interleaved partial sums, which the compiler keeps in one register.
#[inline(always)]
fn sum_of(x: &[f32], term: impl Fn(usize, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; 16];
    let chunks = x.chunks_exact(16);
    let rest = chunks.remainder();
    let done = x.len() - rest.len();
    for (c, chunk) in chunks.enumerate() {
        for (lane, value) in chunk.iter().enumerate() {
            lanes[lane] += term(c * 16 + lane, *value);
        }
    }
    for (i, value) in rest.iter().enumerate() {
        lanes[i] += term(done + i, *value);
    }
    lanes.iter().sum()
}

/// Mean and 1 / sqrt(variance + epsilon) of a row.
#[inline(always)]
fn moments(x: &[f32], epsilon: f32) -> (f32, f32) {
    let scale = 1.0 / x.len() as f32;
    let mean = sum_of(x, |_, v| v) * scale;
    let variance = sum_of(x, |_, v| (v - mean) * (v - mean)) * scale;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

vectorised! {
    fn normalise_row(y: &mut [f32], x: &[f32], weight: &[f32], bias: &[f32], epsilon: f32) {
        let (mean, inverse) = moments(x, epsilon);
        for (((y, x), w), b) in y.iter_mut().zip(x).zip(weight).zip(bias) {
            *y = (x - mean) * inverse * w + b;
        }
    }
}

vectorised! {
    fn backward_row(
        dx: &mut [f32],
        x: &[f32],
        dy: &[f32],
        weight: &[f32],
        d_weight: &mut [f32],
        d_bias: &mut [f32],
        epsilon: f32,
    ) {
        let n = x.len();
        let (dy, weight, d_weight, d_bias) = (&dy[..n], &weight[..n], &mut d_weight[..n], &mut d_bias[..n]);
        let (mean, inverse) = moments(x, epsilon);
        let mean_g = sum_of(dy, |i, v| v * weight[i]) / n as f32;
        let mean_gx = sum_of(dy, |i, v| v * weight[i] * ((x[i] - mean) * inverse)) / n as f32;
        for i in 0..n {
            let normalised = (x[i] - mean) * inverse;
            dx[i] = (dy[i] * weight[i] - mean_g - normalised * mean_gx) * inverse;
            d_weight[i] += dy[i] * normalised;
            d_bias[i] += dy[i];
        }
    }
}
