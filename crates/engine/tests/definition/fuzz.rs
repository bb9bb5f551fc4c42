//! Whole searches with arbitrary lengths, widths, penalties and weights: no panic, no malformed answer, and the burn
//! model gives each hypothesis the probability that the engine's search found for it.

use umlaut_engine::Precision;
use umlaut_model::decoder::CachedDecoder;
use umlaut_search::{BeamOptions, Ended, Hypothesis, LengthPenalty, TokenId, beam_search};

use crate::case::{Draw, Padded, Pair, draw_config, draw_sources};

/// Cases of an ordinary test run.
const CASES: u64 = 60;

fn number_from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().unwrap())
}

fn draw_options(vocab: usize, draw: &mut Draw) -> BeamOptions {
    let width = draw.within(1..=6);
    let alpha = draw.one_of(&[0.0, 0.3, 0.6, 1.0, 2.5]);
    let forbidden = [0, 1, 3].map(TokenId).into_iter().chain((4..vocab as u32).map(TokenId));
    BeamOptions {
        width,
        length_penalty: draw.one_of(&[LengthPenalty::Length { alpha }, LengthPenalty::Gnmt { alpha }]),
        n_best: draw.within(1..=width),
        min_len: draw.within(0..=3),
        // Sometimes nearly everything, so that beams starve.
        forbidden: forbidden.take(draw.one_of(&[0, 2, 3, vocab.saturating_sub(5)])).collect(),
        bos: TokenId(1),
        eos: TokenId(2),
    }
}

/// log p of the hypotheses under the burn model, one sentence at a time.
fn score(pair: &Pair, source: &[TokenId], hypothesis: &Hypothesis) -> f64 {
    let padded = Padded::new(&[source.to_vec()]);
    let mut burn = CachedDecoder::new(&pair.model, padded.sequences());
    let end = (hypothesis.ended == Ended::Eos).then_some(TokenId(2));
    let (mut last, mut total) = (TokenId(1), 0.0);
    for token in hypothesis.tokens.iter().copied().chain(end) {
        let log_probs: Vec<f32> = burn.log_probs(&[last]).into_data().to_vec().unwrap();
        total += f64::from(log_probs[token.0 as usize]);
        last = token;
    }
    total
}

fn check(case: u64) {
    let draw = &mut Draw::new(case);
    let config = draw_config(draw);
    let spread = draw.one_of(&[0.0, 0.3, 1.5, 40.0, 1e4]);
    let precision = draw.one_of(&[Precision::F32, Precision::Int8]);
    let pair = Pair::new(&config, spread, precision, draw);
    let sources = draw_sources(draw.within(1..=4), config.vocab, draw);
    let limits: Vec<usize> = sources.iter().map(|_| draw.within(1..=25)).collect();
    let options = draw_options(config.vocab, draw);
    let mut decoder = pair.engine.decoder(&sources.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let lists = beam_search(&mut decoder, &limits, &options).unwrap_or_else(|error| panic!("case {case}: {error}"));
    assert_eq!(lists.len(), sources.len());
    for ((source, limit), hypotheses) in sources.iter().zip(limits).zip(lists) {
        assert!((1..=options.n_best).contains(&hypotheses.len()), "case {case}: {} of {options:?}", hypotheses.len());
        for hypothesis in &hypotheses {
            let tokens = hypothesis.tokens.len() + usize::from(hypothesis.ended == Ended::Eos);
            assert!(tokens <= limit && hypothesis.log_prob <= 0.0, "case {case}: {hypothesis:?}");
            assert!(!hypothesis.tokens.iter().any(|token| options.forbidden.contains(token)), "case {case}");
            if precision == Precision::F32 && spread < 10.0 {
                let want = score(&pair, source, hypothesis);
                let bound = 1e-4 * (tokens as f64).max(1.0);
                assert!((hypothesis.log_prob - want).abs() < bound, "case {case}: {hypothesis:?} for {want}");
            }
        }
    }
}

#[test]
fn no_search_surprises_the_engine() {
    let first = number_from_environment("UMLAUT_FUZZ_FIRST", 0);
    let cases = number_from_environment("UMLAUT_FUZZ_CASES", CASES);
    (first..first + cases).for_each(check);
}
