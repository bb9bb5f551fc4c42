//! What a device computes, held against the processor in f32: logits, loss and gradients of one small model.

use burn::backend::Autodiff;
use burn::module::ParamId;
use burn::tensor::Tensor;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn_flex::{Flex, FlexDevice};
use umlaut_model::dropout::Dropout;
use umlaut_model::ops::Criterion;
use umlaut_model::parameters::{self, VisitParameters};
use umlaut_model::{
    Embeddings, FusedOps, NormPlacement, Positions, Precision, RopeLayout, Sequences, Transformer, TransformerConfig,
};
use umlaut_text::batch::Batch;
use umlaut_text::rng::SplitMix64;

use crate::TrainError;
use crate::update::differentiate;

/// The share of the norm of all gradients below which no gradient's own norm counts: some are zero but for rounding.
const LEAST_SHARE: f64 = 1e-3;

/// How far a device is from the processor: norms of differences, divided by the norms of what the processor finds.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// Of the logits.
    pub logits: f64,
    /// Of the smoothed loss and the negative log-likelihood.
    pub loss: f64,
    /// Of the gradient that differs most.
    pub gradient: f64,
    /// The parameter it belongs to.
    pub parameter: String,
    /// Gradients.
    pub gradients: usize,
}

/// Computes the same on `device` in `precision` and on the processor in f32.
///
/// # Errors
/// As where any model is made; the one that is compared can be.
pub fn compare<B>(precision: Precision, device: &B::Device) -> Result<Differences, TrainError>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let want = Found::of::<Autodiff<Flex>>(Precision::F32, &FlexDevice)?;
    let got = Found::of::<B>(precision, device)?;
    Ok(got.differences(&want))
}

/// What one device finds.
struct Found {
    logits: Vec<f32>,
    loss: Vec<f32>,
    /// By parameter.
    gradients: Vec<(String, Vec<f32>)>,
}

impl Found {
    fn of<B>(precision: Precision, device: &B::Device) -> Result<Self, TrainError>
    where
        B: AutodiffBackend + FusedOps,
        B::InnerBackend: FusedOps,
    {
        let (config, batch) = (config(precision), batch());
        let model = config.init::<B>(1, device)?;
        let (sums, gradients, _) = differentiate(&model, &batch, Criterion::smoothed(0.1), 0).read();
        let inner = config.init::<B::InnerBackend>(1, device)?;
        let mut names = Names::default();
        parameters::visit(&inner, &mut names);
        Ok(Self {
            logits: logits(&inner, &batch),
            loss: vec![sums.smoothed as f32, sums.nll as f32],
            gradients: names.0.into_iter().zip(gradients.into_iter().map(floats)).collect(),
        })
    }

    fn differences(&self, want: &Self) -> Differences {
        let all: Vec<f32> = want.gradients.iter().flat_map(|(_, gradient)| gradient).copied().collect();
        let least = LEAST_SHARE * norm(&all);
        let pairs = self.gradients.iter().zip(&want.gradients);
        let far = pairs.map(|((name, got), (_, want))| (distance(got, want) / norm(want).max(least), name));
        let (gradient, parameter) = far.max_by(|a, b| a.0.total_cmp(&b.0)).expect("a model has parameters");
        Differences {
            logits: distance(&self.logits, &want.logits) / norm(&want.logits),
            loss: distance(&self.loss, &want.loss) / norm(&want.loss),
            gradient,
            parameter: parameter.clone(),
            gradients: want.gradients.len(),
        }
    }
}

/// Names of parameters, in the model's order.
#[derive(Default)]
struct Names(Vec<String>);

impl<B: Backend> VisitParameters<B> for Names {
    fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, _: Tensor<B, D>) {
        self.0.push(name.into());
    }
}

/// Wide enough for the products that a device has its own kernels for, and small enough for a second.
fn config(precision: Precision) -> TransformerConfig {
    TransformerConfig {
        format: umlaut_model::config::FORMAT.into(),
        vocab: 512,
        d_model: 128,
        n_heads: 4,
        d_ff: 256,
        encoder_layers: 2,
        decoder_layers: 2,
        norm: NormPlacement::Post,
        positions: Positions::Rope,
        rope_theta: 10_000.0,
        rope_layout: RopeLayout::Interleaved,
        embeddings: Embeddings::Shared,
        norm_epsilon: 1e-5,
        dropout: 0.0,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        precision,
        unk_id: 0,
        bos_id: 1,
        eos_id: 2,
        pad_id: 3,
    }
}

/// Sentences of 20, 18, ... tokens, padded to the longest.
fn batch() -> Batch {
    const LEN: usize = 20;
    let mut random = SplitMix64::new(3);
    let lengths: Vec<usize> = (0..8).map(|row| LEN - 2 * row).collect();
    let mut ids = || -> Vec<u32> {
        let row = |len: &usize| (0..LEN).map(|at| if at < *len { 4 + random.below(508) as u32 } else { 3 }).collect();
        lengths.iter().flat_map::<Vec<u32>, _>(row).collect()
    };
    let (src, tgt_in, tgt_out) = (ids(), ids(), ids());
    let tokens = lengths.iter().sum();
    Batch { src, tgt_in, tgt_out, batch: 8, src_len: LEN, tgt_len: LEN, src_tokens: tokens, tgt_tokens: tokens }
}

fn logits<B: FusedOps>(model: &Transformer<B>, batch: &Batch) -> Vec<f32> {
    let (src_lengths, tgt_lengths) = batch.lengths(model.config().pad_id);
    let source = Sequences { ids: &batch.src, lengths: &src_lengths };
    let target = Sequences { ids: &batch.tgt_in, lengths: &tgt_lengths };
    let memory = model.encode(source, &mut Dropout::off());
    floats(model.logits(model.decode(target, &memory, source, &mut Dropout::off())))
}

fn floats<B: Backend, const D: usize>(x: Tensor<B, D>) -> Vec<f32> {
    x.into_data().convert::<f32>().into_vec().expect("converted to f32")
}

fn norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

fn distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len(), "a device finds as many numbers");
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use umlaut_model::ops::CpuAutodiff;

    use super::*;

    #[test]
    fn a_device_is_as_far_as_its_numbers_and_a_vanishing_gradient_is_measured_by_the_others() {
        let found = |logit: f32, gradient: f32, vanishing: f32| Found {
            logits: vec![3.0, logit],
            loss: vec![2.0, 1.0],
            gradients: vec![("a".into(), vec![gradient, 0.0]), ("b".into(), vec![vanishing])],
        };
        let differences = found(4.5, 10.1, 2e-6).differences(&found(4.0, 10.0, 1e-6));
        assert!((differences.logits - 0.1).abs() < 1e-9 && differences.loss == 0.0);
        assert!((differences.gradient - 0.01).abs() < 1e-6 && differences.parameter == "a");
        let differences = found(4.0, 10.0, 1e-3).differences(&found(4.0, 10.0, 0.0));
        assert!((differences.gradient - 0.1).abs() < 1e-6 && differences.parameter == "b");
    }

    #[test]
    fn the_processor_is_itself_in_f32_and_near_itself_in_bf16() {
        let same = compare::<CpuAutodiff>(Precision::F32, &FlexDevice).expect("it compares");
        assert_eq!((same.logits, same.loss, same.gradient), (0.0, 0.0, 0.0));
        let near = compare::<CpuAutodiff>(Precision::Bf16, &FlexDevice).expect("it compares");
        assert!(near.logits < 0.05 && near.loss < 0.05 && near.gradient < 0.05, "{near:?}");
    }
}
