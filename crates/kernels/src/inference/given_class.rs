//! The log-probability of one given class of each row: what forced decoding asks of the output projection.
//!
//! The softmax's denominator is the one of [`TopK`], which sees every logit here as it does in a search, so that the two
//! agree to the bit; the given class's logit is noted as it passes.

use super::activations::Activations;
use super::matrix::{Matrix, PANEL};
use super::product::{Epilogue, run};
use super::simd::{LANES, Simd};
use super::top_k::TopK;

/// One class of each row with its log-probability, and the room to find it in.
#[derive(Debug, Default)]
pub struct GivenClass {
    /// Keeps the best class and the sum of exponentials.
    softmax: TopK,
    /// `[rows]`.
    classes: Vec<u32>,
    /// `[rows]`, those of `classes`.
    logits: Vec<f32>,
}

impl GivenClass {
    /// Finds log p of class `classes[row]` for each row of `x`, `[rows, d_in]`: what [`TopK::find`] finds for it,
    /// whatever its `k`.
    ///
    /// # Panics
    /// If shapes or precisions do not fit, or a class is not below the outputs of `weights`.
    pub fn find(&mut self, x: &Activations, weights: &Matrix, classes: &[u32]) {
        assert_eq!(classes.len(), x.rows, "a class for each row");
        assert!(classes.iter().all(|&class| (class as usize) < weights.d_out()), "a class beyond {}", weights.d_out());
        self.softmax.begin(x.rows, weights.d_out(), 1);
        self.classes.clear();
        self.classes.extend_from_slice(classes);
        self.logits.clear();
        self.logits.resize(x.rows, f32::NEG_INFINITY);
        run(x, weights, self);
    }

    /// The log-probability of each row's class.
    pub fn log_probs(&self) -> impl Iterator<Item = f32> {
        self.logits.iter().enumerate().map(|(row, &logit)| self.softmax.log_prob(row)(logit))
    }
}

impl Epilogue for GivenClass {
    #[inline(always)]
    fn take<S: Simd, const N: usize>(&mut self, simd: S, row: usize, column: usize, values: &[S::F32; N]) {
        self.softmax.take(simd, row, column, values);
        let offset = (self.classes[row] as usize).wrapping_sub(column);
        if offset < N * LANES {
            let mut logits = [0.0; PANEL];
            for v in 0..N {
                simd.store(values[v], &mut logits[v * LANES..]);
            }
            self.logits[row] = logits[offset];
        }
    }
}
