//! One system under one metric, with what shows how far the figure can be trusted.

use crate::corpus::Corpus;
use crate::error::MetricError;
use crate::metric::Metric;
use crate::resample::Resampling;
use crate::score::Score;
use crate::significance::{PairedTest, compare, confidence};

/// A system to score, and how its scores are to be judged.
#[derive(Debug, Clone)]
pub struct Evaluation<'a> {
    /// The system's lines with their references.
    pub system: Corpus<'a>,
    /// The samples of the bootstrap interval, if there is to be one.
    pub interval: Option<Resampling>,
    /// What to compare with, if anything.
    pub baseline: Option<Baseline<'a>>,
}

/// Another system on the same test set, and how to test the difference.
#[derive(Debug, Clone)]
pub struct Baseline<'a> {
    /// The other system's lines with the same references.
    pub corpus: Corpus<'a>,
    /// The test.
    pub test: PairedTest,
    /// Its samples or trials.
    pub resampling: Resampling,
}

impl Evaluation<'_> {
    /// The system's score under `metric`, with interval and comparison as asked for.
    ///
    /// # Errors
    /// If a line is too long for TER.
    pub fn score(&self, metric: &Metric) -> Result<Score, MetricError> {
        let statistics = metric.statistics(&self.system)?;
        let mut score = metric.score_of(&statistics, self.system.reference_streams());
        if let Some(resampling) = self.interval {
            score = score.with_confidence(confidence(metric, &statistics, resampling), resampling);
        }
        if let Some(Baseline { corpus, test, resampling }) = &self.baseline {
            let comparison = compare(metric, &statistics, &metric.statistics(corpus)?, *test, *resampling)?;
            score = score.with_comparison(comparison, *test, *resampling);
        }
        Ok(score)
    }
}
