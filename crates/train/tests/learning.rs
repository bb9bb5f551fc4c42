//! Models that must learn: copying and reversing digits, and one batch by heart.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use burn::module::AutodiffModule;
use burn_flex::FlexDevice;
use umlaut_model::ops::{CpuAutodiff, Criterion};
use umlaut_model::{Embeddings, NormPlacement, Positions, Precision, RopeLayout, TransformerConfig};
use umlaut_text::batch::Batch;
use umlaut_text::rng::SplitMix64;
use umlaut_train::optimizer::{Adam, AdamConfig};
use umlaut_train::replicas::Replicas;
use umlaut_train::update::{differentiate, evaluate};

type B = CpuAutodiff;

const BOS: u32 = 1;
const EOS: u32 = 2;
const PAD: u32 = 3;
const DIGITS: u64 = 10;

fn config(norm: NormPlacement, positions: Positions) -> TransformerConfig {
    TransformerConfig {
        format: umlaut_model::config::FORMAT.into(),
        vocab: 4 + DIGITS as usize,
        d_model: 32,
        n_heads: 2,
        d_ff: 64,
        encoder_layers: 2,
        decoder_layers: 2,
        norm,
        positions,
        rope_theta: 10_000.0,
        rope_layout: RopeLayout::Interleaved,
        embeddings: Embeddings::Shared,
        norm_epsilon: 1e-5,
        dropout: 0.0,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        precision: Precision::F32,
        unk_id: 0,
        bos_id: BOS,
        eos_id: EOS,
        pad_id: PAD,
    }
}

/// `rows` numbers of 1 to 8 digits with what `answer` makes of them.
fn numbers(rows: usize, random: &mut SplitMix64, answer: impl Fn(&mut Vec<u32>)) -> Batch {
    let mut batch = Batch { batch: rows, src_len: 9, tgt_len: 9, ..Batch::default() };
    let push = |row: &mut Vec<u32>, tokens: &[u32]| {
        let end = row.len() + 9;
        row.extend_from_slice(tokens);
        row.resize(end, PAD);
    };
    for _ in 0..rows {
        let len = 1 + random.below(8) as usize;
        let mut digits: Vec<u32> = (0..len).map(|_| 4 + random.below(DIGITS) as u32).collect();
        push(&mut batch.src, &[&digits[..], &[EOS]].concat());
        answer(&mut digits);
        push(&mut batch.tgt_in, &[&[BOS], &digits[..]].concat());
        push(&mut batch.tgt_out, &[&digits[..], &[EOS]].concat());
        batch.tgt_tokens += len + 1;
    }
    batch
}

/// Trains on fresh batches until they are easy; returns the perplexity of unseen ones.
fn perplexity_after(config: &TransformerConfig, updates: u64, answer: impl Fn(&mut Vec<u32>) + Copy) -> f64 {
    let mut model = config.init::<B>(3, &FlexDevice).unwrap();
    let mut adam = Adam::new(AdamConfig { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, clip_norm: 1.0 });
    let mut random = SplitMix64::new(5);
    for update in 1..=updates {
        let batch = numbers(64, &mut random, answer);
        let (sums, gradients, norm) = differentiate(&model, &batch, Criterion::smoothed(0.0), update).read();
        let rate = 4e-3 * (update as f64 / 100.0).min((100.0 / update as f64).sqrt());
        model = adam.update(model, gradients, update, rate, (sums.tokens, norm));
    }
    evaluate(&model.valid(), &numbers(200, &mut random, answer), 0.0).nll_per_token().exp()
}

#[test]
fn it_learns_to_copy() {
    let perplexity = perplexity_after(&config(NormPlacement::Pre, Positions::Rope), 500, |_| ());
    assert!(perplexity < 1.05, "perplexity {perplexity}");
}

#[test]
fn it_learns_to_reverse() {
    let perplexity = perplexity_after(&config(NormPlacement::Post, Positions::Rope), 1000, |digits| digits.reverse());
    assert!(perplexity < 1.05, "perplexity {perplexity}");
}

