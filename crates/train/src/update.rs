//! Loss and gradients of one batch, and their sum over several.

use burn::module::ParamId;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Tensor, backend::Backend};
use umlaut_model::dropout::Dropout;
use umlaut_model::ops::{IGNORED, float};
use umlaut_model::parameters::{self, VisitParameters};
use umlaut_model::{FusedOps, Sequences, Transformer};
use umlaut_text::batch::Batch;

/// Gradients of every parameter, flat, in the model's order; sums over target tokens.
pub type Gradients<B> = Vec<Tensor<<B as AutodiffBackend>::InnerBackend, 1>>;

/// Sums of the loss over real target tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// The label-smoothed loss, in nats.
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

    /// The smoothed loss of a token.
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
fn loss<B: FusedOps>(model: &Transformer<B>, batch: &Batch, smoothing: f32, dropout: &mut Dropout) -> Tensor<B, 1> {
    let pad = model.config().pad_id;
    let lengths = |ids: &[u32], len: usize| -> Vec<usize> {
        ids.chunks_exact(len).map(|row| row.iter().filter(|id| **id != pad).count()).collect()
    };
    let (src_lengths, tgt_lengths) = (lengths(&batch.src, batch.src_len), lengths(&batch.tgt_out, batch.tgt_len));
    let labels: Vec<u32> = batch.tgt_out.iter().map(|id| if *id == pad { IGNORED } else { *id }).collect();
    let source = Sequences { ids: &batch.src, lengths: &src_lengths };
    let target = Sequences { ids: &batch.tgt_in, lengths: &tgt_lengths };
    model.loss(source, target, &labels, smoothing, dropout)
}

fn sums<B: Backend>(loss: Tensor<B, 1>, tokens: usize) -> Sums {
    let values = loss.into_data().convert::<f64>().into_vec::<f64>().expect("converted to f64");
    Sums { smoothed: values[0], nll: values[1], tokens }
}

/// The loss of a batch without dropout or gradients.
pub fn evaluate<B: FusedOps>(model: &Transformer<B>, batch: &Batch, smoothing: f32) -> Sums {
    sums(loss(model, batch, smoothing, &mut Dropout::off()), batch.tgt_tokens)
}

/// The loss of a batch and its gradients, with the dropout of `seed`.
pub fn differentiate<B>(model: &Transformer<B>, batch: &Batch, smoothing: f32, seed: u64) -> (Sums, Gradients<B>)
where
    B: AutodiffBackend + FusedOps,
{
    let loss = loss(model, batch, smoothing, &mut Dropout::seeded(seed));
    let sums = sums(loss.clone().inner(), batch.tgt_tokens);
    let mut collect = Collect::<B> { all: loss.narrow(0, 0, 1).backward(), gradients: Vec::new() };
    parameters::visit(model, &mut collect);
    (sums, collect.gradients)
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

/// Adds a batch's gradients to those of the batches before it.
#[must_use]
pub fn add_gradients<B: AutodiffBackend>(sum: Option<Gradients<B>>, gradients: Gradients<B>) -> Gradients<B> {
    match sum {
        None => gradients,
        Some(sum) => sum.into_iter().zip(gradients).map(|(sum, gradient)| sum + gradient).collect(),
    }
}

/// The norm of all gradients together, divided by the number of tokens.
#[must_use]
pub fn norm<B>(gradients: &Gradients<B>, tokens: usize) -> f64
where
    B: AutodiffBackend,
    B::InnerBackend: FusedOps,
{
    let squares = gradients.iter().map(|gradient| B::InnerBackend::sum_of_squares(float(gradient.clone())));
    squares.sum::<f64>().sqrt() / tokens as f64
}
