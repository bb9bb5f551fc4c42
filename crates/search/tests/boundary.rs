//! The edges: limits, refusals, empty beams, and what the decoder is asked for.

mod toy;

use std::fmt;

use toy::{BOS, EOS, Random, Toy, ToyDecoder, log_softmax};
use umlaut_search::{
    BeamOptions, Candidate, Ended, Hypothesis, LengthPenalty, OptionsError, SearchError, StepDecoder, TokenId,
    beam_search,
};

fn options(width: usize, n_best: usize) -> BeamOptions {
    BeamOptions { width, n_best, ..BeamOptions::new(BOS, EOS) }
}

fn search(toy: &dyn Toy, limit: usize, options: &BeamOptions) -> Vec<Hypothesis> {
    beam_search(&mut ToyDecoder::new(toy, &[7]), &[limit], options).expect("a toy never fails").remove(0)
}

/// Says token 2 for ever.
fn endless(_: u64, _: &[TokenId]) -> Vec<f32> {
    log_softmax(&[0.0, 0.0, 9.0, 1.0])
}

/// Ends at once with almost all its probability.
fn speechless(_: u64, _: &[TokenId]) -> Vec<f32> {
    log_softmax(&[0.0, 20.0, 1.0, 0.0])
}

/// Copies its source's digits, tokens 2 to 9, and ends.
fn copy(source: u64, prefix: &[TokenId]) -> Vec<f32> {
    let digits: Vec<_> = source.to_string().bytes().map(|digit| usize::from(digit - b'0')).collect();
    let next = digits.get(prefix.len()).copied().unwrap_or(1);
    log_softmax(&std::array::from_fn::<f32, 10, _>(|id| if id == next { 12.0 } else { 0.0 }))
}

#[test]
fn at_the_limit_what_is_left_is_cut() {
    let best = &search(&endless, 5, &options(1, 1))[0];
    assert_eq!(best.tokens, [TokenId(2); 5]);
    assert_eq!(best.ended, Ended::Limit);
    assert!((best.score - best.log_prob / 5f64.powf(0.6)).abs() < 1e-12);
}

#[test]
fn a_cut_hypothesis_ranks_after_every_complete_one() {
    let hypotheses = search(&endless, 3, &options(4, 4));
    let ends: Vec<_> = hypotheses.iter().map(|hypothesis| hypothesis.ended).collect();
    assert!(ends.contains(&Ended::Eos) && ends.contains(&Ended::Limit) && ends.is_sorted(), "{ends:?}");
    let best_cut = hypotheses.iter().find(|hypothesis| hypothesis.ended == Ended::Limit).unwrap();
    assert!(best_cut.score > hypotheses[0].score, "the example shows nothing");
}

#[test]
fn eos_is_counted_in_the_limit_and_in_the_score() {
    let exact = &search(&copy, 2, &options(4, 1))[0];
    assert_eq!((exact.tokens.as_slice(), exact.ended), (&[TokenId(7)][..], Ended::Eos));
    assert!((exact.score - exact.log_prob / 2f64.powf(0.6)).abs() < 1e-12);
    assert_eq!(search(&copy, 1, &options(4, 1))[0].ended, Ended::Limit);
}

#[test]
fn a_limit_of_one_token_gives_at_most_the_vocabulary() {
    let hypotheses = search(&Random { seed: 3, vocab: 5, peak: 2.0 }, 1, &options(6, 6));
    assert_eq!(hypotheses.len(), 3, "five tokens without BOS and EOS");
    assert!(hypotheses.iter().all(|hypothesis| hypothesis.tokens.len() == 1));
}

#[test]
fn at_least_min_len_tokens_come_before_eos() {
    for min_len in 0..4 {
        let best = &search(&speechless, 10, &BeamOptions { min_len, ..options(2, 1) })[0];
        assert_eq!((best.tokens.len(), best.ended), (min_len, Ended::Eos));
    }
}

#[test]
fn forbidden_tokens_are_never_generated() {
    let forbidden = vec![BOS, TokenId(2), TokenId(4)];
    for seed in 0..100 {
        let settings = BeamOptions { forbidden: forbidden.clone(), ..options(5, 5) };
        for hypothesis in search(&Random { seed, vocab: 7, peak: 3.0 }, 6, &settings) {
            assert!(forbidden.iter().all(|token| !hypothesis.tokens.contains(token)), "seed {seed}");
        }
    }
}

#[test]
fn a_beam_wider_than_the_vocabulary_works() {
    let hypotheses = search(&Random { seed: 1, vocab: 4, peak: 1.0 }, 8, &options(50, 50));
    assert_eq!(hypotheses.len(), 50);
}

#[test]
fn equals_are_taken_in_order_of_prefix_and_token() {
    let uniform = |_: u64, _: &[TokenId]| log_softmax(&[0.0; 5]);
    let settings = BeamOptions { length_penalty: LengthPenalty::Length { alpha: 0.0 }, ..options(3, 3) };
    let tokens: Vec<_> = search(&uniform, 9, &settings).into_iter().map(|hypothesis| hypothesis.tokens).collect();
    assert_eq!(tokens, [vec![TokenId(2)], vec![TokenId(2), TokenId(2)], vec![TokenId(2); 3]]);
}

