//! Models that the real CTranslate2 wrote, and what it computes with them.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;
use umlaut_engine::{Engine, Precision};
use umlaut_search::{StepDecoder, TokenId};
use umlaut_text::Vocab;

use crate::kitchen::{golden, succeed};

#[derive(Deserialize)]
struct Score {
    source: Vec<String>,
    target: Vec<String>,
    log_probs: Vec<f32>,
}

#[test]
fn models_of_the_real_converter_give_its_log_probabilities() {
    let dir = tempfile::tempdir().unwrap();
    let vocab = Vocab::open(golden("vocab.model")).unwrap();
    let scores: HashMap<String, Score> =
        serde_json::from_slice(&std::fs::read(golden("scores.json")).unwrap()).unwrap();
    assert_eq!(scores.len(), 2);
    for (name, score) in scores {
        let (from, vocab_path) = (golden(&name), golden("vocab.model"));
        let (from, vocab_path) = (from.display(), vocab_path.display());
        succeed(dir.path(), &format!("import {from} --from ctranslate2 --vocab {vocab_path} -o {name}"));
        let log_probs = log_probs(&dir.path().join(&name), &score, &vocab);
        for (ours, theirs) in log_probs.iter().zip(&score.log_probs) {
            assert!((ours - theirs).abs() < 1e-4, "{name}: {log_probs:?}, not {:?}", score.log_probs);
        }
        assert_eq!(log_probs.len(), score.log_probs.len());
    }
}

/// The log-probability of each target piece and of the end of sentence.
fn log_probs(model: &Path, score: &Score, vocab: &Vocab) -> Vec<f32> {
    let engine = Engine::open(model, Precision::F32).unwrap();
    let ids = |pieces: &[String]| -> Vec<TokenId> {
        pieces.iter().map(|piece| vocab.id(piece).unwrap()).chain([vocab.eos()]).collect()
    };
    let (source, target) = (ids(&score.source), ids(&score.target));
    let mut decoder = engine.decoder(&[&source]).unwrap();
    let (mut last, mut step) = (vocab.bos(), Vec::new());
    target
        .into_iter()
        .map(|token| {
            decoder.step(&[last], vocab.len(), &mut step).unwrap();
            last = token;
            step.iter().find(|candidate| candidate.token == token).unwrap().log_prob
        })
        .collect()
}
