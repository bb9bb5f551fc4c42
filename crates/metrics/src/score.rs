//! A score as it is printed and as it goes into JSON.

use std::fmt;

use serde::Serialize;

use crate::bleu::BleuScore;
use crate::resample::Resampling;
use crate::signature::Signature;
use crate::significance::{Comparison, Interval, PairedTest};

/// A figure with all that makes it reproducible. It prints as one line in sacreBLEU's notation, with two decimals unless
/// told otherwise: `BLEU|nrefs:1|...|version:... = 27.30 58.1/33.0/... (BP = ...)`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// The metric's name.
    pub name: String,
    /// The figure, in percent.
    pub score: f64,
    /// How it was computed.
    pub signature: Signature,
    /// BLEU's precisions, brevity penalty and lengths.
    #[serde(rename = "verbose_score", skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The bootstrap interval, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Interval>,
    /// The outcome of a paired test, where one was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

impl Score {
    /// With a bootstrap interval, which the signature then names.
    #[must_use]
    pub fn with_confidence(mut self, interval: Interval, resampling: Resampling) -> Self {
        self.signature = self.signature.resampled("bs", resampling);
        self.confidence = Some(interval);
        self
    }

    /// With the outcome of a paired test, which the signature then names.
    #[must_use]
    pub fn with_comparison(mut self, comparison: Comparison, test: PairedTest, resampling: Resampling) -> Self {
        self.signature = self.signature.resampled(test.name(), resampling);
        self.comparison = Some(comparison);
        self
    }
}

impl From<BleuScore> for Score {
    fn from(bleu: BleuScore) -> Self {
        Self {
            name: "BLEU".to_owned(),
            score: bleu.score,
            detail: Some(bleu.detail()),
            signature: bleu.signature,
            confidence: None,
            comparison: None,
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "{}|{} = {:.decimals$}", self.name, self.signature, self.score)?;
        if let Some(interval) = &self.confidence {
            write!(f, " ({interval:.decimals$})")?;
        }
        if let Some(comparison) = &self.comparison {
            write!(f, " ({comparison:.decimals$})")?;
        }
        match &self.detail {
            Some(detail) => write!(f, " {detail}"),
            None => Ok(()),
        }
    }
}
