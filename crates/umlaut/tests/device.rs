//! The real program on a device: the processor against itself, and what is said where there is no other.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const RECIPE: &str = r#"
seed = 4
label_smoothing = 0.1
model = { vocab = 60, d_model = 16, n_heads = 2, d_ff = 32, encoder_layers = 1, decoder_layers = 1,
          norm = "post", positions = "rope", embeddings = "shared", dropout = 0.1 }
batch = { max_tokens = 60, accumulate = 2 }
optimizer = { beta_1 = 0.9, beta_2 = 0.98, epsilon = 1e-9 }
schedule = { peak = 0.01, warmup_steps = 10 }
run = { max_updates = 60, validate_every = 20, checkpoint_every = 3, keep_last = 3 }
[data]
vocab = "v.model"
validation = { src = "valid.en", tgt = "valid.de" }
[[data.stages]]
from_update = 0
files = [{ src = "train.en", tgt = "train.de" }]
"#;

fn umlaut(args: &[&str]) -> Output {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("recipe.toml"), RECIPE).unwrap();
    run(dir.path(), args)
}

fn run(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umlaut"));
    command.args(args).current_dir(dir).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn the_processor_agrees_with_itself_and_is_measured() {
    let output = umlaut(&["device", ".", "--device", "cpu", "--steps", "2"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
    assert!(rows.iter().all(|row| row.len() == 5), "{table}");
    let found =
        |what: &str| rows.iter().find(|row| row[1].contains(what)).unwrap_or_else(|| panic!("{what}: {table}"))[2];
    for what in ["f32: logits", "f32: loss", "f32: gradient", "over one member (OnHost)"] {
        assert_eq!(found(what), "0.0e0", "{table}");
    }
    for what in ["bf16: logits", "training, target tokens/s at 108", "greedy decoding of 64", "utilisation, % of 989"] {
        assert!(found(what).parse::<f64>().unwrap() >= 0.0, "{table}");
    }
    assert!(!found("memory").is_empty());
}

#[test]
fn what_cannot_be_computed_on_is_said_in_one_line() {
    // With the feature `cuda` a machine may have such a device, but hardly the hundredth.
    for args in [["device", ".", "--device", "cuda:99"], ["train", ".", "--device", "cuda:99"]] {
        let output = umlaut(&args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.lines().count() == 1 && said.contains("cuda:99"), "{said}");
        assert!(cfg!(feature = "cuda") || said.contains("--features cuda"), "{said}");
        assert!(output.stdout.is_empty());
    }
    let output = umlaut(&["train", ".", "--device", "gpu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cpu, cuda and cuda:N"));
}
