//! The engine against PyTorch: the fixtures of the burn model, made by `crates/model/tests/golden/make_golden.py`.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::SafeTensors;
use umlaut_engine::{Engine, Precision};
use umlaut_search::{StepDecoder, TokenId};

use crate::reference::{Tensors, to_safetensors};

const RESULTS: [&str; 8] = ["grad.", "adam", "memory", "logits", "loss", "nll", "token_nll", "step"];

struct Golden {
    engine: Engine,
    ids: BTreeMap<String, Vec<Vec<u32>>>,
    logits: Vec<f32>,
}

fn golden(name: &str) -> Golden {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden");
    let config = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
    let bytes = std::fs::read(folder.join(format!("{name}.safetensors"))).unwrap();
    let (mut ids, mut tensors, mut logits) = (BTreeMap::new(), Tensors::new(), Vec::new());
    for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
        if matches!(name.as_str(), "src" | "tgt_in" | "tgt_out") {
            let row =
                |row: &[u8]| row.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as u32).collect();
            ids.insert(name, view.data().chunks_exact(8 * view.shape()[1]).map(row).collect());
            continue;
        }
        let numbers = view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        if name == "logits" {
            logits = numbers;
        } else if !RESULTS.iter().any(|prefix| name.starts_with(prefix)) {
            tensors.insert(name, (view.shape().to_vec(), numbers));
        }
    }
    let engine = Engine::from_parts(&config, &to_safetensors(&tensors), Precision::F32).unwrap();
    Golden { engine, ids, logits }
}

#[test]
fn it_computes_what_pytorch_computes() {
    for name in ["pre_rope_shared", "post_sinusoidal_separate"] {
        let Golden { engine, ids, logits } = golden(name);
        let (vocab, pad) = (engine.config().vocab, engine.config().pad_id);
        let real = |row: &[u32]| row.iter().filter(|id| **id != pad).map(|id| TokenId(*id)).collect::<Vec<_>>();
        let tgt_len = ids["tgt_in"][0].len();
        for (row, (source, target)) in ids["src"].iter().zip(&ids["tgt_in"]).enumerate() {
            let mut decoder = engine.decoder(&[&real(source)]).unwrap();
            for (position, token) in real(target).into_iter().enumerate() {
                let mut candidates = Vec::new();
                decoder.step(&[token], vocab, &mut candidates).unwrap();
                let logits = &logits[(row * tgt_len + position) * vocab..][..vocab];
                let log_sum = logits.iter().map(|v| f64::from(*v).exp()).sum::<f64>().ln();
                for candidate in candidates {
                    let want = f64::from(logits[candidate.token.0 as usize]) - log_sum;
                    assert!((f64::from(candidate.log_prob) - want).abs() < 1e-4, "{name}: {candidate:?} for {want}");
                }
            }
        }
    }
}
