//! What can go wrong in training.

use std::path::PathBuf;

use umlaut_model::ModelError;
use umlaut_text::TextError;

/// An error of this crate. Each says which file or number, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A recipe that cannot be cooked.
    #[error("{path}: {reason}")]
    Recipe {
        /// The recipe.
        path: PathBuf,
        /// The field, and what is wrong with it.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A checkpoint is not whole or belongs to another run.
    #[error("{path}: {reason}")]
    Checkpoint {
        /// The checkpoint.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The run's folder is not in the state that was asked for.
    #[error("{path}: {reason}")]
    Run {
        /// The folder.
        path: PathBuf,
        /// What is there, and what to do.
        reason: String,
    },
    /// Loss or gradient were not finite several times in a row.
    #[error(
        "loss or gradient was not finite at update {update}, {count} times in a row: lower the learning rate; the last \
         checkpoint on disk is from before"
    )]
    NotFinite {
        /// The update that could not be made.
        update: u64,
        /// How often it was tried with new data.
        count: u32,
    },
    /// The processes of a run do not fit together.
    #[error("{0}")]
    Group(String),
    /// From the corpus or the vocabulary.
    #[error(transparent)]
    Text(#[from] TextError),
    /// From the model or its directory.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// From translating the validation set.
    #[error("validation: {0}")]
    Validation(String),
}
