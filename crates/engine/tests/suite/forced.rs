//! Forced decoding: what a search found is scored again. A cache that mixes up rows gives the two different opinions.

use crate::reference::{Model, Shape};
use umlaut_engine::{Engine, EngineError, Precision};
use umlaut_search::{BeamOptions, Ended, ForcedDecoder, Hypothesis, StepDecoder, TokenId, beam_search, force_decode};

const BOS: TokenId = TokenId(1);
const EOS: TokenId = TokenId(2);

/// Sentences of different lengths, so that some end before others and rows change places.
fn sources(vocab: usize) -> Vec<Vec<TokenId>> {
    let token = |i: usize, seed: usize| TokenId((4 + (i * 7 + seed * 11) % (vocab - 4)) as u32);
    let source = |(seed, len): (usize, usize)| (0..len).map(|i| token(i, seed)).chain([EOS]).collect();
    [5, 0, 19, 1, 33, 12].into_iter().enumerate().map(source).collect()
}

fn slices(sentences: &[Vec<TokenId>]) -> Vec<&[TokenId]> {
    sentences.iter().map(Vec::as_slice).collect()
}

/// The sources again, one for each hypothesis, and the hypotheses.
fn n_best_lists(engine: &Engine, sources: &[Vec<TokenId>]) -> (Vec<Vec<TokenId>>, Vec<Hypothesis>) {
    let options = BeamOptions { n_best: 4, ..BeamOptions::new(BOS, EOS) };
    let limits: Vec<usize> = sources.iter().map(|source| 6 + source.len()).collect();
    let lists = beam_search(&mut engine.decoder(&slices(sources)).unwrap(), &limits, &options).unwrap();
    let pairs =
        sources.iter().zip(lists).flat_map(|(source, list)| list.into_iter().map(|found| (source.clone(), found)));
    pairs.unzip()
}

fn said(hypothesis: &Hypothesis) -> Vec<TokenId> {
    let mut tokens = hypothesis.tokens.clone();
    tokens.extend((hypothesis.ended == Ended::Eos).then_some(EOS));
    tokens
}

fn force(engine: &Engine, sources: &[Vec<TokenId>], targets: &[Vec<TokenId>]) -> Vec<Vec<f32>> {
    force_decode(&mut engine.decoder(&slices(sources)).unwrap(), &slices(targets), BOS).unwrap()
}

#[test]
fn what_a_search_found_has_the_log_probability_it_was_found_with() {
    let wide = Shape { vocab: 150, d_model: 136, n_heads: 2, d_ff: 260, ..Shape::default() };
    for shape in [Shape::default(), wide, Shape { norm: "post", positions: "sinusoidal", ..Shape::default() }] {
        let model = Model::new(shape);
        for precision in [Precision::F32, Precision::Int8] {
            let engine = model.engine(precision);
            let (sources, found) = n_best_lists(&engine, &sources(shape.vocab));
            let targets: Vec<Vec<TokenId>> = found.iter().map(said).collect();
            assert!(found.len() > 12 && targets.iter().any(|target| target.len() > 8), "too easy: {targets:?}");
            for (log_probs, found) in force(&engine, &sources, &targets).iter().zip(&found) {
                let sum = log_probs.iter().fold(0.0, |sum, &log_prob| sum + f64::from(log_prob));
                assert_eq!(sum.to_bits(), found.log_prob.to_bits(), "{precision:?}: {sum} for {found:?}");
            }
        }
    }
}

#[test]
fn a_batch_is_its_pairs_one_by_one_to_the_bit() {
    let model = Model::new(Shape::default());
    for precision in [Precision::F32, Precision::Int8] {
        let engine = model.engine(precision);
        let sources = sources(model.shape.vocab);
        // Any tokens will do: those of the sources in another order, each with its EOS.
        let targets: Vec<Vec<TokenId>> = sources.iter().rev().cloned().collect();
        let together = force(&engine, &sources, &targets);
        for (i, together) in together.into_iter().enumerate() {
            assert_eq!(force(&engine, &sources[i..=i], &targets[i..=i]), [together]);
        }
    }
}

#[test]
fn tokens_outside_the_vocabulary_are_refused_on_either_side() {
    let model = Model::new(Shape::default());
    let engine = model.engine(Precision::F32);
    let (mut decoder, mut log_probs) = (engine.decoder(&[&[EOS]]).unwrap(), Vec::new());
    for (last, next) in [(BOS, TokenId(37)), (TokenId(37), EOS)] {
        let refused = decoder.step_to(&[last], &[next], &mut log_probs);
        assert!(matches!(refused, Err(EngineError::Token { token: 37, vocab: 37 })));
    }
    decoder.reorder(&[]);
    decoder.step_to(&[], &[], &mut log_probs).unwrap();
    assert!(log_probs.is_empty());
}