#[test]
fn one_batch_is_learned_down_to_the_entropy_of_the_smoothing() {
    let config = config(NormPlacement::Pre, Positions::Sinusoidal);
    let mut model = config.init::<B>(3, &FlexDevice).unwrap();
    let mut adam = Adam::new(AdamConfig { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, clip_norm: 1.0 });
    let batch = numbers(8, &mut SplitMix64::new(1), |_| ());
    for update in 1..=400 {
        let (sums, gradients, norm) = differentiate(&model, &batch, Criterion::smoothed(0.1), update).read();
        let rate = 3e-3 * (1.0 - update as f64 / 401.0);
        model = adam.update(model, gradients, update, rate, (sums.tokens, norm));
    }
    // With q = (1 - ε + ε/V, ε/V, ...) no prediction has a lower loss than q's own entropy.
    let (share, classes) = (0.1 / config.vocab as f64, config.vocab as f64);
    let peak = 0.9 + share;
    let floor = -(peak * peak.ln() + (classes - 1.0) * share * share.ln());
    let loss = evaluate(&model.valid(), &batch, 0.1).loss();
    assert!(loss >= floor - 1e-6 && loss < floor + 0.03, "loss {loss}, floor {floor}");
}

#[test]
fn accumulated_batches_are_one_large_batch() {
    let config = config(NormPlacement::Post, Positions::Rope);
    let model = config.init::<B>(3, &FlexDevice).unwrap();
    let whole = numbers(12, &mut SplitMix64::new(2), |_| ());
    let part = |rows: std::ops::Range<usize>| {
        let cut = |ids: &[u32]| ids[rows.start * 9..rows.end * 9].to_vec();
        let mut part = Batch { batch: rows.len(), src: cut(&whole.src), tgt_in: cut(&whole.tgt_in), ..whole.clone() };
        part.tgt_out = cut(&whole.tgt_out);
        part.tgt_tokens = part.tgt_out.iter().filter(|id| **id != PAD).count();
        part
    };
    let (sums, gradients, _) = differentiate(&model, &whole, Criterion::smoothed(0.1), 1).read();
    let [first, second] = [0..5, 5..12].map(|rows| differentiate(&model, &part(rows), Criterion::smoothed(0.1), 1));
    let (part_sums, part_gradients, _) = first.and(second).read();
    assert_eq!(sums.tokens, part_sums.tokens);
    assert!((sums.loss() - part_sums.loss()).abs() < 1e-6);
    for (a, b) in gradients.into_iter().zip(part_gradients) {
        let largest = (a - b).abs().max().into_scalar();
        assert!(largest < 1e-4, "{largest}");
    }
}

#[test]
fn r_drop_without_dropout_is_the_plain_loss() {
    let model = config(NormPlacement::Post, Positions::Rope).init::<B>(3, &FlexDevice).unwrap();
    let batch = numbers(12, &mut SplitMix64::new(2), |_| ());
    let (plain, paired) = (Criterion::smoothed(0.1), Criterion { smoothing: 0.1, r_drop: 5.0 });
    let (sums, gradients, _) = differentiate(&model, &batch, plain, 1).read();
    let (paired_sums, paired_gradients, _) = differentiate(&model, &batch, paired, 1).read();
    assert_eq!(sums.tokens, paired_sums.tokens);
    assert!((sums.loss() - paired_sums.loss()).abs() < 1e-5, "{sums:?} {paired_sums:?}");
    for (a, b) in gradients.into_iter().zip(paired_gradients) {
        let largest = (a - b).abs().max().into_scalar();
        assert!(largest < 1e-4, "{largest}");
    }
}

#[test]
fn r_drop_sees_a_batch_with_two_dropouts() {
    let config = TransformerConfig { dropout: 0.3, ..config(NormPlacement::Post, Positions::Rope) };
    let model = config.init::<B>(3, &FlexDevice).unwrap();
    let batch = numbers(12, &mut SplitMix64::new(2), |_| ());
    let loss = |r_drop| differentiate(&model, &batch, Criterion { smoothing: 0.1, r_drop }, 1).read().0.loss();
    let (little, much) = (loss(1.0), loss(11.0));
    assert!(much > little + 1e-3, "the passes agree: {little} {much}");
}

#[test]
fn parts_side_by_side_are_parts_one_after_another() {
    let config = TransformerConfig { dropout: 0.3, ..config(NormPlacement::Post, Positions::Rope) };
    let model = config.init::<B>(3, &FlexDevice).unwrap();
    let mut random = SplitMix64::new(2);
    let parts: Vec<_> = (0..3).map(|seed| (numbers(40, &mut random, |_| ()), seed)).collect();
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let replicas = || Replicas::new::<B>(parts.len()).differentiate(&model, &parts, Criterion::smoothed(0.1));
        let (sums, gradients, _) = pool.install(replicas).read();
        let bits: Vec<Vec<u32>> = gradients
            .into_iter()
            .map(|gradient| gradient.into_data().iter::<f32>().map(f32::to_bits).collect())
            .collect();
        (sums, bits)
    };
    let one_after_another = with(1);
    assert_eq!(one_after_another, with(2));
    assert_eq!(one_after_another, with(3));
}
