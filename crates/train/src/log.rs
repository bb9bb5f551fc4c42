//! The log of a run: one JSON object a line.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::TrainError;
use crate::exchange::Times;

/// The name of the log in a run's folder.
pub const FILE: &str = "log.jsonl";

/// What happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Means over the updates since the last line.
    Update {
        /// The last of them.
        update: u64,
        /// Passes over the data that are done.
        epoch: u64,
        /// Smoothed loss of a target token, in nats.
        loss: f64,
        /// Negative log-likelihood of a target token, in nats.
        nll: f64,
        /// The rate of the last update.
        learning_rate: f64,
        /// The gradient's norm in the last update, before clipping.
        gradient_norm: f64,
        /// Real target tokens a second.
        tokens_per_second: f64,
        /// Seconds of training.
        elapsed_seconds: f64,
        /// Of a run of several processes: the first one's time, all updates of the line together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exchange: Option<Times>,
    },
    /// How long the rest will take, from the first updates of a start: told, not logged.
    Estimate {
        /// The update after which it was made.
        update: u64,
        /// Seconds to the last update, validations and checkpoints not counted.
        seconds_left: f64,
        /// Real target tokens a second.
        tokens_per_second: f64,
    },
    /// The validation set after an update.
    Validation {
        /// The update.
        update: u64,
        /// Smoothed loss of a target token, in nats.
        loss: f64,
        /// Negative log-likelihood of a target token, in nats.
        nll: f64,
        /// BLEU of the translations.
        bleu: f64,
        /// How BLEU was computed.
        signature: String,
        /// The first translations.
        samples: Vec<String>,
        /// Seconds of training.
        elapsed_seconds: f64,
    },
    /// An update was skipped: loss or gradient were not finite.
    Skipped {
        /// The update that would have been made.
        update: u64,
    },
}

impl Event {
    /// The update it belongs to.
    #[must_use]
    pub fn update(&self) -> u64 {
        match self {
            Self::Update { update, .. }
            | Self::Estimate { update, .. }
            | Self::Validation { update, .. }
            | Self::Skipped { update } => *update,
        }
    }
}

/// An open log.
#[derive(Debug)]
pub struct RunLog {
    path: PathBuf,
    file: File,
}

impl RunLog {
    /// Opens the log of a run that stands at `update`: what was logged after it belongs to updates that will be made
    /// again, and is dropped.
    ///
    /// # Errors
    /// If the log cannot be read or written.
    pub fn open(run: &Path, update: u64) -> Result<Self, TrainError> {
        let path = run.join(FILE);
        let kept: String = read(&path)?.iter().filter(|event| event.update() <= update).map(line).collect();
        umlaut_model::directory::write_whole(&path, kept.as_bytes())?;
        let file = OpenOptions::new().append(true).open(&path);
        let file = file.map_err(|source| TrainError::Io { path: path.clone(), source })?;
        Ok(Self { path, file })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, event: &Event) -> Result<(), TrainError> {
        let written = self.file.write_all(line(event).as_bytes());
        written.map_err(|source| TrainError::Io { path: self.path.clone(), source })
    }
}

fn line(event: &Event) -> String {
    let mut line = serde_json::to_string(event).expect("an event is JSON");
    line.push('\n');
    line
}

/// The events of a log; a last line cut short by a crash is passed over, and no file is no event.
///
/// # Errors
/// If the file cannot be read.
pub fn read(path: &Path) -> Result<Vec<Event>, TrainError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(TrainError::Io { path: path.to_owned(), source }),
    }
}
