//! The speed of an update: forward, backward and Adam on batches of one shape; and that of decoding.

use std::time::Instant;

use burn::tensor::backend::AutodiffBackend;
use umlaut_model::decoder::CachedDecoder;
use umlaut_model::ops::Criterion;
use umlaut_model::{FusedOps, Sequences, TransformerConfig};
use umlaut_search::{StepDecoder, TokenId};
use umlaut_text::batch::Batch;
use umlaut_text::rng::{SplitMix64, mix};

use crate::exchange::{Exchange, Times};
use crate::group::Members;
use crate::optimizer::{Adam, AdamConfig};
use crate::replicas::Replicas;
use crate::{Recipe, TrainError};

/// What is timed.
#[derive(Clone, Copy, Debug)]
pub struct BenchShape {
    /// Batches an update.
    pub accumulate: usize,
    /// Sentences a batch.
    pub batch: usize,
    /// Tokens of each source and of each target.
    pub len: usize,
    /// Updates, after one that is not counted.
    pub steps: usize,
    /// The loss that is differentiated.
    pub criterion: Criterion,
}

impl BenchShape {
    /// Batches as large as a recipe's, of sentences of 27 tokens, and its loss.
    #[must_use]
    pub fn of(recipe: &Recipe, steps: usize) -> Self {
        const LEN: usize = 27;
        let batch = (recipe.batch.max_tokens as f64 / LEN as f64).round().max(1.0) as usize;
        Self { accumulate: recipe.batch.accumulate, batch, len: LEN, steps, criterion: recipe.criterion() }
    }

    /// Target tokens of an update.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.accumulate * self.batch * self.len
    }

    /// Multiplications and additions in the matrix products of an update: 2 for each weight and token, and for each pair
    /// of a query and a key that are compared and mixed, hidden ones included; thrice that, since each product has two
    /// more in the backward pass; and all of it twice with R-Drop. Nothing else is counted.
    #[must_use]
    pub fn flops(&self, config: &TransformerConfig) -> f64 {
        let [d_model, d_ff, vocab, len] = [config.d_model, config.d_ff, config.vocab, self.len].map(|x| x as f64);
        let [encoder_layers, decoder_layers] = [config.encoder_layers, config.decoder_layers].map(|x| x as f64);
        let attention = 4.0 * d_model * d_model + 2.0 * len * d_model;
        let feed_forward = 2.0 * d_model * d_ff;
        let token = encoder_layers * (attention + feed_forward)
            + decoder_layers * (2.0 * attention + feed_forward)
            + d_model * vocab;
        3.0 * 2.0 * token * (self.tokens() * self.criterion.passes()) as f64
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Of each update.
    pub seconds: Vec<f64>,
    /// Of these what other processes cost this one, all updates together.
    pub exchange: Option<Times>,
}

/// Times updates of a model with random parameters on random tokens without padding, which `members` make together.
///
/// # Errors
/// If the configuration describes no model, or the members cannot share the batches.
///
/// # Panics
/// If the device fails.
pub fn time_updates<B>(
    config: &TransformerConfig,
    shape: BenchShape,
    members: Members<B>,
    device: &B::Device,
) -> Result<Timing, TrainError>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let mut exchange = Exchange::new(members, shape.accumulate)?;
    let mut model = config.init::<B>(1, device)?;
    let mut adam = Adam::new(AdamConfig { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-9, clip_norm: 0.0 });
    let replicas = Replicas::new::<B>(exchange.share_of(shape.accumulate));
    let batch = random_batch(config, shape);
    let mut seconds = Vec::new();
    for update in 0..=shape.steps as u64 {
        let mine = (0..shape.accumulate as u64).filter(|part| exchange.is_mine(*part));
        let parts: Vec<_> = mine.map(|part| (batch.clone(), mix(&[update, part]))).collect();
        if update == 1 {
            exchange.take_times();
        }
        let start = Instant::now();
        let (sums, gradients, norm) = exchange.sum(replicas.differentiate(&model, &parts, shape.criterion));
        model = adam.update(model, gradients, update + 1, 3e-4, (sums.tokens, norm));
        // A run does not wait here: the next update follows while the device still makes this one.
        B::sync(device).expect("the device made its update");
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.remove(0);
    Ok(Timing { seconds, exchange: exchange.take_times() })
}

/// Seconds of each step of greedy decoding, one after the other, of the random sentences of one batch by a model with
/// random parameters, after one step that is not counted.
///
/// # Errors
/// If the configuration describes no model.
pub fn time_decoding<B: FusedOps>(
    config: &TransformerConfig,
    shape: BenchShape,
    device: &B::Device,
) -> Result<Vec<f64>, TrainError> {
    let model = config.init::<B>(1, device)?;
    let source = random_batch(config, shape).src;
    let lengths = vec![shape.len; shape.batch];
    let mut decoder = CachedDecoder::new(&model, Sequences { ids: &source, lengths: &lengths });
    let mut last = vec![TokenId(config.bos_id); shape.batch];
    let (mut candidates, mut seconds) = (Vec::new(), Vec::new());
    for _ in 0..=shape.steps {
        let start = Instant::now();
        let Ok(()) = decoder.step(&last, 1, &mut candidates);
        last = candidates.iter().map(|candidate| candidate.token).collect();
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.remove(0);
    Ok(seconds)
}

fn random_batch(config: &TransformerConfig, shape: BenchShape) -> Batch {
    let mut random = SplitMix64::new(7);
    let mut ids = || -> Vec<u32> {
        (0..shape.batch * shape.len).map(|_| 4 + random.below(config.vocab as u64 - 4) as u32).collect()
    };
    let tokens = shape.batch * shape.len;
    Batch {
        src: ids(),
        tgt_in: ids(),
        tgt_out: ids(),
        batch: shape.batch,
        src_len: shape.len,
        tgt_len: shape.len,
        src_tokens: tokens,
        tgt_tokens: tokens,
    }
}
