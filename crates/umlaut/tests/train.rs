//! The real program in a fresh folder: training killed at many moments, averaging, refusals.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;

const RECIPE: &str = r#"
seed = 4
label_smoothing = 0.1
model = { vocab = 320, d_model = 32, n_heads = 2, d_ff = 64, encoder_layers = 1, decoder_layers = 1,
          norm = "pre", positions = "rope", embeddings = "shared", dropout = 0.2 }
batch = { max_tokens = 300, accumulate = 1 }
optimizer = { beta_1 = 0.9, beta_2 = 0.98, epsilon = 1e-8, clip_norm = 1.0 }
schedule = { peak = 0.01, warmup_steps = 10 }
run = { max_updates = 60, validate_every = 20, checkpoint_every = 3, keep_last = 3, log_every = 5 }
[data]
vocab = "v.model"
validation = { src = "valid.en", tgt = "valid.de" }
[[data.stages]]
from_update = 0
files = [{ src = "train.en", tgt = "train.de" }]
"#;

/// A folder with data, vocabulary and a recipe named `toy`.
fn kitchen() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let words = |set: [&str; 6], lines: std::ops::Range<usize>| -> String {
        lines.map(|n| (0..=n % 5).map(|i| set[(n * 5 + i * 7) % 6]).collect::<Vec<_>>().join(" ") + "\n").collect()
    };
    for (name, lines) in [("train", 0..200), ("valid", 300..306)] {
        let en = words(["one", "two", "three", "four", "five", "six"], lines.clone());
        let de = words(["eins", "zwei", "drei", "vier", "fünf", "sechs"], lines);
        fs::write(dir.path().join(format!("{name}.en")), en).unwrap();
        fs::write(dir.path().join(format!("{name}.de")), de).unwrap();
    }
    fs::create_dir(dir.path().join("toy")).unwrap();
    fs::write(dir.path().join("toy/recipe.toml"), RECIPE).unwrap();
    let made = umlaut(dir.path(), &["vocab", "train.en", "train.de", "-o", "toy/v.model", "--size", "320"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    dir
}

fn command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umlaut"));
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command
}

fn umlaut(dir: &Path, args: &[&str]) -> Output {
    command(dir, args).output().unwrap()
}

fn succeed(dir: &Path, args: &[&str]) -> Output {
    let output = umlaut(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn fail(dir: &Path, args: &[&str]) -> String {
    let output = umlaut(dir, args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_run_killed_at_many_moments_ends_with_the_weights_of_one_that_never_stopped() {
    let dir = kitchen();
    succeed(dir.path(), &["train", "toy", "--run", "whole", "--quiet"]);
    let last = "checkpoint-0000060";
    let mut kills = 0;
    while !dir.path().join("parts").join(last).exists() {
        let has_checkpoint = fs::read_dir(dir.path().join("parts")).is_ok_and(|mut entries| {
            entries.any(|e| e.unwrap().file_name().to_str().unwrap().starts_with("checkpoint"))
        });
        if !has_checkpoint {
            let _ = fs::remove_dir_all(dir.path().join("parts"));
        }
        let mut args = vec!["train", "toy", "--run", "parts", "--quiet"];
        args.extend(has_checkpoint.then_some("--resume"));
        let mut child = command(dir.path(), &args).stderr(Stdio::piped()).spawn().unwrap();
        // From before the first update to the middle of a save. After enough kills it may finish.
        let patience = if kills < 25 { 30 + kills * 37 % 230 } else { 600_000 };
        for _ in 0..patience {
            sleep(Duration::from_millis(1));
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "a resumed run failed after {kills} kills");
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    for name in ["model.safetensors", "optimizer.safetensors"] {
        let bytes = |run: &str| fs::read(dir.path().join(run).join(last).join(name)).unwrap();
        assert!(bytes("whole") == bytes("parts"), "{name} differs after {kills} kills");
    }
    assert!(kills > 3, "only {kills} kills");
}

#[test]
fn averages_choose_by_number_and_refuse_what_is_not_there() {
    let dir = kitchen();
    succeed(dir.path(), &["train", "toy", "--run", "run", "--quiet", "--max-updates", "12"]);
    let listed = succeed(dir.path(), &["average", "run", "--last", "2", "-o", "mean"]);
    let listed = String::from_utf8(listed.stderr).unwrap();
    assert!(listed.contains("checkpoint-0000009") && listed.contains("checkpoint-0000012"), "{listed}");
    for name in ["config.json", "model.safetensors", "vocab.model", "recipe.toml", "averaged.json"] {
        assert!(dir.path().join("mean").join(name).exists(), "{name}");
    }
    let described = String::from_utf8(succeed(dir.path(), &["info", "mean"]).stdout).unwrap();
    for part in ["12 updates", "target tokens", "hours", "train.en", "320 pieces"] {
        assert!(described.contains(part), "no {part} in {described}");
    }

    succeed(dir.path(), &["average", "run", "--last", "1", "--upto", "9", "-o", "ninth"]);
    let weights = |path: &str| fs::read(dir.path().join(path).join("model.safetensors")).unwrap();
    assert!(weights("ninth") == weights("run/checkpoint-0000009"), "one checkpoint's average is not itself");
    succeed(dir.path(), &["average", "ninth", "ninth", "ninth", "-o", "thrice"]);
    assert!(weights("thrice") == weights("ninth"), "copies of one checkpoint do not average to it");

    let error = fail(dir.path(), &["average", "run", "--last", "5", "-o", "five"]);
    assert!(error.contains("found 3") && error.contains("need 5"), "{error}");
    let file = dir.path().join("run/checkpoint-0000009/model.safetensors");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let error = fail(dir.path(), &["average", "run", "--last", "2", "-o", "broken"]);
    assert!(error.contains("checkpoint-0000009"), "{error}");
    assert!(!dir.path().join("five").exists() && !dir.path().join("broken").exists());
}

#[test]
fn what_cannot_be_run_is_said_in_one_line() {
    let dir = kitchen();
    let error = fail(dir.path(), &["train", "nowhere"]);
    assert_eq!(error.lines().count(), 1, "{error}");
    let recipe = RECIPE.replace("vocab = 320", "vocab = 420");
    fs::write(dir.path().join("toy/recipe.toml"), recipe).unwrap();
    let error = fail(dir.path(), &["train", "toy"]);
    assert!(error.contains("320") && error.contains("420"), "{error}");
}

#[test]
fn a_shortlist_is_the_same_from_any_number_of_threads_and_never_half_written() {
    let dir = kitchen();
    let learn = |output: &str, threads: &str| {
        let args = ["shortlist", "train.en", "train.de", "--vocab", "toy/v.model", "-o", output, "--threads", threads];
        let said = String::from_utf8(succeed(dir.path(), &args).stdout).unwrap();
        assert!(said.contains("200 pairs read, 200 kept"), "{said}");
        fs::read(dir.path().join(output)).unwrap()
    };
    assert_eq!(learn("one.list", "1"), learn("three.list", "3"));
    let args = ["shortlist", "train.en", "valid.de", "--vocab", "toy/v.model", "-o", "none.list"];
    let refused = fail(dir.path(), &args);
    assert!(refused.contains("200") && refused.contains('6'), "{refused}");
    assert!(!dir.path().join("none.list").exists());
}
