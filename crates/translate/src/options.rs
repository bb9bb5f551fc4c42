//! What a caller can choose.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread;

use umlaut_engine::Precision;
use umlaut_search::{BeamOptions, LengthPenalty};

use crate::{Special, TranslateError};

/// The settings of a [`Translator`](crate::Translator). Only the first group can change a translation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Beam width; 1 is greedy search.
    pub beam: usize,
    /// How hypotheses of different lengths are compared. Larger exponents make longer translations.
    pub length_penalty: LengthPenalty,
    /// Translations given for each line, best first; at most `beam`.
    pub n_best: usize,
    /// The greatest number of tokens of a translation, the end mark counted. Each has a limit of its own besides,
    /// twice its source's tokens and 32 more, which only runaway output reaches.
    pub max_len: Option<usize>,
    /// A file that `umlaut shortlist` made: a translation then consists of tokens that it lists for those of the source
    /// and of frequent ones: less work. Log-probabilities are normalised over a source's list.
    pub shortlist: Option<PathBuf>,
    /// Lines of more source tokens are translated in pieces, cut at ends of sentences where there are any.
    pub max_src_len: usize,
    /// The arithmetic of a network that is opened with these options.
    pub precision: Precision,

    /// Threads that translate, each a batch of its own.
    pub threads: NonZero<usize>,
    /// The size of a batch: its sentences times the tokens of its longest source.
    pub batch_tokens: usize,
    /// Lines read ahead, so that those of similar length share batches. 1 answers each line before the next is read.
    pub window_lines: usize,
}

/// Read ahead for each thread: about 25 default batches of sentences of ordinary length.
const WINDOW_LINES_PER_THREAD: usize = 1024;

impl Default for Options {
    fn default() -> Self {
        Self {
            beam: 4,
            length_penalty: LengthPenalty::default(),
            n_best: 1,
            max_len: None,
            shortlist: None,
            max_src_len: 512,
            precision: Precision::F32,
            threads: NonZero::<usize>::MIN,
            batch_tokens: 1024,
            window_lines: WINDOW_LINES_PER_THREAD,
        }
        .with_threads(thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN))
    }
}

impl Options {
    /// Sets the number of threads, and a window that keeps them busy.
    #[must_use]
    pub fn with_threads(self, threads: NonZero<usize>) -> Self {
        Self { threads, window_lines: WINDOW_LINES_PER_THREAD.saturating_mul(threads.get()), ..self }
    }

    /// The search that these options mean: pad, BOS and unknown are never generated, and a source that has tokens gets
    /// at least one.
    pub(crate) fn search(&self, special: Special) -> BeamOptions {
        let Special { unk, bos, eos, pad } = special;
        BeamOptions {
            width: self.beam,
            length_penalty: self.length_penalty,
            n_best: self.n_best,
            min_len: 1,
            forbidden: vec![unk, bos, pad],
            bos,
            eos,
        }
    }

    /// The length limit of a translation, EOS counted; `src_len` counts it too.
    pub(crate) fn limit(&self, src_len: usize) -> usize {
        let limit = src_len.saturating_mul(2).saturating_add(32);
        self.max_len.map_or(limit, |max_len| limit.min(max_len))
    }

    /// Refuses what cannot be honoured.
    pub(crate) fn check(&self, special: Special) -> Result<(), TranslateError> {
        let sizes = [
            ("the longest translation", self.max_len.unwrap_or(1)),
            ("the longest source", self.max_src_len),
            ("the batch size", self.batch_tokens),
            ("the read-ahead", self.window_lines),
        ];
        match sizes.into_iter().find(|&(_, size)| size == 0) {
            Some((setting, _)) => Err(TranslateError::Zero { setting }),
            None => Ok(self.search(special).check()?),
        }
    }
}
