//! One step at a time: every log-probability of every row, with hypotheses that branch, move and end.

use umlaut_engine::Precision;
use umlaut_model::decoder::CachedDecoder;
use umlaut_search::{Candidate, StepDecoder, TokenId};

use crate::case::{Draw, Padded, Pair, draw_config, draw_sources};

/// log p of each token in the order of tokens, `[rows][vocab]`.
fn by_token(candidates: &[Candidate], vocab: usize) -> Vec<Vec<f32>> {
    let row = |row: &[Candidate]| {
        let mut log_probs = vec![f32::NAN; vocab];
        for candidate in row {
            log_probs[candidate.token.0 as usize] = candidate.log_prob;
        }
        log_probs
    };
    candidates.chunks(vocab).map(row).collect()
}

/// The greatest difference in a walk of `steps` steps through both decoders.
fn greatest_difference(seed: u64, precision: Precision) -> f32 {
    let draw = &mut Draw::new(seed);
    let config = draw_config(draw);
    let pair = Pair::new(&config, 1.5, precision, draw);
    let sources = draw_sources(draw.within(1..=4), config.vocab, draw);
    let padded = Padded::new(&sources);
    let mut burn = CachedDecoder::new(&pair.model, padded.sequences());
    let mut engine = pair.engine.decoder(&sources.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let (mut rows, mut greatest) = (sources.len(), 0.0_f32);
    for _ in 0..draw.within(3..=12) {
        let last: Vec<TokenId> = (0..rows).map(|_| TokenId(draw.within(0..=config.vocab - 1) as u32)).collect();
        let (mut got, mut want) = (Vec::new(), Vec::new());
        engine.step(&last, config.vocab, &mut got).unwrap();
        burn.step(&last, config.vocab, &mut want).unwrap();
        for (got, want) in by_token(&got, config.vocab).iter().zip(by_token(&want, config.vocab)) {
            greatest = got.iter().zip(want).fold(greatest, |greatest, (got, want)| greatest.max((got - want).abs()));
        }
        // Rows stay with their sentences' neighbours, as a search leaves them: in order, some twice, some gone.
        let mut parents: Vec<usize> = (0..draw.within(1..=6)).map(|_| draw.within(0..=rows - 1)).collect();
        parents.sort_unstable();
        engine.reorder(&parents);
        burn.reorder(&parents);
        rows = parents.len();
    }
    greatest
}

#[test]
fn log_probabilities_agree_within_a_ten_thousandth() {
    for seed in 0..60 {
        let difference = greatest_difference(seed, Precision::F32);
        assert!(difference < 1e-4, "case {seed}: {difference}");
    }
}

#[test]
fn int8_log_probabilities_stay_near() {
    // Weights are noise here, so that no token stands out: the worst case for rounding.
    let differences: Vec<f32> = (0..40).map(|seed| greatest_difference(seed, Precision::Int8)).collect();
    let mean = differences.iter().sum::<f32>() / differences.len() as f32;
    assert!(mean < 0.1, "{mean}: {differences:?}");
}
