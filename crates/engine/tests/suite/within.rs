//! Projections to a list for each sentence.

use crate::reference::{Model, Shape};
use umlaut_engine::{Engine, EngineError, Precision};
use umlaut_search::{BeamOptions, Candidate, Hypothesis, StepDecoder, TokenId, beam_search, force_decode};

const EOS: TokenId = TokenId(2);
const VOCAB: usize = 150;

fn model() -> Model {
    Model::new(Shape { vocab: VOCAB, ..Shape::default() })
}

fn sources() -> Vec<Vec<TokenId>> {
    let token = |i: u32, seed: u32| TokenId(4 + (i * 7 + seed * 11) % 146);
    let source = |(seed, len): (u32, u32)| (0..len).map(|i| token(i, seed)).chain([EOS]).collect();
    (0..).zip([5, 0, 19, 1, 12]).map(source).collect()
}

/// A list of a size of its own for each source, of one token to most of the vocabulary, EOS among them.
fn lists() -> Vec<Vec<TokenId>> {
    let list = |(seed, len): (u32, u32)| (0..len).map(|i| TokenId(4 + (i * 5 + seed * 3) % 146)).chain([EOS]).collect();
    (0..).zip([63, 0, 20, 130, 64]).map(list).collect()
}

fn slices(sentences: &[Vec<TokenId>]) -> Vec<&[TokenId]> {
    sentences.iter().map(Vec::as_slice).collect()
}

fn first_step(engine: &Engine, lists: Option<&[Vec<TokenId>]>) -> Vec<Vec<Candidate>> {
    let (sources, mut candidates) = (sources(), Vec::new());
    let mut decoder = match lists {
        Some(lists) => engine.decoder_within(&slices(&sources), lists).unwrap(),
        None => engine.decoder(&slices(&sources)).unwrap(),
    };
    decoder.step(&[TokenId(1); 5], VOCAB, &mut candidates).unwrap();
    candidates.chunks(VOCAB).map(<[_]>::to_vec).collect()
}

#[test]
fn a_list_of_everything_changes_nothing() {
    for precision in [Precision::F32, Precision::Int8] {
        let engine = model().engine(precision);
        let everything = vec![(0..150).map(TokenId).collect(); 5];
        assert_eq!(first_step(&engine, Some(&everything)), first_step(&engine, None));
    }
}

#[test]
fn log_probabilities_are_normalised_over_the_list() {
    for precision in [Precision::F32, Precision::Int8] {
        let engine = model().engine(precision);
        let (whole, within, lists) = (first_step(&engine, None), first_step(&engine, Some(&lists())), lists());
        for ((whole, within), list) in whole.iter().zip(&within).zip(&lists) {
            let listed: Vec<&Candidate> = whole.iter().filter(|candidate| list.contains(&candidate.token)).collect();
            let share: f64 = listed.iter().map(|candidate| f64::from(candidate.log_prob).exp()).sum();
            for (want, got) in listed.iter().zip(within) {
                assert_eq!(want.token, got.token, "the order is that of the whole");
                assert!((f64::from(want.log_prob) - share.ln() - f64::from(got.log_prob)).abs() < 1e-4);
            }
            assert!(within[listed.len()..].iter().all(|candidate| candidate.log_prob == f32::NEG_INFINITY));
        }
    }
}

fn search(engine: &Engine, sources: &[Vec<TokenId>], lists: &[Vec<TokenId>]) -> Vec<Vec<Hypothesis>> {
    let options = BeamOptions { n_best: 4, ..BeamOptions::new(TokenId(1), EOS) };
    let mut decoder = engine.decoder_within(&slices(sources), lists).unwrap();
    beam_search(&mut decoder, &vec![12; sources.len()], &options).unwrap()
}

#[test]
fn a_sentence_depends_on_its_own_list_alone_to_the_bit() {
    for precision in [Precision::F32, Precision::Int8] {
        let engine = model().engine(precision);
        let (sources, lists) = (sources(), lists());
        let together = search(&engine, &sources, &lists);
        for (i, together) in together.into_iter().enumerate() {
            assert!(together.iter().flat_map(|found| &found.tokens).all(|token| lists[i].contains(token)));
            assert_eq!(search(&engine, &sources[i..=i], &lists[i..=i]), [together]);
        }
    }
}

#[test]
fn given_tokens_have_the_log_probability_of_the_list_and_others_none() {
    let engine = model().engine(Precision::Int8);
    let (sources, lists) = (sources(), lists());
    let found = search(&engine, &sources, &lists);
    let targets: Vec<Vec<TokenId>> = found.iter().map(|list| list[0].tokens.clone()).collect();
    let mut decoder = engine.decoder_within(&slices(&sources), &lists).unwrap();
    for (log_probs, found) in force_decode(&mut decoder, &slices(&targets), TokenId(1)).unwrap().iter().zip(&found) {
        let ends = found[0].ended == umlaut_search::Ended::Eos;
        let sum = log_probs.iter().fold(0.0, |sum, &log_prob| sum + f64::from(log_prob));
        assert!(if ends { sum >= found[0].log_prob } else { sum.to_bits() == found[0].log_prob.to_bits() });
    }
    let mut decoder = engine.decoder_within(&slices(&sources[1..2]), &lists[1..2]).unwrap();
    let impossible = force_decode(&mut decoder, &[&[TokenId(9), EOS]], TokenId(1)).unwrap();
    assert_eq!(impossible, [[f32::NEG_INFINITY, 0.0]], "a list of EOS alone");
}

#[test]
fn a_list_of_unknown_tokens_is_refused_and_an_empty_one_leaves_nothing_to_say() {
    let engine = model().engine(Precision::F32);
    let refused = engine.decoder_within(&[&[EOS]], &[vec![TokenId(150)]]).err();
    assert!(matches!(refused, Some(EngineError::Token { token: 150, vocab: 150 })));
    let mut candidates = Vec::new();
    engine.decoder_within(&[&[EOS]], &[vec![]]).unwrap().step(&[TokenId(1)], 3, &mut candidates).unwrap();
    assert!(candidates.len() == 3 && candidates.iter().all(|candidate| candidate.log_prob == f32::NEG_INFINITY));
}
