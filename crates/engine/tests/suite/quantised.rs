//! Models stored as int8.

use std::fs;
use std::path::Path;

use umlaut_engine::{Engine, Precision, quantise_model};
use umlaut_search::{Candidate, StepDecoder, TokenId};

use crate::reference::{Model, Shape};

fn write(model: &Model, directory: &Path) {
    fs::write(directory.join("config.json"), model.config()).unwrap();
    fs::write(directory.join("model.safetensors"), model.weights()).unwrap();
    fs::write(directory.join("vocab.model"), "pieces").unwrap();
}

fn candidates(engine: &Engine) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let source = [9, 4, 2].map(TokenId);
    engine.decoder(&[&source]).unwrap().step(&[TokenId(1)], 37, &mut candidates).unwrap();
    candidates
}

#[test]
fn a_stored_int8_model_computes_what_one_quantised_at_opening_does() {
    for shape in [Shape::default(), Shape { norm: "post", embeddings: "separate", ..Shape::default() }] {
        let model = Model::new(shape);
        let (from, to, again) =
            (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        write(&model, from.path());
        quantise_model(from.path(), to.path()).unwrap();
        let stored = Engine::open(to.path(), Precision::Int8).unwrap();
        assert_eq!(candidates(&stored), candidates(&model.engine(Precision::Int8)));
        // The weights are those of the codes in either arithmetic.
        let restored = candidates(&Engine::open(to.path(), Precision::F32).unwrap());
        assert!((restored[0].log_prob - candidates(&stored)[0].log_prob).abs() < 0.3);
        // What is int8 already stays as it is.
        quantise_model(to.path(), again.path()).unwrap();
        let bytes = |directory: &Path| fs::read(directory.join("model.safetensors")).unwrap();
        assert_eq!(bytes(again.path()), bytes(to.path()));
        assert!(bytes(to.path()).len() * 2 < bytes(from.path()).len());
    }
}

#[test]
fn the_rest_of_the_directory_comes_along_and_nothing_half_done_stays() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(&Model::new(Shape::default()), from.path());
    quantise_model(from.path(), to.path()).unwrap();
    let mut names: Vec<_> = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors", "vocab.model"]);
    assert_eq!(fs::read(to.path().join("vocab.model")).unwrap(), b"pieces");
}

#[test]
fn a_model_is_not_written_over_itself_nor_from_a_damaged_one() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = Model::new(Shape::default());
    write(&model, from.path());
    assert!(quantise_model(from.path(), from.path()).unwrap_err().to_string().contains("over itself"));
    assert_eq!(fs::read(from.path().join("model.safetensors")).unwrap(), model.weights());

    let mut tensors = model.tensors.clone();
    tensors.get_mut("decoder.layers.1.feed_forward.outer.weight").unwrap().1[7] = f32::INFINITY;
    fs::write(from.path().join("model.safetensors"), crate::reference::to_safetensors(&tensors)).unwrap();
    assert!(quantise_model(from.path(), to.path()).unwrap_err().to_string().contains("feed_forward.outer.weight"));
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
}
