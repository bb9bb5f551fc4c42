//! `umlaut average`: one model from several checkpoints.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use umlaut_model::average::average;
use umlaut_model::directory::{self, Storage, WEIGHTS};
use umlaut_train::checkpoint;

/// Average checkpoints, in f64, into one model directory.
#[derive(clap::Args)]
pub(crate) struct AverageArgs {
    /// A run's folder (with --last), or the checkpoints themselves
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Average the newest N checkpoints of the run
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// With --last: none made after this update
    #[arg(long, value_name = "UPDATE", requires = "last")]
    upto: Option<u64>,
    /// Where the model goes
    #[arg(short, long)]
    output: PathBuf,
    /// Store two bytes a weight instead of four
    #[arg(long)]
    half: bool,
}

/// Name of the record of an average in its directory.
pub(crate) const AVERAGED: &str = "averaged.json";

/// What [`AVERAGED`] says.
#[derive(Serialize, Deserialize)]
pub(crate) struct Averaged {
    /// Names of the checkpoints, oldest first.
    checkpoints: Vec<String>,
    /// What the newest of them had behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trained: Option<Trained>,
}

/// What it took to train a model.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Trained {
    updates: u64,
    target_tokens: u64,
    hours: f64,
}

impl Trained {
    /// From a checkpoint's state, or the record of an average; none where neither is there.
    pub(crate) fn read(dir: &Path) -> Option<Self> {
        if let Ok(state) = checkpoint::read_state(dir) {
            let hours = (state.elapsed_seconds / 36.0).round() / 100.0;
            return Some(Self { updates: state.update, target_tokens: state.tokens, hours });
        }
        serde_json::from_slice::<Averaged>(&fs::read(dir.join(AVERAGED)).ok()?).ok()?.trained
    }
}

impl fmt::Display for Trained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { updates, target_tokens, hours } = self;
        write!(f, "{updates} updates, {target_tokens} target tokens, {hours} hours")
    }
}

pub(crate) fn run(args: &AverageArgs) -> Result<()> {
    let members = members(args)?;
    ensure!(!args.output.exists(), "{} exists already", args.output.display());
    let arrays = average(&members)?;
    let newest = members.last().context("no checkpoint")?;
    let name = |path: &PathBuf| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let averaged = Averaged { checkpoints: members.iter().map(name).collect(), trained: Trained::read(newest) };
    let storage = if args.half { Storage::F16 } else { Storage::F32 };
    directory::write_whole_folder(&args.output, |part| -> Result<()> {
        for name in [directory::CONFIG, checkpoint::VOCAB, umlaut_train::recipe::FILE] {
            let from = newest.join(name);
            fs::copy(&from, part.join(name)).with_context(|| from.display().to_string())?;
        }
        directory::write_arrays(&arrays, &part.join(WEIGHTS), storage)?;
        Ok(directory::write_whole(&part.join(AVERAGED), &serde_json::to_vec_pretty(&averaged)?)?)
    })?;
    for member in &members {
        eprintln!("averaged {}", member.display());
    }
    Ok(())
}

/// The checkpoints to average, oldest first.
fn members(args: &AverageArgs) -> Result<Vec<PathBuf>> {
    let Some(last) = args.last else { return Ok(args.paths.clone()) };
    let [run] = args.paths.as_slice() else { bail!("--last takes one run's folder") };
    ensure!(last > 0, "--last must be at least 1");
    newest(run, last, args.upto.unwrap_or(u64::MAX))
}

fn newest(run: &Path, last: usize, upto: u64) -> Result<Vec<PathBuf>> {
    let mut found = checkpoint::list(run)?;
    found.retain(|(update, _)| *update <= upto);
    ensure!(found.len() >= last, "{}: found {} checkpoints, need {last}", run.display(), found.len());
    Ok(found.split_off(found.len() - last).into_iter().map(|(_, path)| path).collect())
}
