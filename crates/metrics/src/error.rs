//! What keeps a score from being computed.

use thiserror::Error;

/// Why there is no score. Nothing here is ever scored "as well as possible" instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MetricError {
    /// Not one reference stream was given.
    #[error("no reference was given: a score needs at least one")]
    NoReference,
    /// There is no line to score.
    #[error("there is nothing to score: the hypotheses have no lines")]
    NoLines,
    /// A reference stream and the hypotheses differ in length.
    #[error(
        "{hypotheses} hypothesis lines but {references} lines in reference {stream}: they must be the same test set"
    )]
    ReferenceLines {
        /// Lines in the hypotheses.
        hypotheses: usize,
        /// Lines in the reference stream.
        references: usize,
        /// Which reference stream, from 1.
        stream: usize,
    },
    /// Two systems to compare differ in length.
    #[error("{system} lines in one system but {baseline} in the other: they must translate the same test set")]
    SystemLines {
        /// Lines of the system.
        system: usize,
        /// Lines of the baseline.
        baseline: usize,
    },
    /// Runs of two systems that are not as many of one as of the other, or too few.
    #[error("seeds are compared in pairs, two at least: {system} against {baseline}")]
    Seeds {
        /// Runs of the system.
        system: usize,
        /// Runs of the baseline.
        baseline: usize,
    },
    /// A stream is a markup file, not plain text.
    #[error(
        "{stream}: looks like {format} (first line starts with `{marker}`): extract its segments to plain lines first"
    )]
    Markup {
        /// The stream, such as `hypotheses` or `reference 1`.
        stream: String,
        /// The format's name.
        format: &'static str,
        /// What the first line starts with.
        marker: &'static str,
    },
    /// A tokenizer that is not one of ours.
    #[error("unknown tokenizer `{0}`: choose one of 13a, intl, char, none")]
    UnknownTokenizer(String),
    /// A metric that is not one of ours.
    #[error("unknown metric `{0}`: choose one of bleu, chrf, chrf++, ter")]
    UnknownMetric(String),
    /// A paired test that is not one of ours.
    #[error("unknown paired test `{0}`: choose bs (paired bootstrap) or ar (approximate randomisation)")]
    UnknownTest(String),
    /// A smoothing that is not one of ours.
    #[error("unknown smoothing `{0}`: choose one of exp, floor, add-k, none")]
    UnknownSmoothing(String),
    /// A line whose edit matrix would not fit; TER is meant for sentences.
    #[error("line {line}: {hypothesis} words against {reference} are too many for TER: split the line into sentences")]
    TooLongForTer {
        /// Line number, from 1.
        line: usize,
        /// Words in the hypothesis.
        hypothesis: usize,
        /// Words in the reference.
        reference: usize,
    },
}
