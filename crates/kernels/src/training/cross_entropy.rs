//! Label-smoothed cross-entropy of a projection, without ever holding all logits.
//!
//! The rows are taken in blocks: a block's logits are computed, turned into their own gradient in place, and multiplied
//! back into the gradients of the hidden states and of the projection before the next block begins.

use rayon::prelude::*;

use super::exp::exp;
use crate::dispatch::vectorised;
use crate::precision::{Precision, Prepared};
use crate::sgemm::{Matrix, MatrixMut, Onto, Workers};

/// Logits held at a time, as a number of floats.
const BLOCK_LOGITS: usize = 1 << 22;

/// Where a target stands for padding, the row counts for nothing.
pub const IGNORED: u32 = u32::MAX;

/// What is asked of the distribution over classes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Criterion {
    /// The share ε of the probability that is spread evenly over all classes, the right one included: the loss of a row
    /// is -(1-ε) log p(target) - ε/V Σ log p(class) (Szegedy et al., arXiv 1512.00567, eq. 8).
    pub smoothing: f32,
    /// The weight α of R-Drop (Wu et al., arXiv 2106.14448, eq. 4); 0 for none. Else the second half of the rows is the
    /// first half once more, computed with other dropout, and a pair of rows counts as one, with half of the paper's
    /// loss: the mean of both losses and α/4 (KL(p‖q) + KL(q‖p)).
    pub r_drop: f32,
}

impl Criterion {
    /// Label smoothing alone.
    #[must_use]
    pub fn smoothed(smoothing: f32) -> Self {
        Self { smoothing, r_drop: 0.0 }
    }

    /// How often each row is there.
    #[must_use]
    pub fn passes(self) -> usize {
        if self.r_drop > 0.0 { 2 } else { 1 }
    }
}

