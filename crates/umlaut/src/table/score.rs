//! Figures of translations, with intervals, by the columns of the ledger; two rows held against each other.

use anyhow::{Context, Result};
use umlaut_ledger::Metric;
use umlaut_metrics::{Bleu, Chrf, Compounds, Corpus, PairedTest, Resampling, Statistics, Ter, Tokenizer};
use umlaut_metrics::{SeedComparison, compare, compare_seeds, confidence};

use super::report::{Figure, Pair};

/// How figures are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judge {
    /// The samples of an interval.
    pub(crate) interval: Resampling,
    pub(crate) test: PairedTest,
    /// The samples of a test.
    pub(crate) trials: Resampling,
}

/// The metric of a column; `None` for a variant that is not stated.
fn metric_of(column: Metric) -> Option<umlaut_metrics::Metric> {
    let bleu = |tokenizer| Bleu { tokenizer, ..Bleu::default() };
    Some(match column {
        Metric::Bleu13a => umlaut_metrics::Metric::Bleu(bleu(Tokenizer::V13a)),
        Metric::BleuIntl => umlaut_metrics::Metric::Bleu(bleu(Tokenizer::Intl)),
        Metric::BleuSplit => {
            umlaut_metrics::Metric::Bleu(Bleu { compounds: Compounds::Split, ..bleu(Tokenizer::V13a) })
        }
        Metric::BleuNone => umlaut_metrics::Metric::Bleu(bleu(Tokenizer::None)),
        Metric::BleuUnstated => return None,
        Metric::Chrf => umlaut_metrics::Metric::Chrf(Chrf::default()),
        Metric::Ter => umlaut_metrics::Metric::Ter(Ter::default()),
    })
}

/// The statistics of `output` under a column that can be computed.
///
/// # Errors
/// If it cannot, the output has another number of lines than the reference, or a line is too long for TER.
pub(crate) fn statistics(column: Metric, output: &[String], reference: &[String]) -> Result<Statistics> {
    Ok(known(column)?.statistics(&Corpus::new(output, &[reference])?)?)
}

fn known(column: Metric) -> Result<umlaut_metrics::Metric> {
    metric_of(column).with_context(|| format!("nobody can compute {}", column.label()))
}

impl Judge {
    /// The figure from `statistics` of a column.
    ///
    /// # Errors
    /// If the column cannot be computed.
    pub(crate) fn figure(&self, column: Metric, statistics: &Statistics) -> Result<Figure> {
        let metric = known(column)?;
        let score = metric.score_of(statistics, 1);
        let interval = confidence(&metric, statistics, self.interval);
        Ok(Figure {
            score: score.score,
            half_width: Some(interval.half_width),
            signature: score.signature.to_string(),
            detail: score.detail,
        })
    }

    /// Holds every two of `rows` against each other, from the statistics of a column.
    ///
    /// # Errors
    /// As [`pair`](Self::pair).
    pub(crate) fn pairs(&self, column: Metric, rows: &[(&str, &Statistics)]) -> Result<Vec<Pair>> {
        let mut pairs = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            for other in &rows[index + 1..] {
                pairs.push(self.pair(column, *row, *other)?);
            }
        }
        Ok(pairs)
    }

    /// Holds runs of a system against those of a baseline, from the statistics of a column.
    ///
    /// # Errors
    /// If the column cannot be computed, or the runs do not pair.
    pub(crate) fn seeds(
        &self,
        column: Metric,
        system: &[Statistics],
        baseline: &[Statistics],
    ) -> Result<SeedComparison> {
        Ok(compare_seeds(&known(column)?, system, baseline, self.interval)?)
    }

    /// Holds the row of `recipe` against that of another, from the statistics of a column.
    ///
    /// # Errors
    /// If the column cannot be computed or the rows have different numbers of lines.
    fn pair(
        &self,
        column: Metric,
        (recipe, statistics): (&str, &Statistics),
        (against, of_other): (&str, &Statistics),
    ) -> Result<Pair> {
        let metric = known(column)?;
        let comparison = compare(&metric, statistics, of_other, self.test, self.trials)?;
        let score = metric.score_of(statistics, 1).with_comparison(comparison, self.test, self.trials);
        Ok(Pair {
            recipe: recipe.to_owned(),
            against: against.to_owned(),
            metric: column,
            comparison,
            signature: score.signature.to_string(),
        })
    }
}
