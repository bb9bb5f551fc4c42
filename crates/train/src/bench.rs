//! The speed of an update: forward, backward and Adam on batches of one shape.

use std::time::Instant;

use burn::tensor::backend::AutodiffBackend;
use umlaut_model::{FusedOps, TransformerConfig};
use umlaut_text::batch::Batch;
use umlaut_text::rng::{SplitMix64, mix};

use crate::TrainError;
use crate::exchange::{Exchange, Times};
use crate::group::Group;
use crate::optimizer::{Adam, AdamConfig};
use crate::replicas::Replicas;

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
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Of each update.
    pub seconds: Vec<f64>,
    /// Of these what other processes cost this one, all updates together.
    pub exchange: Option<Times>,
}

/// Times updates of a model with random parameters on random tokens without padding, which the members of `group` make
/// together.
///
/// # Errors
/// If the configuration describes no model, or the group cannot share the batches.
pub fn time_updates<B>(
    config: &TransformerConfig,
    shape: BenchShape,
    group: Box<dyn Group>,
    device: &B::Device,
) -> Result<Timing, TrainError>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let mut exchange = Exchange::new(group, shape.accumulate)?;
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
        let (sums, gradients, norm) = exchange.sum(replicas.differentiate(&model, &parts, 0.1));
        model = adam.update(model, gradients, update + 1, 3e-4, (sums.tokens, norm));
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.remove(0);
    Ok(Timing { seconds, exchange: exchange.take_times() })
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
