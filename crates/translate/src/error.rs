//! What can go wrong between a line and its translation.

use std::error::Error;
use std::io;

use umlaut_engine::EngineError;
use umlaut_search::OptionsError;
use umlaut_text::TextError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TranslateError {
    /// The program was built without a model.
    #[error("this build has no built-in model; name a model directory with --model")]
    NoBuiltinModel,
    /// The vocabulary cannot be used.
    #[error("cannot load the vocabulary")]
    Vocab(#[source] TextError),
    /// The network cannot be used.
    #[error("cannot load the model")]
    Network(#[source] EngineError),
    /// The shortlist cannot be used.
    #[error("cannot load the shortlist")]
    Shortlist(#[source] TextError),
    /// The shortlist is of another vocabulary.
    #[error("the shortlist was made with another vocabulary than the model's; make it with the model's vocab.model")]
    ShortlistVocab,
    /// Vocabulary and network disagree about a special token.
    #[error("the id of {piece} is {config} in config.json but {vocab} in vocab.model: they are of different models")]
    SpecialId {
        /// What the token is for.
        piece: &'static str,
        /// The id in the model's configuration.
        config: u32,
        /// The id in the vocabulary.
        vocab: u32,
    },
    /// The search options contradict themselves.
    #[error(transparent)]
    Search(#[from] OptionsError),
    /// A size that must be positive is 0.
    #[error("{setting} must be at least 1")]
    Zero {
        /// The setting.
        setting: &'static str,
    },
    /// A line and its given translation of which one is no sentence.
    #[error("line {line}: one side has {tokens} tokens; up to {limit} are scored as a sentence")]
    PairTooLong {
        /// The line, from 1.
        line: u64,
        /// The tokens of the longer side.
        tokens: usize,
        /// The greatest number accepted.
        limit: usize,
    },
    /// Given translations that are not as many as lines.
    #[error("{sources} lines and {targets} given translations: there must be one for each")]
    UnequalLines {
        /// Lines of input.
        sources: u64,
        /// Lines of given translations.
        targets: u64,
    },
    /// The given translations cannot be read.
    #[error("the given translations")]
    Targets(#[source] Box<TranslateError>),
    /// The model failed on some lines.
    #[error("cannot translate")]
    Model(#[source] Box<dyn Error + Send + Sync>),
    /// Input ended in an error.
    #[error("cannot read after line {line}")]
    Read {
        /// Lines read whole before.
        line: u64,
        /// The reason.
        source: io::Error,
    },
    /// A line that can hardly be text.
    #[error("line {line} is longer than {limit} bytes: this does not look like text, one sentence a line")]
    LineTooLong {
        /// The line, from 1.
        line: u64,
        /// The greatest length accepted.
        limit: usize,
    },
    /// A test set in SGML or XML.
    #[error(
        "this is SGML or XML (its first line starts with `{tag}`), not plain text; extract its segments, one a line"
    )]
    Markup {
        /// How the first line starts.
        tag: &'static str,
    },
    /// Output could not be written.
    #[error("cannot write the translation")]
    Write(#[source] io::Error),
}

impl TranslateError {
    /// Whether the input is at fault, rather than the model, the options or the output.
    #[must_use]
    pub fn is_about_input(&self) -> bool {
        match self {
            Self::Read { .. }
            | Self::LineTooLong { .. }
            | Self::Markup { .. }
            | Self::PairTooLong { .. }
            | Self::UnequalLines { .. } => true,
            Self::Targets(error) => error.is_about_input(),
            _ => false,
        }
    }

    /// A failure of the model.
    pub(crate) fn model(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Model(Box::new(error))
    }

    /// The same for a pair that stands after `before` other lines.
    pub(crate) fn after_lines(self, before: u64) -> Self {
        match self {
            Self::PairTooLong { line, tokens, limit } => Self::PairTooLong { line: line + before, tokens, limit },
            other => other,
        }
    }

    /// Whether nobody reads the output any more, which is no failure.
    #[must_use]
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}
