//! What can be wrong with a model directory or with a request.

use std::path::{Path, PathBuf};

/// Why a model did not open or a batch was refused.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A file of the model directory could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// `config.json` is not the JSON this program reads.
    #[error("config.json: {0}")]
    Json(#[from] serde_json::Error),
    /// `config.json` describes no model.
    #[error("config.json: {reason}")]
    Config {
        /// The fields and values that do not fit.
        reason: String,
    },
    /// The weights could not be read.
    #[error("model.safetensors: {0}")]
    Read(#[from] std::io::Error),
    /// The header of the weights is damaged.
    #[error("model.safetensors: damaged header: {reason}")]
    Header {
        /// What is wrong with it.
        reason: String,
    },
    /// The file of weights is shorter or longer than its header says.
    #[error("model.safetensors has {found} bytes, its header describes {expected}: copy it again")]
    Length {
        /// Bytes that the header describes.
        expected: u64,
        /// Bytes found.
        found: u64,
    },
    /// A tensor that config.json asks for is not there.
    #[error("model.safetensors has no `{name}`, which config.json asks for")]
    MissingTensor {
        /// The tensor.
        name: String,
    },
    /// A tensor that no model described by config.json has.
    #[error("model.safetensors has `{name}`, which config.json does not describe")]
    UnexpectedTensor {
        /// The tensor.
        name: String,
    },
    /// A tensor of another shape than config.json asks for.
    #[error("model.safetensors: `{name}` is {found:?}, config.json asks for {expected:?}")]
    Shape {
        /// The tensor.
        name: String,
        /// As config.json has it.
        expected: Vec<usize>,
        /// As the file has it.
        found: Vec<usize>,
    },
    /// A tensor of a type that is not read here.
    #[error("model.safetensors: `{name}` is {found}; F32, F16, BF16 and (for matrices) I8 can be read")]
    Dtype {
        /// The tensor.
        name: String,
        /// Its type.
        found: String,
    },
    /// A weight that is no number.
    #[error("model.safetensors: `{name}` holds NaN, infinity or a code outside -127..=127")]
    NotANumber {
        /// The tensor.
        name: String,
    },
    /// A model was to be written over itself.
    #[error("{}: a model cannot be written over itself", path.display())]
    SameDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A source without tokens.
    #[error("source {index} has no tokens; each ends with EOS")]
    EmptySource {
        /// Which of the batch.
        index: usize,
    },
    /// A token that the model does not know.
    #[error("token {token} is outside the model's vocabulary of {vocab}")]
    Token {
        /// The token.
        token: u32,
        /// Tokens in the vocabulary.
        vocab: usize,
    },
}

impl EngineError {
    /// Names the file in the system's error.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, source }
    }
}