/// Sums over the rows that count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossSums {
    /// The criterion's loss in nats.
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
    /// The loss of a row.
    pub criterion: Criterion,
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
        let weight = self.precision.prepare(Matrix::dense(self.weight, vocab, d_model));
        let sums = self.for_each_block(|start, logits| {
            let rows = logits.len() / vocab;
            let span = start * d_model..(start + rows) * d_model;
            weight.product(
                MatrixMut::dense(&mut gradients.hidden[span.clone()], rows, d_model),
                Onto::Nothing,
                Matrix::dense(logits, rows, vocab),
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
        assert_eq!(self.hidden.len(), self.targets.len() * self.d_model, "one hidden state for each target");
        let (vocab, passes) = (self.vocab(), self.criterion.passes());
        let rows = self.targets.len() / passes;
        let (targets, again) = self.targets.split_at(rows);
        assert!(passes == 1 || targets == again, "the second half of the rows is the first once more");
        let rows_per_block = self.rows_per_block() / passes;
        let weight = Matrix::dense(self.weight, vocab, self.d_model).transposed();
        let weight = self.precision.prepare(weight);
        let mut logits = vec![0.0; passes * rows_per_block.min(rows) * vocab];
        let mut sums = LossSums::default();
        for (block, targets) in targets.chunks(rows_per_block).enumerate() {
            let (start, size) = (block * rows_per_block, targets.len() * vocab);
            let logits = &mut logits[..passes * size];
            for (pass, logits) in logits.chunks_exact_mut(size).enumerate() {
                self.project(&weight, pass * rows + start, logits);
            }
            let (first, second) = logits.split_at_mut(size);
            for row in self.losses(first, second, targets) {
                sums.smoothed += f64::from(row[0]);
                sums.nll += f64::from(row[1]);
            }
            for (pass, logits) in logits.chunks_exact(size).enumerate() {
                visit(pass * rows + start, logits);
            }
        }
        sums
    }

    /// The logits of the rows from `start` on.
    fn project(&self, weight: &Prepared<'_>, start: usize, logits: &mut [f32]) {
        let (vocab, d_model) = (self.vocab(), self.d_model);
        let rows = logits.len() / vocab;
        weight.product(
            MatrixMut::dense(logits, rows, vocab),
            Onto::Nothing,
            Matrix::dense(&self.hidden[start * d_model..(start + rows) * d_model], rows, d_model),
            Workers::Pool,
        );
    }

    /// Replaces logits by the gradient of their loss; returns each row's \[loss, negative log-likelihood\].
    fn losses(&self, first: &mut [f32], second: &mut [f32], targets: &[u32]) -> Vec<[f32; 2]> {
        let (vocab, criterion) = (self.vocab(), self.criterion);
        let first = first.par_chunks_exact_mut(vocab).zip(targets);
        if criterion.passes() == 1 {
            return first.map(|(row, target)| row_loss(row, *target, criterion.smoothing)).collect();
        }
        let pairs = first.zip(second.par_chunks_exact_mut(vocab));
        pairs.map(|((p, target), q)| pair_loss(p, q, *target, criterion)).collect()
    }
}

/// Replaces a row of logits by the gradient of its loss; returns \[smoothed loss, negative log-likelihood\].
fn row_loss(logits: &mut [f32], target: u32, smoothing: f32) -> [f32; 2] {
    let mut losses = [0.0; 2];
    match real(target, logits.len()) {
        Some(target) => real_row_loss(logits, target, smoothing, &mut losses),
        None => logits.fill(0.0),
    }
    losses
}

/// [`row_loss`] for two passes over one row.
fn pair_loss(p: &mut [f32], q: &mut [f32], target: u32, criterion: Criterion) -> [f32; 2] {
    let mut losses = [0.0; 2];
    match real(target, p.len()) {
        Some(target) => real_pair_loss(p, q, target, criterion, &mut losses),
        None => [p, q].into_iter().for_each(|logits| logits.fill(0.0)),
    }
    losses
}

/// The class that a target names, unless it is padding.
///
/// # Panics
/// If there is no such class.
fn real(target: u32, classes: usize) -> Option<usize> {
    assert!(target == IGNORED || (target as usize) < classes, "target {target} of {classes} classes");
    (target != IGNORED).then_some(target as usize)
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

vectorised! {
    fn real_pair_loss(p: &mut [f32], q: &mut [f32], target: usize, criterion: Criterion, losses: &mut [f32; 2]) {
        let Criterion { smoothing, r_drop } = criterion;
        let classes = p.len() as f32;
        let ((p_max, p_sum), (q_max, q_sum)) = (max_and_sum(p), max_and_sum(q));
        let sums = exponentials_and_differences(p, q, p_max, q_max);
        let (p_normaliser, q_normaliser) = (sums.p.ln() + p_max, sums.q.ln() + q_max);
        let shift = p_normaliser - q_normaliser;
        // KL(p‖q) = Σ p (log p - log q), and the same from q.
        let (p_to_q, q_to_p) = (sums.p_difference / sums.p - shift, shift - sums.q_difference / sums.q);
        let nll = 0.5 * (p_normaliser - p[target] + q_normaliser - q[target]);
        let uniform = 0.5 * (p_normaliser - p_sum / classes + q_normaliser - q_sum / classes);
        losses[1] = nll;
        losses[0] = (1.0 - smoothing) * nll + smoothing * uniform + 0.25 * r_drop * (p_to_q + q_to_p);
        // d KL(p‖q) / dp's logits = p (log p - log q - KL(p‖q)), d KL(q‖p) / dp's logits = p - q.
        let (weight, share) = (0.25 * r_drop, 0.5 * smoothing / classes);
        for (x, y) in p.iter_mut().zip(q.iter_mut()) {
            let (p_log, q_log) = (*x - p_normaliser, *y - q_normaliser);
            let (p, q, ratio) = (exp(p_log), exp(q_log), p_log - q_log);
            *x = 0.5 * p - share + weight * (p * (ratio - p_to_q) + p - q);
            *y = 0.5 * q - share + weight * (q * (-ratio - q_to_p) + q - p);
        }
        p[target] -= 0.5 * (1.0 - smoothing);
        q[target] -= 0.5 * (1.0 - smoothing);
    }
}

/// Sums over the classes of two rows of logits.
struct PairSums {
    /// Σ e^(p - max).
    p: f32,
    /// Σ e^(q - max).
    q: f32,
    /// Σ e^(p - max) (p - q).
    p_difference: f32,
    /// Σ e^(q - max) (p - q).
    q_difference: f32,
}

#[inline(always)]
fn exponentials_and_differences(p: &[f32], q: &[f32], p_max: f32, q_max: f32) -> PairSums {
    let mut lanes = [[0.0_f32; 16]; 4];
    for (p, q) in p.chunks(16).zip(q.chunks(16)) {
        for (lane, (x, y)) in p.iter().zip(q).enumerate() {
            let (p, q, difference) = (exp(*x - p_max), exp(*y - q_max), *x - *y);
            lanes[0][lane] += p;
            lanes[1][lane] += q;
            lanes[2][lane] += p * difference;
            lanes[3][lane] += q * difference;
        }
    }
    let [p, q, p_difference, q_difference] = lanes.map(|lanes| lanes.iter().sum());
    PairSums { p, q, p_difference, q_difference }
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
        Projection {
            hidden: &[1.0],
            weight: logits,
            targets: &[target],
            d_model: 1,
            criterion: Criterion::smoothed(smoothing),
            precision: F32,
        }
        .loss()
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
            criterion: Criterion::smoothed(0.1),
            precision: F32,
        };
        let padded = Projection { hidden: &[1.0, 2.0, 5.0, 6.0], targets: &[2, IGNORED], ..alone };
        let ((a, ga), (b, gb)) = (alone.loss_and_gradients(), padded.loss_and_gradients());
        assert_eq!(a, b);
        assert_eq!(ga.projection, gb.projection);
        assert_eq!(gb.hidden[2..], [0.0, 0.0]);
    }

    /// A problem of its own numbers, several blocks long.
    struct Drawn {
        hidden: Vec<f32>,
        weight: Vec<f32>,
        targets: Vec<u32>,
    }

    impl Drawn {
        const ROWS: usize = 150;
        const VOCAB: usize = 37;
        const D_MODEL: usize = 5;

        /// With R-Drop the targets come twice, the hidden states do not.
        fn new(criterion: Criterion) -> Self {
            let passes = criterion.passes();
            let value = |i: usize| ((i * 7919) % 1000) as f32 / 400.0 - 1.2;
            let targets: Vec<u32> = (0..Self::ROWS).map(|i| (i * 11 % Self::VOCAB) as u32).collect();
            Self {
                hidden: (0..passes * Self::ROWS * Self::D_MODEL).map(value).collect(),
                weight: (0..Self::VOCAB * Self::D_MODEL).map(|i| value(i + 31)).collect(),
                targets: targets.repeat(passes),
            }
        }

        fn projection(&self, criterion: Criterion) -> Projection<'_> {
            let Self { hidden, weight, targets } = self;
            Projection { hidden, weight, targets, d_model: Self::D_MODEL, criterion, precision: F32 }
        }
    }

    #[test]
    fn the_gradient_is_the_slope_across_several_blocks() {
        for criterion in [Criterion::smoothed(0.1), Criterion { smoothing: 0.1, r_drop: 3.0 }] {
            let drawn = Drawn::new(criterion);
            let problem = drawn.projection(criterion);
            let (sums, gradients) = problem.loss_and_gradients();
            assert_eq!(sums, problem.loss());
            for i in [0, 77, drawn.hidden.len() - 1] {
                let slope = slope(&drawn.hidden, i, |hidden| Projection { hidden, ..problem }.loss().smoothed);
                assert!((f64::from(gradients.hidden[i]) - slope).abs() < 3e-3, "{} {slope}", gradients.hidden[i]);
            }
            for i in [0, 91, drawn.weight.len() - 1] {
                let slope = slope(&drawn.weight, i, |weight| Projection { weight, ..problem }.loss().smoothed);
                let found = f64::from(gradients.projection[i]);
                assert!((found - slope).abs() < 2e-2, "{found} {slope}");
            }
        }
    }

    #[test]
    fn r_drop_asks_nothing_of_passes_that_agree() {
        let (plain, paired) = (Criterion::smoothed(0.1), Criterion { smoothing: 0.1, r_drop: 5.0 });
        let once = Drawn::new(plain);
        let twice = Drawn { hidden: once.hidden.repeat(2), ..Drawn::new(paired) };
        let (want, found) = (once.projection(plain).loss(), twice.projection(paired).loss());
        assert!((want.smoothed - found.smoothed).abs() < 1e-3, "{want:?} {found:?}");
        assert!((want.nll - found.nll).abs() < 1e-3, "{want:?} {found:?}");
    }

    #[test]
    fn r_drop_is_the_divergence_both_ways() {
        // p = (1/2, 1/2) and q = (1/4, 3/4).
        let paired = Criterion { smoothing: 0.0, r_drop: 2.0 };
        let sums = Projection {
            hidden: &[1.0, 0.0, 0.0, 1.0],
            weight: &[0.0, 0.0, 0.0, 3.0_f32.ln()],
            targets: &[1, 1],
            d_model: 2,
            criterion: paired,
            precision: F32,
        }
        .loss();
        let nll = 0.5 * (2.0_f64.ln() + (4.0_f64 / 3.0).ln());
        let divergence = 0.25 * 3.0_f64.ln();
        assert!((sums.nll - nll).abs() < 1e-6, "{sums:?}");
        assert!((sums.smoothed - nll - 0.5 * divergence).abs() < 1e-6, "{sums:?}");
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
