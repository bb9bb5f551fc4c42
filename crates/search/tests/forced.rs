//! Forced decoding against the search that found what is scored.

mod toy;

use toy::{BOS, EOS, Random, Toy, ToyDecoder, log_softmax};
use umlaut_search::{BeamOptions, Ended, Hypothesis, SearchError, TokenId, beam_search, force_decode};

fn force(toy: &dyn Toy, sources: &[u64], targets: &[&[TokenId]]) -> Vec<Vec<f32>> {
    force_decode(&mut ToyDecoder::new(toy, sources), targets, BOS).expect("a toy never fails")
}

/// What the model was asked for when it said this.
fn said(hypothesis: &Hypothesis) -> Vec<TokenId> {
    let mut tokens = hypothesis.tokens.clone();
    tokens.extend((hypothesis.ended == Ended::Eos).then_some(EOS));
    tokens
}

fn sum(log_probs: &[f32]) -> f64 {
    log_probs.iter().map(|&log_prob| f64::from(log_prob)).sum()
}

#[test]
fn what_a_search_found_has_the_log_probability_it_was_found_with() {
    for seed in 0..50 {
        let toy = Random { seed, vocab: 7, peak: 3.0 };
        let (sources, limits) = ([seed, 100, 200], [9, 4, 12]);
        let options = BeamOptions { n_best: 4, ..BeamOptions::new(BOS, EOS) };
        let lists = beam_search(&mut ToyDecoder::new(&toy, &sources), &limits, &options).expect("a toy never fails");
        let pairs =
            sources.iter().zip(&lists).flat_map(|(&source, list)| list.iter().map(move |found| (source, found)));
        let (sources, found): (Vec<u64>, Vec<&Hypothesis>) = pairs.unzip();
        let targets: Vec<Vec<TokenId>> = found.iter().map(|found| said(found)).collect();
        let forced = force(&toy, &sources, &targets.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let bits = |log_prob: f64| log_prob.to_bits();
        let found: Vec<u64> = found.iter().map(|found| bits(found.log_prob)).collect();
        assert_eq!(forced.iter().map(|forced| bits(sum(forced) + 0.0)).collect::<Vec<_>>(), found, "seed {seed}");
    }
}

#[test]
fn a_sentence_at_its_end_gives_its_row_back_and_an_empty_one_has_none() {
    let toy = Random { seed: 1, vocab: 5, peak: 1.0 };
    let target = [2, 3, 4, 2, 1].map(TokenId);
    let targets = [&target[3..], &[], &target[..], &target[4..]];
    let mut decoder = ToyDecoder::new(&toy, &[5, 6, 7, 8]);
    let together = force_decode(&mut decoder, &targets, BOS).expect("a toy never fails");
    assert_eq!(decoder.rows_per_step, [3, 2, 1, 1, 1]);
    for (sentence, log_probs) in together.into_iter().enumerate() {
        assert_eq!(log_probs.len(), targets[sentence].len());
        assert_eq!([log_probs], *force(&toy, &[5 + sentence as u64], &targets[sentence..=sentence]));
    }
    assert!(force(&toy, &[], &[]).is_empty());
}

#[test]
fn an_impossible_token_is_impossible_and_a_nan_an_error() {
    let certain = |_: u64, _: &[TokenId]| vec![f32::NEG_INFINITY, 0.0];
    assert_eq!(force(&certain, &[1], &[&[TokenId(0), EOS]]), [[f32::NEG_INFINITY, 0.0]]);
    let broken =
        |_: u64, prefix: &[TokenId]| if prefix.is_empty() { log_softmax(&[1.0, 2.0]) } else { vec![f32::NAN; 2] };
    let failed = force_decode(&mut ToyDecoder::new(&broken, &[1, 2]), &[&[EOS], &[EOS, EOS]], BOS);
    assert_eq!(failed, Err(SearchError::NotANumber { sentence: 1, length: 1 }));
}
