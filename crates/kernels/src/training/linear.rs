//! y = act(x Wᵀ + b) and its gradient.

use rayon::prelude::*;

use super::{ROWS_PER_PIECE, column_sums};
use crate::precision::Precision;
use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};

/// What is applied to a linear map's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Identity,
    /// max(0, y).
    Relu,
}

/// Gradients of a linear map.
#[derive(Debug)]
pub struct LinearGradients {
    /// With respect to the input, `[rows, d_in]`.
    pub input: Vec<f32>,
    /// With respect to the weight, `[d_out, d_in]`.
    pub weight: Vec<f32>,
    /// With respect to the bias, `[d_out]`.
    pub bias: Vec<f32>,
}

/// y = act(x Wᵀ + b).
///
/// # Shapes
/// `input` `[rows, d_in]`, `weight` `[d_out, d_in]`, `bias` `[d_out]`; returns `[rows, d_out]`.
///
/// # Panics
/// If the lengths do not fit.
#[must_use]
pub fn forward(
    input: &[f32],
    weight: &[f32],
    bias: &[f32],
    d_in: usize,
    activation: Activation,
    precision: Precision,
) -> Vec<f32> {
    let (rows, d_out) = (input.len() / d_in, bias.len());
    let mut output = bias.repeat(rows);
    precision.product(
        MatrixMut::dense(&mut output, rows, d_out),
        Onto::Old,
        Matrix::dense(input, rows, d_in),
        Matrix::dense(weight, d_out, d_in).transposed(),
        Workers::Pool,
    );
    if activation == Activation::Relu {
        output.par_chunks_mut(ROWS_PER_PIECE * d_out).for_each(|piece| {
            for y in piece {
                *y = y.max(0.0);
            }
        });
    }
    output
}

/// The gradients, from the gradient `upstream` (`[rows, d_out]`) of the pre-activation: with [`Activation::Relu`] pass
/// it through [`relu_backward`] first.
///
/// # Panics
/// If the lengths do not fit.
#[must_use]
pub fn backward(input: &[f32], weight: &[f32], upstream: &[f32], d_in: usize, precision: Precision) -> LinearGradients {
    let (rows, d_out) = (input.len() / d_in, weight.len() / d_in);
    let mut gradients = LinearGradients {
        input: vec![0.0; rows * d_in],
        weight: vec![0.0; d_out * d_in],
        bias: column_sums(upstream, d_out),
    };
    precision.product(
        MatrixMut::dense(&mut gradients.input, rows, d_in),
        Onto::Nothing,
        Matrix::dense(upstream, rows, d_out),
        Matrix::dense(weight, d_out, d_in),
        Workers::Pool,
    );
    precision.product(
        MatrixMut::dense(&mut gradients.weight, d_out, d_in),
        Onto::Nothing,
        Matrix::dense(upstream, rows, d_out).transposed(),
        Matrix::dense(input, rows, d_in),
        Workers::Pool,
    );
    gradients
}

/// Zeroes `upstream` wherever the rectified `output` is zero.
pub fn relu_backward(upstream: &mut [f32], output: &[f32]) {
    let piece = ROWS_PER_PIECE * 1024;
    upstream.par_chunks_mut(piece).zip(output.par_chunks(piece)).for_each(|(upstream, output)| {
        for (gradient, y) in upstream.iter_mut().zip(output) {
            *gradient = if *y > 0.0 { *gradient } else { 0.0 };
        }
    });
}
