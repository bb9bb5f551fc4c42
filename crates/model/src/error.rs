//! What can go wrong with a model.

use std::path::PathBuf;

/// An error of this crate. Each says which file and what does not fit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// A configuration that describes no model.
    #[error("model configuration: {reason}")]
    Config {
        /// Which field, and why.
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
    /// A file is not what its name says.
    #[error("{path}: {reason}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A parameter is missing, is extra, or has another shape.
    #[error("parameter `{name}`: {reason}")]
    Parameter {
        /// Its name in `model.safetensors`.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Models that cannot be averaged.
    #[error("cannot average: {reason}")]
    Average {
        /// Which of them, and why.
        reason: String,
    },
}
