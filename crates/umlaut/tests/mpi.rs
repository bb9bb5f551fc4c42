//! `mpirun -n N umlaut train`: built with the feature `mpi` only, and passed over where there is no `mpirun`.

#![cfg(feature = "mpi")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use umlaut_model::directory::{WEIGHTS, read_arrays};

const RECIPE: &str = r#"
seed = 4
label_smoothing = 0.1
model = { vocab = 320, d_model = 32, n_heads = 2, d_ff = 64, encoder_layers = 1, decoder_layers = 1,
          norm = "pre", positions = "rope", embeddings = "shared", dropout = 0.2 }
batch = { max_tokens = 100, accumulate = 4 }
optimizer = { beta_1 = 0.9, beta_2 = 0.98, epsilon = 1e-8, clip_norm = 1.0 }
schedule = { peak = 0.01, warmup_steps = 10 }
run = { max_updates = 50, validate_every = 25, checkpoint_every = 5, keep_last = 3, log_every = 5 }
[data]
vocab = "v.model"
validation = { src = "valid.en", tgt = "valid.de" }
[[data.stages]]
from_update = 0
files = [{ src = "train.en", tgt = "train.de" }]
"#;

/// A folder with data, vocabulary and a recipe named `toy`; none where MPI jobs cannot be started.
fn kitchen() -> Option<tempfile::TempDir> {
    if Command::new("mpirun").arg("--version").output().is_err() {
        eprintln!("passed over: there is no mpirun");
        return None;
    }
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
    let vocab = ["vocab", "train.en", "train.de", "-o", "toy/v.model", "--size", "320"];
    succeed(Command::new(env!("CARGO_BIN_EXE_umlaut")).args(vocab).current_dir(&dir));
    Some(dir)
}

/// The words of `umlaut train toy --run RUN` with more.
fn train<'a>(run: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[env!("CARGO_BIN_EXE_umlaut"), "train", "toy", "--threads", "1", "--quiet", "--run", run], more].concat()
}

/// A job of processes that may be more than there are cores.
fn job(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--oversubscribe", "--allow-run-as-root", "--bind-to", "none"]).args(args);
    command.current_dir(dir).stdin(Stdio::null());
    command
}

fn of(size: &str, run: &str, dir: &Path, more: &[&str]) -> Command {
    job(dir, &[&["-n", size], train(run, more).as_slice()].concat())
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The largest difference of a parameter after the last update. One kind is left out: a softmax does not see the bias of
/// keys that are not rotated, so that its gradient is 0 but for rounding, which Adam scales up to whole steps.
fn largest_difference(dir: &Path, a: &str, b: &str) -> f32 {
    let read = |run: &str| read_arrays(&dir.join(run).join("checkpoint-0000050").join(WEIGHTS)).unwrap();
    let (a, b) = (read(a), read(b));
    let pairs = a.iter().zip(b.values()).filter(|((name, _), _)| !name.ends_with("cross_attention.key.bias"));
    let differences = pairs.flat_map(|((_, a), b)| a.data.iter().zip(&b.data).map(|(a, b)| (a - b).abs()));
    differences.fold(0.0, f32::max)
}

#[test]
fn two_and_four_processes_make_the_weights_of_one() {
    let Some(dir) = kitchen() else { return };
    let [program, args @ ..] = &*train("alone", &[]) else { unreachable!("the program is the first word") };
    succeed(Command::new(program).args(args).current_dir(&dir));
    for size in ["2", "4"] {
        succeed(&mut of(size, size, dir.path(), &[]));
        let difference = largest_difference(dir.path(), "alone", size);
        eprintln!("{size} processes: the largest difference of a weight after 50 updates is {difference:e}");
        assert!(difference < 2e-4, "{difference} with {size} processes");
    }
}

/// The processes that `mpirun` started here.
fn workers(job: &Child) -> Vec<String> {
    let file = format!("/proc/{0}/task/{0}/children", job.id());
    fs::read_to_string(file).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_worker_stops_all_and_the_run_can_be_resumed() {
    let Some(dir) = kitchen() else { return };
    succeed(&mut of("4", "whole", dir.path(), &[]));
    let mut job = of("4", "killed", dir.path(), &[]).stderr(Stdio::piped()).spawn().unwrap();
    while !dir.path().join("killed/checkpoint-0000010").exists() {
        assert!(job.try_wait().unwrap().is_none(), "it ended before it could be killed");
        sleep(Duration::from_millis(2));
    }
    let workers = workers(&job);
    assert_eq!(workers.len(), 4);
    assert!(Command::new("kill").args(["-9", &workers[2]]).status().unwrap().success());
    let killed = Instant::now();
    let output = job.wait_with_output().unwrap();
    let seconds = killed.elapsed().as_secs_f64();
    eprintln!("all stopped {seconds:.2} s after one was killed: {}", text(&output));
    assert!(!output.status.success() && seconds < 10.0);
    assert!(text(&output).contains("signal 9"), "{}", text(&output));
    for worker in workers {
        let status = fs::read_to_string(format!("/proc/{worker}/stat")).unwrap_or_default();
        assert!(status.is_empty() || status.contains(") Z"), "process {worker} lives on: {status}");
    }
    succeed(&mut of("4", "killed", dir.path(), &["--resume"]));
    assert!(largest_difference(dir.path(), "whole", "killed") < 1e-6);
}

#[test]
fn a_worker_that_fails_says_why_and_stops_all() {
    let Some(dir) = kitchen() else { return };
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::copy(dir.path().join("train.en"), elsewhere.join("train.en")).unwrap();
    let (first, second) = (train("run", &[]), train("run", &["--data", "elsewhere"]));
    let started = Instant::now();
    let failed = job(dir.path(), &[&["-n", "1"], &*first, &[":", "-n", "1"], &second].concat()).output().unwrap();
    assert!(!failed.status.success() && started.elapsed() < Duration::from_secs(30));
    let message = text(&failed);
    assert!(message.contains("umlaut: process 1 of 2: ") && message.contains("elsewhere/train.de"), "{message}");
}

#[test]
fn batches_that_cannot_be_shared_evenly_are_refused() {
    let Some(dir) = kitchen() else { return };
    let refused = of("3", "run", dir.path(), &[]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused).contains("batch.accumulate to a multiple of 3"), "{}", text(&refused));
    assert!(!dir.path().join("run").exists());
}
