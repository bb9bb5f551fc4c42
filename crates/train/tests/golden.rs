//! Two updates of Adam against PyTorch's (fixtures of `umlaut-model`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use burn_flex::FlexDevice;
use safetensors::SafeTensors;
use umlaut_model::TransformerConfig;
use umlaut_model::ops::{CpuAutodiff, Criterion};
use umlaut_model::parameters::{self, Array, Arrays};
use umlaut_text::batch::Batch;
use umlaut_train::optimizer::{Adam, AdamConfig};
use umlaut_train::update::differentiate;

type B = CpuAutodiff;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/golden").join(name)
}

/// The floats of a fixture by name, and its batch.
fn read(name: &str, pad: u32) -> (Arrays, Batch) {
    let bytes = std::fs::read(fixture(&format!("{name}.safetensors"))).unwrap();
    let (mut arrays, mut batch) = (Arrays::new(), Batch { batch: 3, src_len: 7, tgt_len: 6, ..Batch::default() });
    for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
        let ids = || view.data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as u32).collect();
        match name.as_str() {
            "src" => batch.src = ids(),
            "tgt_in" => batch.tgt_in = ids(),
            "tgt_out" => batch.tgt_out = ids(),
            _ => {
                let data = view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
                arrays.insert(name, Array { shape: view.shape().to_vec(), data });
            }
        }
    }
    batch.tgt_tokens = batch.tgt_out.iter().filter(|id| **id != pad).count();
    (arrays, batch)
}

/// Whether a parameter's gradient is zero but for rounding, which Adam would blow up to a whole step: a key's bias moves
/// all scores of a query alike, unless a rotation stands between.
fn is_without_gradient(name: &str, fixture: &str) -> bool {
    name.ends_with("cross_attention.key.bias")
        || (fixture.contains("sinusoidal") && name.ends_with("self_attention.key.bias"))
}

fn two_updates_are_pytorchs(name: &str) {
    let config: TransformerConfig =
        serde_json::from_slice(&std::fs::read(fixture(&format!("{name}.json"))).unwrap()).unwrap();
    let (arrays, batch) = read(name, config.pad_id);
    let is_weight = |name: &str| name.ends_with("weight") || name.ends_with("bias");
    let is_result = |name: &str| name.starts_with("grad.") || name.starts_with("adam");
    let weights = arrays.iter().filter(|(name, _)| is_weight(name) && !is_result(name));
    let weights = weights.map(|(name, array)| (name.clone(), array.clone())).collect();
    let mut model = parameters::load(config.init::<B>(0, &FlexDevice).unwrap(), weights).unwrap();
    let mut adam = Adam::new(AdamConfig { beta_1: 0.9, beta_2: 0.98, epsilon: 1e-8, clip_norm: 0.0 });
    for (update, prefix) in [(1, "adam"), (2, "adam2")] {
        let (sums, gradients, norm) = differentiate(&model, &batch, Criterion::smoothed(0.1), 0).read();
        model = adam.update(model, gradients, update, 1e-3, (sums.tokens, norm));
        for (parameter, got) in parameters::arrays(&model) {
            if is_without_gradient(&parameter, name) {
                continue;
            }
            let want = &arrays[&format!("{prefix}.{parameter}")];
            for (got, want) in got.data.iter().zip(&want.data) {
                assert!((got - want).abs() < 2e-6, "{prefix} {parameter}: {got} against {want}");
            }
        }
    }
}

#[test]
fn adam_on_a_rotary_model_is_pytorchs() {
    two_updates_are_pytorchs("pre_rope_shared");
}

#[test]
fn adam_on_a_sinusoidal_model_is_pytorchs() {
    two_updates_are_pytorchs("post_sinusoidal_separate");
}
