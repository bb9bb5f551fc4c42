//! Studies: recipes that differ in one thing, on single lines and on neighbouring lines joined to longer inputs.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use umlaut_ledger::{Metric, Row, Study};
use umlaut_metrics::Statistics;
use umlaut_translate::Translator;

use super::outcome::Outcome;
use super::report::{OutputSum, State, StudyParty, StudyStep, StudyTable};
use super::score::statistics;
use super::text::{Texts, sha256};
use super::{OutputFile, Workplace, decode, length};

/// A row of the study that can translate.
struct Party<'a> {
    row: &'a Row,
    translator: Translator,
    /// Translations of the single lines.
    output: &'a [String],
}

/// The study on one test set, whose rows came as far as `outcomes` say, and the translations of joined lines.
///
/// # Errors
/// If a model fails.
pub(crate) fn table(
    workplace: &Workplace,
    study: &Study,
    metric: Metric,
    texts: Option<&Texts>,
    outcomes: &[&Outcome<'_>],
) -> Result<(StudyTable, Vec<OutputFile>)> {
    let parties = parties(workplace, outcomes)?;
    let mut files = Vec::new();
    let mut steps = Vec::new();
    if let Some(texts) = texts.filter(|_| !parties.is_empty()) {
        for joined in [1].iter().chain(&study.join) {
            let texts = texts.join(*joined);
            if !texts.source.is_empty() {
                steps.push(step(workplace, metric, *joined, &texts, &parties, &mut files)?);
            }
        }
    }
    let first = outcomes.first().context("a study has rows")?;
    let party = |outcome: &&Outcome<'_>| {
        let Row { recipe, system, .. } = outcome.row;
        StudyParty { recipe: recipe.clone(), system: system.clone(), state: state(outcome) }
    };
    let parties = outcomes.iter().map(party).collect();
    let test_set = first.row.test_set.clone();
    Ok((StudyTable { title: study.title.clone(), test_set, metric, parties, steps }, files))
}

/// A kept output has no model that could translate other lines.
fn state(outcome: &Outcome<'_>) -> State {
    match (&outcome.table.state, &outcome.row.model) {
        (State::Scored, None) => State::Missing("no model is kept to translate joined lines with".to_owned()),
        (state, _) => state.clone(),
    }
}

fn parties<'a>(workplace: &Workplace, outcomes: &[&'a Outcome<'a>]) -> Result<Vec<Party<'a>>> {
    let mut parties = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| outcome.table.state == State::Scored) {
        if let Some(model) = &outcome.row.model {
            let translator = decode::open(outcome.row, &workplace.root.join(model), workplace.threads)?;
            parties.push(Party { row: outcome.row, translator, output: &outcome.output });
        }
    }
    Ok(parties)
}

fn step(
    workplace: &Workplace,
    metric: Metric,
    joined: usize,
    texts: &Texts,
    parties: &[Party<'_>],
    files: &mut Vec<OutputFile>,
) -> Result<StudyStep> {
    let mut scored: Vec<(&str, Statistics)> = Vec::new();
    let (mut figures, mut outputs) = (BTreeMap::new(), BTreeMap::new());
    for Party { row, translator, output } in parties {
        let mut name = format!("{}.{}.de", row.recipe, row.test_set);
        let mut lines = output.to_vec();
        if joined > 1 {
            eprintln!("table: {}: translating {} inputs of {joined} lines", row.name(), texts.source.len());
            name = format!("{}.{}.join{joined}.de", row.recipe, row.test_set);
            lines = decode::translate(translator, &texts.source)?;
            files.push(OutputFile { name: name.clone(), lines: lines.clone() });
        }
        let statistics = statistics(metric, &lines, &texts.reference)?;
        figures.insert(row.recipe.clone(), workplace.judge.figure(metric, &statistics)?);
        outputs.insert(row.recipe.clone(), OutputSum { file: name, sha256: sha256(&lines) });
        scored.push((row.recipe.as_str(), statistics));
    }
    let scored: Vec<_> = scored.iter().map(|(recipe, statistics)| (*recipe, statistics)).collect();
    let words: usize = texts.source.iter().map(|line| length::words(line)).sum();
    Ok(StudyStep {
        joined,
        inputs: texts.source.len(),
        mean_words: words as f64 / texts.source.len() as f64,
        source_sha256: sha256(&texts.source),
        reference_sha256: sha256(&texts.reference),
        figures,
        outputs,
        pairs: workplace.judge.pairs(metric, &scored)?,
    })
}
