//! Random model directories, the program, and what the engine makes of a model.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use umlaut_engine::{Engine, Precision};
use umlaut_model::directory::{Storage, read_arrays, write_arrays};
use umlaut_model::parameters::{Array, Arrays};
use umlaut_search::{Candidate, StepDecoder, TokenId};

/// Pieces of the vocabulary in `golden`.
const VOCAB: usize = 32;
const D_MODEL: usize = 16;
const D_FF: usize = 20;

/// A folder of the golden fixtures.
pub(crate) fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// What distinguishes the models of the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) norm: &'static str,
    pub(crate) positions: &'static str,
    pub(crate) rope_layout: &'static str,
    pub(crate) embeddings: &'static str,
}

pub(crate) const PLAIN: Shape =
    Shape { norm: "pre", positions: "rope", rope_layout: "interleaved", embeddings: "shared" };

/// A folder with the model directory `model`.
pub(crate) fn kitchen(shape: Shape) -> TempDir {
    kitchen_of(shape, Storage::F32)
}

pub(crate) fn kitchen_of(shape: Shape, storage: Storage) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("model");
    fs::create_dir(&model).unwrap();
    let Shape { norm, positions, rope_layout, embeddings } = shape;
    let config = format!(
        r#"{{"format":"umlaut-1","vocab":{VOCAB},"d_model":{D_MODEL},"n_heads":2,"d_ff":{D_FF},"encoder_layers":2,
        "decoder_layers":1,"norm":"{norm}","positions":"{positions}","rope_theta":10000.0,"rope_layout":"{rope_layout}",
        "embeddings":"{embeddings}","norm_epsilon":1e-6,"dropout":0.1,"attention_dropout":0.0,"activation_dropout":0.0,
        "unk_id":0,"bos_id":1,"eos_id":2,"pad_id":3}}"#
    );
    fs::write(model.join("config.json"), config).unwrap();
    fs::copy(golden("vocab.model"), model.join("vocab.model")).unwrap();
    fs::write(model.join("card.md"), "# A model\n").unwrap();
    write_arrays(&arrays(shape), &model.join("model.safetensors"), storage).unwrap();
    dir
}

fn arrays(shape: Shape) -> Arrays {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let array = |(name, shape): (String, Vec<usize>)| {
        let data = (0..shape.iter().product()).map(|_| next()).collect();
        (name, Array { shape, data })
    };
    names(shape).into_iter().map(array).collect()
}

fn names(shape: Shape) -> Vec<(String, Vec<usize>)> {
    let mut names = Vec::new();
    let mut part = |name: String, weight: &[usize]| {
        names.push((format!("{name}.weight"), weight.to_vec()));
        names.push((format!("{name}.bias"), weight[..1].to_vec()));
    };
    for (stack, layers, attentions) in [("encoder", 2, &["self"] as &[&str]), ("decoder", 1, &["self", "cross"])] {
        for layer in (0..layers).map(|i| format!("{stack}.layers.{i}")) {
            for kind in attentions {
                part(format!("{layer}.{kind}_attention_norm"), &[D_MODEL]);
                for projection in ["query", "key", "value", "output"] {
                    part(format!("{layer}.{kind}_attention.{projection}"), &[D_MODEL, D_MODEL]);
                }
            }
            part(format!("{layer}.feed_forward_norm"), &[D_MODEL]);
            part(format!("{layer}.feed_forward.inner"), &[D_FF, D_MODEL]);
            part(format!("{layer}.feed_forward.outer"), &[D_MODEL, D_FF]);
        }
        if shape.norm == "pre" {
            part(format!("{stack}.norm"), &[D_MODEL]);
        }
    }
    let tables: &[&str] = match shape.embeddings {
        "shared" => &["embedding.weight"],
        _ => &["source_embedding.weight", "target_embedding.weight", "output.weight"],
    };
    names.extend(tables.iter().map(|name| ((*name).to_owned(), vec![VOCAB, D_MODEL])));
    names
}

/// The arrays of a model directory.
pub(crate) fn weights(model: &Path) -> Arrays {
    read_arrays(&model.join("model.safetensors")).unwrap()
}

/// All next tokens at a few steps.
pub(crate) fn candidates(model: &Path, precision: Precision) -> Vec<Candidate> {
    let engine = Engine::open(model, precision).unwrap();
    let source = [9, 4, 17, 30, 5, 2].map(TokenId);
    let mut decoder = engine.decoder(&[&source]).unwrap();
    let (mut all, mut step) = (Vec::new(), Vec::new());
    for token in [1, 8, 20, 31] {
        decoder.step(&[TokenId(token)], VOCAB, &mut step).unwrap();
        all.extend_from_slice(&step);
    }
    all
}

pub(crate) fn umlaut(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umlaut"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

/// Runs a line of arguments, and gives what it says on stderr.
pub(crate) fn succeed(dir: &Path, line: &str) -> String {
    let output = umlaut(dir, &line.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{line}: {said}");
    said
}

/// Runs a line of arguments that ends with the output; it must fail and leave nothing behind.
pub(crate) fn fail(dir: &Path, line: &str) -> String {
    let before = entries(dir);
    let output = umlaut(dir, &line.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}: {said}");
    assert!(!said.contains("panicked"), "{line}: {said}");
    assert_eq!(entries(dir), before, "{line}");
    said
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    entries
}
