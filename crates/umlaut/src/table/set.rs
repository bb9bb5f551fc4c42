//! The rows of one test set beside each other.

use anyhow::Result;
use umlaut_ledger::{Ledger, Metric, Row, TestSet};
use umlaut_metrics::Statistics;

use super::outcome::{Outcome, metrics};
use super::report::SetTable;
use super::text::Found;
use super::{Workplace, lead, length};

/// The table of a test set, without its rows.
///
/// # Errors
/// If a metric cannot be computed.
pub(super) fn table(
    workplace: &Workplace,
    ledger: &Ledger,
    set: &TestSet,
    found: &Found,
    outcomes: &[Outcome<'_>],
) -> Result<SetTable> {
    let rows: Vec<&Row> = outcomes.iter().map(|outcome| outcome.row).collect();
    let metrics = metrics(set, &rows);
    let scored = |metric: Metric| -> Vec<(&str, &Statistics)> {
        let of_metric = outcomes.iter().filter_map(|outcome| {
            let statistics = outcome.statistics.get(&metric)?;
            Some((outcome.row.recipe.as_str(), statistics))
        });
        of_metric.collect()
    };
    let mut pairs = Vec::new();
    for metric in &metrics {
        pairs.extend(workplace.judge.pairs(*metric, &scored(*metric))?);
    }
    let lead = lead(set)?;
    let texts = found.texts().filter(|_| !scored(lead).is_empty());
    let by_length = texts.map(|texts| length::by_length(&workplace.judge, lead, &texts.source, &scored(lead)));
    Ok(SetTable {
        name: set.name.clone(),
        title: set.title.clone(),
        lines: set.lines,
        source: set.source.clone(),
        reference: set.reference.clone(),
        missing: found.missing().map(str::to_owned),
        metrics,
        published: ledger.published.iter().filter(|row| row.test_set == set.name).cloned().collect(),
        rows: Vec::new(),
        pairs,
        by_length: by_length.transpose()?,
    })
}
