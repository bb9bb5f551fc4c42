//! One row: translated and scored if that can be done, else what stands in the way.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use umlaut_ledger::{Metric, PATH, Row, TestSet, checksum};
use umlaut_metrics::Statistics;
use umlaut_text::corpus::read_lines;

use super::report::{Figure, OutputSum, RowTable, State};
use super::text::{self, Found, Texts};
use super::{Workplace, decode, score};

/// A row with what was made of it.
pub(super) struct Outcome<'a> {
    pub(super) row: &'a Row,
    pub(super) table: RowTable,
    /// Its translation, if it was scored.
    pub(super) output: Vec<String>,
    pub(super) statistics: BTreeMap<Metric, Statistics>,
}

impl<'a> Outcome<'a> {
    /// Makes of a row what can be made of it.
    ///
    /// # Errors
    /// If a file is there and cannot be used, or the model fails.
    pub(super) fn of(workplace: &Workplace, set: &TestSet, row: &'a Row, found: &Found) -> Result<Self> {
        let table = listed(workplace, row)?;
        let mut outcome = Self { row, table, output: Vec::new(), statistics: BTreeMap::new() };
        match (obstacle(&workplace.root, row), found) {
            (Some(state), _) => outcome.table.state = state,
            (None, Found::Missing(what)) => outcome.table.state = State::Missing(what.clone()),
            (None, Found::Texts(texts)) => outcome.reach(workplace, set, texts)?,
        }
        Ok(outcome)
    }

    fn reach(&mut self, workplace: &Workplace, set: &TestSet, texts: &Texts) -> Result<()> {
        let row = self.row;
        self.output = translation(workplace, row, texts)?;
        let file = format!("{}.{}.de", row.recipe, row.test_set);
        self.table.output = Some(OutputSum { file, sha256: text::sha256(&self.output) });
        self.table.figures.clear();
        for metric in metrics(set, &[row]) {
            let statistics = score::statistics(metric, &self.output, &texts.reference).with_context(|| row.name())?;
            self.table.figures.insert(metric, workplace.judge.figure(metric, &statistics)?);
            self.statistics.insert(metric, statistics);
        }
        self.table.state = State::Scored;
        self.table.differences = differences(row, &self.table.figures);
        Ok(())
    }
}

/// A row as the ledger has it.
fn listed(workplace: &Workplace, row: &Row) -> Result<RowTable> {
    let figure = |(metric, score): (&Metric, &f64)| {
        let signature = row.signatures.get(metric).cloned().unwrap_or_default();
        (*metric, Figure { score: *score, half_width: None, signature, detail: None })
    };
    let recipe = workplace.root.join("recipes").join(&row.recipe).join("recipe.toml");
    let model = row.model.as_ref().filter(|model| workplace.root.join(model).is_dir());
    Ok(RowTable {
        recipe: row.recipe.clone(),
        system: row.system.clone(),
        state: State::NotRun,
        figures: row.figures.iter().map(figure).collect(),
        differences: Vec::new(),
        translate: row.translate.clone(),
        commands: row.commands.clone(),
        updates: row.updates,
        hours: row.hours,
        recipe_sha256: recipe.is_file().then(|| checksum::of_file(&recipe)).transpose()?,
        model: model.map(|model| decode::sum_of_model(&workplace.root, model)).transpose()?,
        output: None,
    })
}

/// Why a row cannot be scored whatever the data, if so.
fn obstacle(root: &Path, row: &Row) -> Option<State> {
    let missing = |what: &str, path: &Path| Some(State::Missing(format!("{what}: no {}", path.display())));
    match (&row.model, &row.output) {
        (Some(model), _) if !root.join(model).is_dir() => missing("model", model),
        (None, Some(output)) if !root.join("eval").join(output).is_file() => missing("output", output),
        (Some(_), _) | (None, Some(_)) => None,
        (None, None) if row.figures.is_empty() => Some(State::NotRun),
        (None, None) => Some(State::Missing("neither model nor output is kept".to_owned())),
    }
}

/// The translation by the kept model, or else the kept one.
fn translation(workplace: &Workplace, row: &Row, texts: &Texts) -> Result<Vec<String>> {
    match (&row.model, &row.output) {
        (Some(model), _) => {
            let translator = decode::open(row, &workplace.root.join(model), workplace.threads)?;
            eprintln!("table: {}: translating {} lines", row.name(), texts.source.len());
            decode::translate(&translator, &texts.source).with_context(|| row.name())
        }
        (None, Some(output)) => Ok(read_lines(workplace.root.join("eval").join(output))?),
        (None, None) => Err(anyhow!("{} keeps neither model nor output", row.name())),
    }
}

/// The metrics of a test set and those that rows have figures of.
pub(super) fn metrics(set: &TestSet, rows: &[&Row]) -> Vec<Metric> {
    let mut metrics: Vec<Metric> =
        rows.iter().flat_map(|row| row.figures.keys()).chain(&set.metrics).copied().collect();
    metrics.sort();
    metrics.dedup();
    metrics
}

/// Where figures are not what the ledger lists, to two decimals and by signature.
fn differences(row: &Row, found: &BTreeMap<Metric, Figure>) -> Vec<String> {
    let in_words = |score: f64, signature: &str| format!("{score:.2} ({signature})");
    let compare = |(metric, listed): (&Metric, &f64)| {
        let listed = in_words(*listed, row.signatures.get(metric).map_or("", String::as_str));
        let figure = found.get(metric)?;
        let found = in_words(figure.score, &figure.signature);
        (found != listed).then(|| format!("{} is {found}; {PATH} lists {listed}", metric.label()))
    };
    row.figures.iter().filter_map(compare).collect()
}
