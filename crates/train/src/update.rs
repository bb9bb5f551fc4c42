//! Loss and gradients of one batch, and their sum over several.

use std::borrow::Cow;

use burn::module::{Module, ParamId};
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use umlaut_model::dropout::Dropout;
use umlaut_model::ops::{Criterion, IGNORED, float};
use umlaut_model::parameters::{self, VisitParameters};
use umlaut_model::{FusedOps, Sequences, Transformer};
use umlaut_text::batch::Batch;

/// Gradients of every parameter, flat, in the model's order; sums over target tokens.
pub type Gradients<B> = Vec<Tensor<<B as AutodiffBackend>::InnerBackend, 1>>;

/// Sums of the loss over real target tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// The loss that is trained on, in nats.
    pub smoothed: f64,
    /// The plain negative log-likelihood, in nats.
    pub nll: f64,
    /// Real target tokens, eos included.
    pub tokens: usize,
}

impl Sums {
    /// Adds another batch's.
    pub fn add(&mut self, other: Self) {
        self.smoothed += other.smoothed;
        self.nll += other.nll;
        self.tokens += other.tokens;
    }

    /// The loss of a token.
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.smoothed / self.tokens as f64
    }

    /// The negative log-likelihood of a token; its exponential is the perplexity.
    #[must_use]
    pub fn nll_per_token(&self) -> f64 {
        self.nll / self.tokens as f64
    }
}

/// The loss of a batch, `[2]`: smoothed and plain, summed.
fn loss<B: FusedOps>(
    model: &Transformer<B>,
    batch: &Batch,
    criterion: Criterion,
    dropout: &mut Dropout,
) -> Tensor<B, 1> {
    let pad = model.config().pad_id;
    // R-Drop sees the batch twice in one pass: its dropout differs from row to row.
    let batch = match criterion.passes() {
        1 => Cow::Borrowed(batch),
        passes => Cow::Owned(batch.repeat(passes)),
    };
    let (src_lengths, tgt_lengths) = batch.lengths(pad);
    let labels: Vec<u32> = batch.tgt_out.iter().map(|id| if *id == pad { IGNORED } else { *id }).collect();
    let source = Sequences { ids: &batch.src, lengths: &src_lengths };
    let target = Sequences { ids: &batch.tgt_in, lengths: &tgt_lengths };
    model.loss(source, target, &labels, criterion, dropout)
}

/// The loss of a batch without dropout or gradients.
pub fn evaluate<B: FusedOps>(model: &Transformer<B>, batch: &Batch, smoothing: f32) -> Sums {
    let loss = loss(model, batch, Criterion::smoothed(smoothing), &mut Dropout::off());
    let (values, _) = B::read_with_squares(vec![float(loss)], Vec::new());
    Sums { smoothed: values[0], nll: values[1], tokens: batch.tgt_tokens }
}

/// The loss of some batches and its gradients, both where they were computed: nothing has waited for them yet.
#[derive(Clone, Debug)]
pub struct Differentiated<B: AutodiffBackend> {
    /// Of each batch its loss, `[2]`, and its real target tokens.
    losses: Vec<(Tensor<B::InnerBackend, 1>, usize)>,
    gradients: Gradients<B>,
}

impl<B> Differentiated<B>
where
    B: AutodiffBackend,
    B::InnerBackend: FusedOps,
{
    /// Adds other batches, which come after those that are here.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.losses.extend(others.losses);
        self.gradients = self.gradients.into_iter().zip(others.gradients).map(|(sum, other)| sum + other).collect();
        self
    }

    /// Sums, gradients and their [`norm`]: the one read of an update.
    #[must_use]
    pub fn read(self) -> (Sums, Gradients<B>, f64) {
        let (sums, squares) = self.read_with_squares(&self.gradients);
        (sums, self.gradients, squares.sqrt() / sums.tokens as f64)
    }

    /// Sums and gradients, where the norm is that of more gradients than these.
    #[must_use]
    pub fn read_sums(self) -> (Sums, Gradients<B>) {
        let (sums, _) = self.read_with_squares(&[]);
        (sums, self.gradients)
    }

    fn read_with_squares(&self, gradients: &[Tensor<B::InnerBackend, 1>]) -> (Sums, f64) {
        let losses = self.losses.iter().map(|(loss, _)| float(loss.clone())).collect();
        let gradients = gradients.iter().map(|gradient| float(gradient.clone())).collect();
        let (values, squares) = B::InnerBackend::read_with_squares(losses, gradients);
        let mut sums = Sums::default();
        for (value, (_, tokens)) in values.chunks_exact(2).zip(&self.losses) {
            sums.add(Sums { smoothed: value[0], nll: value[1], tokens: *tokens });
        }
        (sums, squares)
    }
}

/// The loss of a batch and its gradients, with the dropout of `seed`.
pub fn differentiate<B>(model: &Transformer<B>, batch: &Batch, criterion: Criterion, seed: u64) -> Differentiated<B>
where
    B: AutodiffBackend + FusedOps,
{
    // A backend that draws masks by itself draws this batch's. Fused kernels have the seed already.
    for device in model.devices() {
        B::seed(&device, seed);
    }
    let loss = loss(model, batch, criterion, &mut Dropout::seeded(seed));
    let losses = vec![(loss.clone().inner(), batch.tgt_tokens)];
    let mut collect = Collect::<B> { all: loss.narrow(0, 0, 1).backward(), gradients: Vec::new() };
    parameters::visit(model, &mut collect);
    Differentiated { losses, gradients: collect.gradients }
}

struct Collect<B: AutodiffBackend> {
    all: B::Gradients,
    gradients: Gradients<B>,
}

impl<B: AutodiffBackend> VisitParameters<B> for Collect<B> {
    fn parameter<const D: usize>(&mut self, _: &str, _: ParamId, tensor: Tensor<B, D>) {
        let size = tensor.shape().num_elements();
        let gradient = tensor.grad_remove(&mut self.all).map(|gradient| gradient.reshape([size]));
        self.gradients.push(gradient.unwrap_or_else(|| Tensor::zeros([size], &tensor.device())));
    }
}

/// The norm of all gradients together, divided by the number of tokens.
#[must_use]
pub fn norm<B>(gradients: &Gradients<B>, tokens: usize) -> f64
where
    B: AutodiffBackend,
    B::InnerBackend: FusedOps,
{
    let gradients = gradients.iter().map(|gradient| float(gradient.clone())).collect();
    let (_, squares) = B::InnerBackend::read_with_squares(Vec::new(), gradients);
    squares.sqrt() / tokens as f64
}
