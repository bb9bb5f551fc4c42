//! Checkpoints: model directories that also hold the optimizer and the place in the data.
//!
//! A checkpoint is written into a folder of another name and renamed when all of it is on the disk, so that one that can
//! be seen is whole.

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::backend::AutodiffBackend;
use serde::{Deserialize, Serialize};
use umlaut_model::directory::{self, Storage};
use umlaut_model::{FusedOps, Transformer, TransformerConfig};

use crate::TrainError;
use crate::data::Position;
use crate::optimizer::Adam;

/// Where a run stands beyond its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Updates made.
    pub update: u64,
    /// The next batch.
    pub position: Position,
    /// Real target tokens seen.
    pub tokens: u64,
    /// Seconds of training, those of earlier starts included.
    pub elapsed_seconds: f64,
    /// Updates that were skipped because loss or gradient were not finite.
    pub skipped: u64,
    /// The update after which the model was last validated.
    #[serde(default)]
    pub validated: u64,
    /// The best validation so far.
    pub best: Option<Best>,
    /// Validations since.
    pub validations_since_best: u32,
}

/// The best validation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// After which update.
    pub update: u64,
    /// Its smoothed loss per token.
    pub loss: f64,
}

/// What a checkpoint holds beside the model.
#[derive(Debug)]
pub struct Files<'a> {
    /// The recipe, as TOML.
    pub recipe: &'a str,
    /// The vocabulary's bytes.
    pub vocab: &'a [u8],
    /// Where the run stands.
    pub state: &'a State,
}

const STATE: &str = "state.json";
const OPTIMIZER: &str = "optimizer.safetensors";
/// Name of the vocabulary in a model directory.
pub const VOCAB: &str = "vocab.model";
const PREFIX: &str = "checkpoint-";

/// The folder of the checkpoint after `update`.
#[must_use]
pub fn folder(run: &Path, update: u64) -> PathBuf {
    run.join(format!("{PREFIX}{update:07}"))
}

/// Writes a checkpoint; returns its folder.
///
/// # Errors
/// If the disk is full or not writable: nothing of it is left, and older checkpoints are untouched.
///
/// # Panics
/// Never: every state is JSON.
pub fn write<B>(run: &Path, model: &Transformer<B>, adam: &Adam<B>, files: &Files<'_>) -> Result<PathBuf, TrainError>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let to = folder(run, files.state.update);
    if to.exists() {
        return Ok(to);
    }
    directory::write_whole_folder(&to, |part| -> Result<(), TrainError> {
        directory::write(model, part, Storage::F32)?;
        directory::write_arrays(&adam.arrays(), &part.join(OPTIMIZER), Storage::F32)?;
        directory::write_whole(&part.join(VOCAB), files.vocab)?;
        directory::write_whole(&part.join(crate::recipe::FILE), files.recipe.as_bytes())?;
        let state = serde_json::to_vec_pretty(files.state).expect("a state is JSON");
        Ok(directory::write_whole(&part.join(STATE), &state)?)
    })?;
    Ok(to)
}

/// Brings a checkpoint's state up to date with its validation, which comes after it.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// Never: every state is JSON.
pub fn update_state(run: &Path, state: &State) -> Result<(), TrainError> {
    let json = serde_json::to_vec_pretty(state).expect("a state is JSON");
    Ok(directory::write_whole(&folder(run, state.update).join(STATE), &json)?)
}

/// Reads where a checkpoint's run stands.
///
/// # Errors
/// If the file is missing or is no state.
pub fn read_state(checkpoint: &Path) -> Result<State, TrainError> {
    let path = checkpoint.join(STATE);
    let bytes = fs::read(&path).map_err(|source| TrainError::Io { path: path.clone(), source })?;
    serde_json::from_slice(&bytes).map_err(|error| TrainError::Checkpoint { path, reason: error.to_string() })
}

/// Reads a checkpoint's parameters into a model of `config`, and its optimizer.
///
/// # Errors
/// If a file is missing, broken, or not of this model.
pub fn read<B>(
    checkpoint: &Path,
    config: &TransformerConfig,
    adam: &mut Adam<B>,
    device: &B::Device,
) -> Result<Transformer<B>, TrainError>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let model = directory::read_as(checkpoint, config, device)?;
    let arrays = directory::read_arrays(&checkpoint.join(OPTIMIZER))?;
    adam.restore(arrays, &model, device)?;
    Ok(model)
}

/// The checkpoints of a run by update, oldest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn list(run: &Path) -> Result<Vec<(u64, PathBuf)>, TrainError> {
    let io = |source| TrainError::Io { path: run.to_owned(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(run).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(PREFIX));
        if let Some(update) = number.and_then(|number| number.parse().ok()) {
            found.push((update, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Removes all but the newest `keep_last` checkpoints and that of the best validation, and what an interrupted write
/// left.
///
/// # Errors
/// If a folder cannot be read or removed.
pub fn retain(run: &Path, keep_last: usize, best: Option<u64>) -> Result<(), TrainError> {
    let all = list(run)?;
    let old = all.len().saturating_sub(keep_last);
    for (update, path) in &all[..old] {
        if Some(*update) != best {
            remove(path)?;
        }
    }
    Ok(())
}

/// Removes what interrupted writes left in a run's folder.
///
/// # Errors
/// If a folder cannot be read or removed.
pub fn remove_parts(run: &Path) -> Result<(), TrainError> {
    let io = |source| TrainError::Io { path: run.to_owned(), source };
    for entry in fs::read_dir(run).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let is_part = path.extension().is_some_and(|extension| extension == "part");
        if is_part && path.is_dir() {
            remove(&path)?;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> Result<(), TrainError> {
    match fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(TrainError::Io { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
