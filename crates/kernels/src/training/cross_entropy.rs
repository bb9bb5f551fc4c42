//! Label-smoothed cross-entropy of a projection, without ever holding all logits.
//!
//! The rows are taken in blocks: a block's logits are computed, turned into their own gradient in place, and multiplied
//! back into the gradients of the hidden states and of the projection before the next block begins.

use rayon::prelude::*;

use super::exp::exp;
use crate::dispatch::vectorised;
use crate::precision::Precision;
use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};

/// Logits held at a time, as a number of floats.
const BLOCK_LOGITS: usize = 1 << 22;

/// Where a target stands for padding, the row counts for nothing.
pub const IGNORED: u32 = u32::MAX;

/// Sums over the rows that count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    /// The label-smoothed loss in nats.
    pub smoothed: f64,
    /// The plain negative log-likelihood in nats.
    pub nll: f64,
}

/// Gradients of [`LossSums::smoothed`].
#[derive(Debug)]
pub struct ProjectionGradients {
    /// With respect to the hidden states, `[rows, d_model]`.
    pub hidden: Vec<f32>,
    /// With respect to the projection, `[vocab, d_model]`.
    pub projection: Vec<f32>,
}

/// The problem: logits = hidden · projectionᵀ.
#[derive(Clone, Copy, Debug)]
pub struct Projection<'a> {
    /// `[rows, d_model]`.
    pub hidden: &'a [f32],
    /// `[vocab, d_model]`.
    pub weight: &'a [f32],
    /// `[rows]`, each a class or [`IGNORED`].
    pub targets: &'a [u32],
    /// The width of a hidden state.
    pub d_model: usize,
    /// The share ε of the probability that is spread evenly over all classes, the right one included: the loss of a row
    /// is -(1-ε) log p(target) - ε/V Σ log p(class) (Szegedy et al., arXiv 1512.00567, eq. 8).
    pub smoothing: f32,
    /// What the products are computed in.
    pub precision: Precision,
}

impl Projection<'_> {
    fn vocab(&self) -> usize {
        self.weight.len() / self.d_model
    }

    fn rows_per_block(&self) -> usize {
        (BLOCK_LOGITS / self.vocab()).clamp(64, 1024)
    }

    /// The loss alone.
    ///
    /// # Panics
    /// If the lengths do not fit or a target is no class.
    #[must_use]
    pub fn loss(&self) -> LossSums {
        self.for_each_block(|_, _| ())
    }

    /// The loss and its gradients.
    ///
    /// # Panics
    /// If the lengths do not fit or a target is no class.
    #[must_use]
    pub fn loss_and_gradients(&self) -> (LossSums, ProjectionGradients) {
        let (d_model, vocab) = (self.d_model, self.vocab());
        let mut gradients =
            ProjectionGradients { hidden: vec![0.0; self.hidden.len()], projection: vec![0.0; self.weight.len()] };
        let sums = self.for_each_block(|start, logits| {
            let rows = logits.len() / vocab;
            let span = start * d_model..(start + rows) * d_model;
            self.precision.product(
                MatrixMut::dense(&mut gradients.hidden[span.clone()], rows, d_model),
                Onto::Nothing,
                Matrix::dense(logits, rows, vocab),
                Matrix::dense(self.weight, vocab, d_model),
                Workers::Pool,
            );
            self.precision.product(
                MatrixMut::dense(&mut gradients.projection, vocab, d_model),
                Onto::Old,
                Matrix::dense(logits, rows, vocab).transposed(),
                Matrix::dense(&self.hidden[span], rows, d_model),
                Workers::Pool,
            );
        });
        (sums, gradients)
    }

    /// Calls `visit(first row, gradient of the block's logits)` block by block and returns the loss.
    fn for_each_block(&self, mut visit: impl FnMut(usize, &[f32])) -> LossSums {
        let (vocab, rows_per_block) = (self.vocab(), self.rows_per_block());
        assert_eq!(self.hidden.len(), self.targets.len() * self.d_model, "one hidden state for each target");
        let mut logits = vec![0.0; rows_per_block.min(self.targets.len()) * vocab];
        let mut sums = LossSums::default();
        for (block, targets) in self.targets.chunks(rows_per_block).enumerate() {
            let start = block * rows_per_block;
            let logits = &mut logits[..targets.len() * vocab];
            self.precision.product(
                MatrixMut::dense(logits, targets.len(), vocab),
                Onto::Nothing,
                Matrix::dense(
                    &self.hidden[start * self.d_model..][..targets.len() * self.d_model],
                    targets.len(),
                    self.d_model,
                ),
                Matrix::dense(self.weight, vocab, self.d_model).transposed(),
                Workers::Pool,
            );
            let rows: Vec<(f32, f32)> = logits
                .par_chunks_exact_mut(vocab)
                .zip(targets)
                .map(|(row, target)| row_loss(row, *target, self.smoothing))
                .collect();
            for (smoothed, nll) in rows {
                sums.smoothed += f64::from(smoothed);
                sums.nll += f64::from(nll);
            }
            visit(start, logits);
        }
        sums
    }
}

/// Replaces a row of logits by the gradient of its loss; returns (smoothed loss, negative log-likelihood).
fn row_loss(logits: &mut [f32], target: u32, smoothing: f32) -> (f32, f32) {
    if target == IGNORED {
        logits.fill(0.0);
        return (0.0, 0.0);
    }
    assert!((target as usize) < logits.len(), "target {target} of {} classes", logits.len());
    let mut losses = [0.0; 2];
    real_row_loss(logits, target as usize, smoothing, &mut losses);
    (losses[0], losses[1])
}

