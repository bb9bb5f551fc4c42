//! Rows of activations in the form that products read.

use super::matrix::{Precision, WORD};
use super::norm::{Norm, normalised_row};
use super::simd::{LANES, Simd, ZERO_POINT, on_best_isa};

/// The greatest magnitude of a quantised number. -128 is not used, so that every path computes the same integers.
const GREATEST_CODE: f32 = 127.0;

/// Rows `[rows, d]`: f32, or codes with a scale for each row that follows its greatest magnitude.
#[derive(Debug)]
pub struct Activations {
    pub(crate) rows: usize,
    pub(crate) d: usize,
    pub(crate) form: Form,
}

#[derive(Debug)]
pub(crate) enum Form {
    F32(Vec<f32>),
    /// `codes` is `[rows, words * 4]`, padded with zero points; a value is `(code - 128) * scale`.
    Int8 {
        codes: Vec<u8>,
        scales: Vec<f32>,
    },
}

impl Activations {
    /// No rows yet.
    #[must_use]
    pub fn new(precision: Precision) -> Self {
        let form = match precision {
            Precision::F32 => Form::F32(Vec::new()),
            Precision::Int8 => Form::Int8 { codes: Vec::new(), scales: Vec::new() },
        };
        Self { rows: 0, d: 0, form }
    }

    /// Rows held.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Becomes the rows `x`, `[rows, d]`.
    ///
    /// # Panics
    /// If `x` is not whole rows of `d`.
    pub fn set(&mut self, x: &[f32], d: usize) {
        self.resize(x.len(), d);
        match &mut self.form {
            Form::F32(values) => values.copy_from_slice(x),
            Form::Int8 { codes, scales } => quantise_rows(x, d, codes, scales),
        }
    }

    /// Becomes the rows `x`, `[rows, d]`, normalised by `norm`.
    ///
    /// # Panics
    /// If `x` is not whole rows of `norm`'s width.
    pub fn set_normalised(&mut self, x: &[f32], norm: &Norm) {
        let d = norm.d();
        self.resize(x.len(), d);
        match &mut self.form {
            Form::F32(values) => normalise_rows(x, norm, values),
            Form::Int8 { codes, scales } => normalise_and_quantise_rows(x, norm, codes, scales),
        }
    }

    fn resize(&mut self, len: usize, d: usize) {
        assert!(d > 0 && len.is_multiple_of(d), "{len} numbers are no rows of {d}");
        (self.rows, self.d) = (len / d, d);
        match &mut self.form {
            Form::F32(values) => values.resize(len, 0.0),
            Form::Int8 { codes, scales } => {
                codes.resize(self.rows * d.div_ceil(WORD) * WORD, ZERO_POINT);
                scales.resize(self.rows, 0.0);
            }
        }
    }
}

on_best_isa! {
    /// Writes the codes of rows of `d`, `[rows, d]` or padded to whole words, and their scales.
    pub(crate) fn quantise_rows(x: &[f32], d: usize, codes: &mut [u8], scales: &mut [f32]) = quantise_rows_on;
}

#[inline(always)]
fn quantise_rows_on<S: Simd>(simd: S, x: &[f32], d: usize, codes: &mut [u8], scales: &mut [f32]) {
    let stride = codes.len() / scales.len().max(1);
    for ((row, codes), scale) in x.chunks_exact(d).zip(codes.chunks_exact_mut(stride.max(1))).zip(scales) {
        *scale = quantise_row(simd, row, codes);
    }
}

on_best_isa! {
    fn normalise_rows(x: &[f32], norm: &Norm, out: &mut [f32]) = normalise_rows_on;
}

#[inline(always)]
fn normalise_rows_on<S: Simd>(simd: S, x: &[f32], norm: &Norm, out: &mut [f32]) {
    for (row, out) in x.chunks_exact(norm.d()).zip(out.chunks_exact_mut(norm.d())) {
        normalised_row(simd, row, norm, out);
    }
}

on_best_isa! {
    fn normalise_and_quantise_rows(x: &[f32], norm: &Norm, codes: &mut [u8], scales: &mut [f32]) = normalise_and_quantise_rows_on;
}

#[inline(always)]
fn normalise_and_quantise_rows_on<S: Simd>(simd: S, x: &[f32], norm: &Norm, codes: &mut [u8], scales: &mut [f32]) {
    let d = norm.d();
    let stride = d.div_ceil(WORD) * WORD;
    let mut normalised = vec![0.0; d];
    for ((row, codes), scale) in x.chunks_exact(d).zip(codes.chunks_exact_mut(stride)).zip(scales) {
        normalised_row(simd, row, norm, &mut normalised);
        *scale = quantise_row(simd, &normalised, codes);
    }
}

/// Writes a row's codes and gives its scale. A row of zeros, or of numbers too small for a scale, becomes zeros.
#[inline(always)]
fn quantise_row<S: Simd>(simd: S, row: &[f32], codes: &mut [u8]) -> f32 {
    let mut greatest = simd.splat(0.0);
    let whole = row.chunks_exact(LANES);
    let rest = simd.load_partial(whole.remainder());
    for chunk in whole {
        greatest = simd.max(greatest, simd.abs(simd.load(chunk)));
    }
    let greatest = simd.max(greatest, simd.abs(rest));
    let greatest = simd.greatest(greatest);
    let scale = greatest / GREATEST_CODE;
    let (scale, per_unit) = if scale >= f32::MIN_POSITIVE { (scale, GREATEST_CODE / greatest) } else { (0.0, 0.0) };
    let per_unit = simd.splat(per_unit);
    let whole = row.len() / LANES * LANES;
    let (codes, padded_codes) = codes.split_at_mut(whole);
    for (chunk, codes) in row.chunks_exact(LANES).zip(codes.chunks_exact_mut(LANES)) {
        simd.store_codes(simd.mul(simd.load(chunk), per_unit), codes);
    }
    // The padding behind a row's end is loaded as zeros and so becomes zero points.
    simd.store_codes(simd.mul(rest, per_unit), padded_codes);
    scale
}
