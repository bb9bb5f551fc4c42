//! A few rows of activations, and a few outputs of a matrix, as operands of their own: what a projection to some of the
//! classes needs.
//!
//! A product with a gathered matrix gives what the whole one gives for the same outputs, to the bit: each output is a
//! chain of its own.

use std::ops::Range;

use super::activations::{Activations, Form};
use super::buffer::{Buffer, Zeroable};
use super::matrix::{Matrix, PANEL, WORD, Weights};

impl Matrix {
    /// The matrix of the outputs `rows`, in that order; they are copied as they are packed.
    ///
    /// # Panics
    /// If a row is not below `d_out`.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        assert!(rows.iter().all(|&row| (row as usize) < self.d_out()), "a row beyond {}", self.d_out());
        let mut gathered = Self::zeros(self.precision(), rows.len(), self.d_in());
        match (&self.weights, &mut gathered.weights) {
            (Weights::F32(from), Weights::F32(to)) => copy_words::<f32, 1>(from, to, rows, self.words()),
            (
                Weights::Int8 { codes, scales, corrections },
                Weights::Int8 { codes: to_codes, scales: to_scales, corrections: to_corrections },
            ) => {
                copy_words::<i8, WORD>(codes, to_codes, rows, self.words());
                for (i, &row) in rows.iter().enumerate() {
                    to_scales[i] = scales[row as usize];
                    to_corrections[i] = corrections[row as usize];
                }
            }
            _ => unreachable!("both were made with one precision"),
        }
        gathered
    }
}

/// Copies the words of outputs, `N` numbers each, from their columns to the next of `to`.
fn copy_words<T: Zeroable, const N: usize>(from: &Buffer<T>, to: &mut Buffer<T>, rows: &[u32], words: usize) {
    let (from, to) = (from.as_chunks::<N>().0, to.as_chunks_mut::<N>().0);
    let first = |row: usize| row / PANEL * PANEL * words + row % PANEL;
    for (i, &row) in rows.iter().enumerate() {
        let from = from[first(row as usize)..].iter().step_by(PANEL);
        let to = to[first(i)..].iter_mut().step_by(PANEL);
        to.zip(from).take(words).for_each(|(to, from)| *to = *from);
    }
}

impl Activations {
    /// Becomes some rows of `from`.
    ///
    /// # Panics
    /// If `from` has no such rows or another precision.
    pub fn set_rows(&mut self, from: &Self, rows: Range<usize>) {
        assert!(rows.start <= rows.end && rows.end <= from.rows, "rows {rows:?} of {}", from.rows);
        (self.rows, self.d) = (rows.len(), from.d);
        match (&mut self.form, &from.form) {
            (Form::F32(to), Form::F32(values)) => {
                to.clear();
                to.extend_from_slice(&values[rows.start * from.d..rows.end * from.d]);
            }
            (Form::Int8 { codes: to_codes, scales: to_scales }, Form::Int8 { codes, scales }) => {
                let stride = from.d.div_ceil(WORD) * WORD;
                to_codes.clear();
                to_codes.extend_from_slice(&codes[rows.start * stride..rows.end * stride]);
                to_scales.clear();
                to_scales.extend_from_slice(&scales[rows]);
            }
            _ => panic!("rows of different precisions"),
        }
    }
}
