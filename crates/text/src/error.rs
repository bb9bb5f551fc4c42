//! What can go wrong between a file of lines and a batch of ids.

use std::{io, path::PathBuf};

/// An error of this crate: which file, which line, and what was expected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// A file could not be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A file broke off, for example a truncated archive.
    #[error("cannot read {} after line {line}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The last line that was read whole, from 1; 0 before the first.
        line: u64,
        /// The reason.
        source: io::Error,
    },
    /// A line is not UTF-8.
    #[error("{}, line {line}: not valid UTF-8; convert the file first, for example with iconv", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// An SGML or XML test set where plain text was expected.
    #[error("{}: this is SGML or XML (its first line starts with `{tag}`), not plain text; extract its segments, one a line", path.display())]
    Markup {
        /// The file.
        path: PathBuf,
        /// How its first line starts.
        tag: String,
    },
    /// Files that should be read in step have different numbers of lines.
    #[error("files that belong together have different numbers of lines: {}", counts_in_words(.counts))]
    UnequalLines {
        /// Each file with the number of its lines.
        counts: Vec<(PathBuf, u64)>,
    },
    /// A selection by corpus name without a file of names.
    #[error("corpus names are selected, but {} has no file of names beside it", path.display())]
    NoNames {
        /// The source file of the pair.
        path: PathBuf,
    },
    /// A file is not a SentencePiece model that this program can use.
    #[error("{name} is not a usable SentencePiece model: {reason}")]
    NotAVocab {
        /// The file, or a word for where the bytes came from.
        name: String,
        /// The reason.
        reason: String,
    },
    /// A vocabulary and a model configuration disagree.
    #[error(
        "vocabulary size mismatch: {config} expects {expected} pieces, {vocab} has {found}; use the vocabulary the \
         model was trained with"
    )]
    VocabLen {
        /// The vocabulary file.
        vocab: String,
        /// The configuration file.
        config: String,
        /// Pieces the configuration speaks of.
        expected: usize,
        /// Pieces in the vocabulary.
        found: usize,
    },
    /// A file is not a shortlist, or is damaged.
    #[error("{} is not a usable shortlist: {reason}", path.display())]
    NotAShortlist {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
    /// A file is not a shard of ids that can be used.
    #[error("{} is not a usable shard: {reason}", path.display())]
    NotAShard {
        /// The file.
        path: PathBuf,
        /// The reason, and what to do.
        reason: String,
    },
    /// BPE-dropout was asked of a vocabulary that is not BPE.
    #[error("{name}: BPE-dropout needs a BPE vocabulary without user-defined or unused pieces")]
    NoDropout {
        /// The vocabulary file.
        name: String,
    },
    /// A normalisation rule that SentencePiece does not have.
    #[error("no normalisation rule is named {name}; there are {rules}")]
    NoSuchRule {
        /// The name that was given.
        name: String,
        /// The names there are.
        rules: String,
    },
    /// SentencePiece could not train a vocabulary.
    #[error("cannot train the vocabulary: {reason}")]
    Train {
        /// The library's own words.
        reason: String,
    },
    /// A sentence pair that fits in no batch.
    #[error(
        "pair {index} has {tokens} tokens with its end mark, more than the {max_tokens} of a batch; raise max_tokens or \
         filter long pairs"
    )]
    TooLong {
        /// The pair, from 0.
        index: usize,
        /// Tokens of its longer side, the end mark included.
        tokens: usize,
        /// The limit of a batch.
        max_tokens: usize,
    },
}

fn counts_in_words(counts: &[(PathBuf, u64)]) -> String {
    let counts: Vec<String> = counts.iter().map(|(path, lines)| format!("{} has {lines}", path.display())).collect();
    counts.join(", ")
}