#[test]
fn a_sentence_owns_as_many_rows_as_it_has_live_prefixes() {
    let mut decoder = ToyDecoder::new(&copy, &[2, 3333, 444_444]);
    beam_search(&mut decoder, &[9, 9, 9], &options(3, 1)).expect("a toy never fails");
    assert_eq!(decoder.rows_per_step[0], 3, "one row for each sentence at first");
    assert_eq!(decoder.rows_per_step[1], 9, "then the width");
    let last = decoder.rows_per_step[decoder.rows_per_step.len() - 1];
    assert!(last <= 3 && decoder.rows_per_step[1..].is_sorted_by(|a, b| a >= b), "{:?}", decoder.rows_per_step);
}

/// Says token 2 and ends, or token 3 eleven times and ends: -2 nats in two tokens, -6 in twelve.
fn late_bloomer(_: u64, prefix: &[TokenId]) -> Vec<f32> {
    let none = f32::NEG_INFINITY;
    match prefix {
        [] => vec![none, none, 0.0, -6.0],
        [TokenId(2), ..] => vec![none, -2.0, none, none],
        _ if prefix.len() < 11 => vec![none, none, none, 0.0],
        _ => vec![none, 0.0, none, none],
    }
}

#[test]
fn a_hypothesis_that_wins_by_its_length_is_waited_for() {
    let settings = BeamOptions { length_penalty: LengthPenalty::Length { alpha: 1.0 }, ..options(2, 1) };
    assert_eq!(search(&late_bloomer, 12, &settings)[0].tokens, [TokenId(3); 11], "-6/12 is more than -2/2");
}

#[test]
fn a_hypothesis_that_cannot_win_within_the_limit_is_not_waited_for() {
    let settings = BeamOptions { length_penalty: LengthPenalty::Length { alpha: 1.0 }, ..options(2, 1) };
    for (limit, steps) in [(6, 2), (7, 7)] {
        let mut decoder = ToyDecoder::new(&late_bloomer, &[0]);
        let best = &beam_search(&mut decoder, &[limit], &settings).expect("a toy never fails")[0][0];
        assert_eq!(best.tokens, [TokenId(2)]);
        assert_eq!(decoder.rows_per_step.len(), steps, "-6/6 is no more than -2/2, -6/7 is");
    }
}

#[test]
fn no_sentences_are_no_work() {
    let mut decoder = ToyDecoder::new(&copy, &[]);
    assert_eq!(beam_search(&mut decoder, &[], &options(4, 1)), Ok(Vec::new()));
    assert!(decoder.rows_per_step.is_empty());
}

#[test]
fn a_model_with_nothing_left_to_say_is_cut_where_it_stands() {
    let none = f32::NEG_INFINITY;
    let mute = |_: u64, prefix: &[TokenId]| vec![none, none, if prefix.is_empty() { -0.5 } else { none }];
    // Even in the very step that reaches the limit.
    for limit in [9, 2] {
        let hypotheses = search(&mute, limit, &options(4, 4));
        assert_eq!(hypotheses.len(), 1, "limit {limit}");
        assert_eq!((hypotheses[0].tokens.as_slice(), hypotheses[0].ended), (&[TokenId(2)][..], Ended::Limit));
    }
}

#[test]
fn log_probabilities_that_round_above_zero_count_as_zero() {
    let eager = |_: u64, prefix: &[TokenId]| if prefix.is_empty() { vec![-9.0, -9.0, 1e-6] } else { vec![-9.0, 1e-6] };
    assert_eq!(search(&eager, 4, &options(1, 1))[0].log_prob.to_bits(), 0.0f64.to_bits());
}

#[test]
fn nan_is_an_error_that_names_the_place() {
    let broken = |source: u64, prefix: &[TokenId]| {
        if source == 5 && prefix.len() == 1 { vec![f32::NAN; 4] } else { vec![-9.0, -9.0, -0.1, -3.0] }
    };
    let found = beam_search(&mut ToyDecoder::new(&broken, &[4, 5]), &[6, 6], &options(2, 1));
    assert_eq!(found, Err(SearchError::NotANumber { sentence: 1, length: 1 }));
}

#[test]
fn a_limit_of_zero_is_refused() {
    let found = beam_search(&mut ToyDecoder::new(&copy, &[4, 5]), &[6, 0], &options(2, 1));
    assert_eq!(found, Err(SearchError::Options(OptionsError::Limit { sentence: 1 })));
}

/// Fails at the first step.
struct Failing;

#[derive(Debug, PartialEq)]
struct OutOfMemory;

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "out of memory")
    }
}

impl std::error::Error for OutOfMemory {}

impl StepDecoder for Failing {
    type Error = OutOfMemory;

    fn step(&mut self, _: &[TokenId], _: usize, _: &mut Vec<Candidate>) -> Result<(), OutOfMemory> {
        Err(OutOfMemory)
    }

    fn reorder(&mut self, _: &[usize]) {}
}

#[test]
fn the_decoders_error_is_passed_on_as_the_source() {
    let error = beam_search(&mut Failing, &[3], &options(2, 1)).unwrap_err();
    let source = std::error::Error::source(&error).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("out of memory"));
}
