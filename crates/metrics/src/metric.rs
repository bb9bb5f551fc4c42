//! The metrics behind one face: statistics per line, a score from their sums, a signature.

use std::str::FromStr;

use crate::bleu::Bleu;
use crate::chrf::{Averaging, Chrf};
use crate::compound::Compounds;
use crate::corpus::Corpus;
use crate::error::MetricError;
use crate::score::Score;
use crate::signature::Signature;
use crate::statistics::Statistics;
use crate::ter::Ter;
use crate::tokenizer::{Case, Tokenizer};

/// A metric with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// BLEU, higher is better.
    Bleu(Bleu),
    /// chrF or chrF++, higher is better.
    Chrf(Chrf),
    /// TER, lower is better.
    Ter(Ter),
}

/// Options that several metrics may share; each takes those that concern it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// BLEU and chrF. TER keeps its own, which is lower case as in sacreBLEU.
    pub case: Case,
    /// BLEU.
    pub tokenizer: Tokenizer,
    /// BLEU.
    pub compounds: Compounds,
    /// chrF.
    pub averaging: Averaging,
}

impl Metric {
    /// This metric with those of the `options` that concern it.
    #[must_use]
    pub fn with_options(self, options: Options) -> Self {
        let Options { case, tokenizer, compounds, averaging } = options;
        match self {
            Self::Bleu(bleu) => Self::Bleu(Bleu { tokenizer, case, compounds, ..bleu }),
            Self::Chrf(chrf) => Self::Chrf(Chrf { averaging, case, ..chrf }),
            Self::Ter(ter) => Self::Ter(ter),
        }
    }

    /// The name in print: `BLEU`, `chrF2`, `chrF2++`, `TER`.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Bleu(_) => "BLEU".to_owned(),
            Self::Chrf(chrf) => chrf.name(),
            Self::Ter(_) => "TER".to_owned(),
        }
    }

    /// The metric called `bleu`, `chrf`, `chrf++` or `ter`, with its default options.
    fn named(name: &str) -> Option<Self> {
        match name {
            "bleu" => Some(Self::Bleu(Bleu::default())),
            "chrf" => Some(Self::Chrf(Chrf::default())),
            "chrf++" => Some(Self::Chrf(Chrf::plus_plus())),
            "ter" => Some(Self::Ter(Ter::default())),
            _ => None,
        }
    }

    /// The sufficient statistics of each line:
    /// BLEU `[hypothesis length, reference length, matches x 4, n-grams x 4]`;
    /// chrF `[hypothesis n-grams, reference n-grams, matches]` for each order; TER `[edits, reference words]`.
    ///
    /// # Errors
    /// If a line is too long for TER.
    pub fn statistics(&self, corpus: &Corpus<'_>) -> Result<Statistics, MetricError> {
        match self {
            Self::Bleu(bleu) => Ok(bleu.statistics(corpus)),
            Self::Chrf(chrf) => Ok(chrf.statistics(corpus)),
            Self::Ter(ter) => ter.statistics(corpus),
        }
    }

    /// How a score against `references` streams is computed.
    #[must_use]
    pub fn signature(&self, references: usize) -> Signature {
        match self {
            Self::Bleu(bleu) => bleu.signature(references),
            Self::Chrf(chrf) => chrf.signature(references),
            Self::Ter(ter) => ter.signature(references),
        }
    }

    /// The figure from the column sums of this metric's statistics.
    #[must_use]
    pub(crate) fn value_of(&self, total: &[f64]) -> f64 {
        match self {
            Self::Bleu(bleu) => bleu.value_of(total),
            Self::Chrf(chrf) => chrf.value_of(total),
            Self::Ter(_) => Ter::value_of(total),
        }
    }

    /// The score of `corpus`.
    ///
    /// # Errors
    /// If a line is too long for TER.
    pub fn score(&self, corpus: &Corpus<'_>) -> Result<Score, MetricError> {
        Ok(self.score_of(&self.statistics(corpus)?, corpus.reference_streams()))
    }

    /// The score of a system from the `statistics` that this metric made of it against `references` streams.
    #[must_use]
    pub fn score_of(&self, statistics: &Statistics, references: usize) -> Score {
        let total = statistics.total();
        match self {
            Self::Bleu(bleu) => Score::from(bleu.score_of(&total, references)),
            Self::Chrf(_) | Self::Ter(_) => Score {
                name: self.name(),
                score: self.value_of(&total),
                signature: self.signature(references),
                detail: None,
                confidence: None,
                comparison: None,
            },
        }
    }
}

impl FromStr for Metric {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self, MetricError> {
        Self::named(name).ok_or_else(|| MetricError::UnknownMetric(name.to_owned()))
    }
}
