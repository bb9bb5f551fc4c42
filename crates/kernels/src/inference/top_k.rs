//! The output projection, the softmax's denominator and the most probable tokens of each row in one pass.
//!
//! Logits leave the registers of the product and are never stored: each row keeps its `k` best so far and a running sum
//! of exponentials relative to the best.

use super::activations::Activations;
use super::exp::{exp2, in_base_2};
use super::matrix::Matrix;
use super::product::{Epilogue, run};
use super::simd::{LANES, Simd};

/// The `k` most probable classes of each row, and the room to find them in.
#[derive(Debug, Default)]
pub struct TopK {
    k: usize,
    d_out: usize,
    rows: Vec<Row>,
    /// `[rows, k]`, descending; the unfilled rest is -inf.
    logits: Vec<f32>,
    /// `[rows, k]`.
    classes: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Row {
    /// The greatest logit so far.
    best: f32,
    /// The least of the `k` greatest so far.
    threshold: f32,
    /// Sums of `e^(logit - best)` by lane.
    sums: [f32; LANES],
}

impl TopK {
    /// Finds the `k` greatest logits `x W^T` of each row of `x`, `[rows, d_in]`, and their log-probabilities.
    ///
    /// # Panics
    /// If shapes or precisions do not fit.
    pub fn find(&mut self, x: &Activations, weights: &Matrix, k: usize) {
        self.begin(x.rows, weights.d_out(), k);
        run(x, weights, self);
    }

    /// Forgets what it found and makes room for `rows` rows of `d_out` classes.
    pub(crate) fn begin(&mut self, rows: usize, d_out: usize, k: usize) {
        (self.k, self.d_out) = (k.min(d_out), d_out);
        self.rows.clear();
        self.rows.resize(rows, Row { best: f32::NEG_INFINITY, threshold: f32::NEG_INFINITY, sums: [0.0; LANES] });
        self.logits.clear();
        self.logits.resize(rows * self.k, f32::NEG_INFINITY);
        self.classes.clear();
        self.classes.resize(rows * self.k, 0);
    }

    /// The classes of `row` with log p, best first; of equal ones the lower comes first. As many as were asked for or
    /// as there are classes.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> {
        let range = row * self.k..(row + 1) * self.k;
        let log_prob = self.log_prob(row);
        self.classes[range.clone()]
            .iter()
            .zip(&self.logits[range])
            .map(move |(&class, &logit)| (class, log_prob(logit)))
    }

    /// What makes a log-probability of a logit of `row`. It does not depend on `k`.
    pub(crate) fn log_prob(&self, row: usize) -> impl Fn(f32) -> f32 + use<> {
        let &Row { best, sums, .. } = &self.rows[row];
        let log_sum = sums.iter().sum::<f32>().ln();
        // The best is subtracted first, so that great logits lose no digits; without one (all were NaN) nothing is likely.
        move |logit| if logit > f32::NEG_INFINITY { ((logit - best) - log_sum).min(0.0) } else { f32::NEG_INFINITY }
    }

    /// Puts the logits above the row's threshold among its best, and moves its sums to the new best.
    #[cold]
    fn insert(&mut self, row: usize, column: usize, logits: &[f32]) {
        let range = row * self.k..(row + 1) * self.k;
        let (best, classes) = (&mut self.logits[range.clone()], &mut self.classes[range]);
        let state = &mut self.rows[row];
        for (i, &logit) in logits.iter().enumerate() {
            if logit > best[best.len() - 1] {
                let place = best.partition_point(|&other| other >= logit);
                best[place..].rotate_right(1);
                classes[place..].rotate_right(1);
                (best[place], classes[place]) = (logit, (column + i) as u32);
            }
        }
        let shrink = (state.best - best[0]).exp();
        if state.best > f32::NEG_INFINITY {
            state.sums.iter_mut().for_each(|sum| *sum *= shrink);
        }
        (state.best, state.threshold) = (best[0], best[best.len() - 1]);
    }
}

impl Epilogue for TopK {
    #[inline(always)]
    fn take<S: Simd, const N: usize>(&mut self, simd: S, row: usize, column: usize, values: &[S::F32; N]) {
        let mut greatest = values[0];
        for &value in &values[1..] {
            greatest = simd.max(greatest, value);
        }
        let is_whole = column + N * LANES <= self.d_out;
        if is_whole && !simd.any_above(greatest, simd.splat(self.rows[row].threshold)) {
            self.sum(simd, row, values);
            return;
        }
        for (v, &value) in values.iter().enumerate() {
            self.take_vector(simd, row, column + v * LANES, value);
        }
    }
}

impl TopK {
    /// A vector in which something may be among the best, or of whose columns not all are classes.
    #[inline(always)]
    fn take_vector<S: Simd>(&mut self, simd: S, row: usize, column: usize, value: S::F32) {
        let width = self.d_out.saturating_sub(column).min(LANES);
        if width == LANES && !simd.any_above(value, simd.splat(self.rows[row].threshold)) {
            self.sum(simd, row, &[value]);
            return;
        }
        let mut logits = [0.0; LANES];
        simd.store(value, &mut logits);
        self.insert(row, column, &logits[..width]);
        if width == LANES {
            self.sum(simd, row, &[value]);
        } else {
            let state = &mut self.rows[row];
            for logit in &logits[..width] {
                state.sums[0] += (logit - state.best).exp();
            }
        }
    }

    /// Adds the exponentials of logits, none of them above the row's best.
    #[inline(always)]
    fn sum<S: Simd, const N: usize>(&mut self, simd: S, row: usize, values: &[S::F32; N]) {
        let state = &mut self.rows[row];
        let (scale, shift) = in_base_2(simd, state.best, 1.0);
        let mut sums = simd.load(&state.sums);
        for &value in values {
            sums = simd.add(sums, exp2(simd, value, scale, shift));
        }
        simd.store(sums, &mut state.sums);
    }
}
