//! Toy models over a handful of tokens, and the decoder that runs them.

use std::convert::Infallible;

use umlaut_search::{Candidate, ForcedDecoder, StepDecoder, TokenId};

pub(crate) const BOS: TokenId = TokenId(0);
pub(crate) const EOS: TokenId = TokenId(1);

/// log p(next | source, prefix) for every token of a small vocabulary.
pub(crate) trait Toy {
    fn log_probs(&self, source: u64, prefix: &[TokenId]) -> Vec<f32>;
}

impl<F: Fn(u64, &[TokenId]) -> Vec<f32>> Toy for F {
    fn log_probs(&self, source: u64, prefix: &[TokenId]) -> Vec<f32> {
        self(source, prefix)
    }
}

/// Runs a toy model with whole prefixes as its state, and notes how many rows each step had.
pub(crate) struct ToyDecoder<'a> {
    toy: &'a dyn Toy,
    /// `[rows]`: source and everything fed so far, BOS included.
    rows: Vec<(u64, Vec<TokenId>)>,
    pub(crate) rows_per_step: Vec<usize>,
}

impl<'a> ToyDecoder<'a> {
    pub(crate) fn new(toy: &'a dyn Toy, sources: &[u64]) -> Self {
        let rows = sources.iter().map(|&source| (source, Vec::new())).collect();
        Self { toy, rows, rows_per_step: Vec::new() }
    }
}

impl StepDecoder for ToyDecoder<'_> {
    type Error = Infallible;

    fn step(&mut self, last: &[TokenId], k: usize, candidates: &mut Vec<Candidate>) -> Result<(), Infallible> {
        assert_eq!(last.len(), self.rows.len(), "one token for each live row");
        self.rows_per_step.push(last.len());
        candidates.clear();
        for ((source, fed), &token) in self.rows.iter_mut().zip(last) {
            fed.push(token);
            assert_eq!(fed[0], BOS, "the first token fed is BOS");
            let log_probs = self.toy.log_probs(*source, &fed[1..]);
            let mut ranked: Vec<_> =
                (0u32..).zip(log_probs).map(|(id, log_prob)| Candidate { token: TokenId(id), log_prob }).collect();
            ranked.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
            ranked.resize(k, Candidate { token: TokenId(0), log_prob: f32::NEG_INFINITY });
            candidates.extend(ranked);
        }
        Ok(())
    }

    fn reorder(&mut self, parents: &[usize]) {
        self.rows = parents.iter().map(|&parent| self.rows[parent].clone()).collect();
    }
}

impl ForcedDecoder for ToyDecoder<'_> {
    fn step_to(&mut self, last: &[TokenId], next: &[TokenId], log_probs: &mut Vec<f32>) -> Result<(), Infallible> {
        let (mut candidates, k) = (Vec::new(), self.toy.log_probs(0, &[]).len());
        self.step(last, k, &mut candidates)?;
        let of = |(row, token): (&[Candidate], &TokenId)| {
            row.iter().find(|candidate| candidate.token == *token).map_or(f32::NEG_INFINITY, |found| found.log_prob)
        };
        log_probs.clear();
        log_probs.extend(candidates.chunks(k).zip(next).map(of));
        Ok(())
    }
}

/// A model whose distributions are a pure function of seed, source and prefix.
#[derive(Clone, Copy)]
pub(crate) struct Random {
    pub(crate) seed: u64,
    pub(crate) vocab: usize,
    /// Spread of the logits: 0 is uniform, 10 nearly deterministic.
    pub(crate) peak: f32,
}

impl Toy for Random {
    fn log_probs(&self, source: u64, prefix: &[TokenId]) -> Vec<f32> {
        let mut state = mix(self.seed ^ mix(source));
        for token in prefix {
            state = mix(state ^ u64::from(token.0 + 1));
        }
        let logits = (0..self.vocab as u64).map(|id| self.peak * (mix(state ^ mix(id)) >> 40) as f32 / 16_777_216.0);
        log_softmax(&logits.collect::<Vec<_>>())
    }
}

pub(crate) fn log_softmax(logits: &[f32]) -> Vec<f32> {
    let sum: f32 = logits.iter().map(|logit| logit.exp()).sum();
    logits.iter().map(|logit| logit - sum.ln()).collect()
}

/// One round of SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