vectorised! {
    fn real_row_loss(logits: &mut [f32], target: usize, smoothing: f32, losses: &mut [f32; 2]) {
        let classes = logits.len() as f32;
        let (max, sum) = max_and_sum(logits);
        let target_logit = logits[target];
        let exponentials = exponentiate(logits, max);
        let log_normaliser = exponentials.ln() + max;
        let (scale, share) = (1.0 / exponentials, smoothing / classes);
        for x in logits.iter_mut() {
            *x = *x * scale - share;
        }
        logits[target] -= 1.0 - smoothing;
        losses[1] = log_normaliser - target_logit;
        losses[0] = (1.0 - smoothing) * losses[1] + smoothing * (log_normaliser - sum / classes);
    }
}

#[inline(always)]
fn max_and_sum(row: &[f32]) -> (f32, f32) {
    let (mut maxima, mut sums) = ([f32::NEG_INFINITY; 16], [0.0_f32; 16]);
    let chunks = row.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, value) in chunk.iter().enumerate() {
            maxima[lane] = if *value > maxima[lane] { *value } else { maxima[lane] };
            sums[lane] += value;
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        maxima[lane] = maxima[lane].max(*value);
        sums[lane] += value;
    }
    (maxima.into_iter().fold(f32::NEG_INFINITY, f32::max), sums.iter().sum())
}

/// Replaces each x by e^(x - max); returns their sum.
#[inline(always)]
fn exponentiate(row: &mut [f32], max: f32) -> f32 {
    let mut sums = [0.0_f32; 16];
    let mut chunks = row.chunks_exact_mut(16);
    for chunk in &mut chunks {
        for (lane, value) in chunk.iter_mut().enumerate() {
            *value = exp(*value - max);
            sums[lane] += *value;
        }
    }
    for (lane, value) in chunks.into_remainder().iter_mut().enumerate() {
        *value = exp(*value - max);
        sums[lane] += *value;
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Precision::F32;

    /// One row whose logits are `logits`: the hidden state is 1 and the weight is the logits.
    fn one_row(logits: &[f32], target: u32, smoothing: f32) -> LossSums {
        Projection { hidden: &[1.0], weight: logits, targets: &[target], d_model: 1, smoothing, precision: F32 }.loss()
    }

    #[test]
    fn smoothing_is_a_share_of_all_classes() {
        let sums = one_row(&[0.0, 1.0, 2.0, 3.0], 3, 0.1);
        assert!((sums.nll - 0.44019).abs() < 1e-5, "{sums:?}");
        assert!((sums.smoothed - 0.59019).abs() < 1e-5, "{sums:?}");
        let even = one_row(&[0.0, 0.0], 1, 0.1);
        assert!((even.smoothed - std::f64::consts::LN_2).abs() < 1e-6, "{even:?}");
    }

    #[test]
    fn ignored_rows_change_nothing() {
        let weight = [0.3, -0.2, 0.5, 0.1, 0.9, -0.7];
        let alone = Projection {
            hidden: &[1.0, 2.0],
            weight: &weight,
            targets: &[2],
            d_model: 2,
            smoothing: 0.1,
            precision: F32,
        };
        let padded = Projection { hidden: &[1.0, 2.0, 5.0, 6.0], targets: &[2, IGNORED], ..alone };
        let ((a, ga), (b, gb)) = (alone.loss_and_gradients(), padded.loss_and_gradients());
        assert_eq!(a, b);
        assert_eq!(ga.projection, gb.projection);
        assert_eq!(gb.hidden[2..], [0.0, 0.0]);
    }

    #[test]
    fn the_gradient_is_the_slope_across_several_blocks() {
        let (rows, vocab, d_model) = (150, 37, 5);
        let value = |i: usize| ((i * 7919) % 1000) as f32 / 400.0 - 1.2;
        let hidden: Vec<f32> = (0..rows * d_model).map(value).collect();
        let weight: Vec<f32> = (0..vocab * d_model).map(|i| value(i + 31)).collect();
        let targets: Vec<u32> = (0..rows).map(|i| (i * 11 % vocab) as u32).collect();
        let problem =
            Projection { hidden: &hidden, weight: &weight, targets: &targets, d_model, smoothing: 0.1, precision: F32 };
        let (sums, gradients) = problem.loss_and_gradients();
        assert_eq!(sums, problem.loss());
        for i in [0, 77, rows * d_model - 1] {
            let slope = slope(&hidden, i, |hidden| Projection { hidden, ..problem }.loss().smoothed);
            assert!((f64::from(gradients.hidden[i]) - slope).abs() < 2e-3, "{} {slope}", gradients.hidden[i]);
        }
        for i in [0, 91, vocab * d_model - 1] {
            let slope = slope(&weight, i, |weight| Projection { weight, ..problem }.loss().smoothed);
            assert!((f64::from(gradients.projection[i]) - slope).abs() < 2e-2, "{} {slope}", gradients.projection[i]);
        }
    }

    fn slope(at: &[f32], i: usize, f: impl Fn(&[f32]) -> f64) -> f64 {
        let step = 1e-2;
        let moved = |by: f32| {
            let mut at = at.to_vec();
            at[i] += by;
            f(&at)
        };
        (moved(step) - moved(-step)) / (2.0 * f64::from(step))
    }
}
