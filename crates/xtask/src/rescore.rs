//! Reaching the ledger's figures again: decode with the kept model, or take the kept output, and score.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Verdict;
use crate::ledger::{Ledger, Metric, Row};
use crate::test_set::{TestSet, TestSets};
use crate::workspace::Workspace;

/// What a row needs to be scored, in plain files.
struct Texts {
    source: PathBuf,
    reference: PathBuf,
}

/// The two programs.
struct Programs {
    folder: PathBuf,
}

/// Scores every row that can be scored again and compares to two decimals; says why it passes over the others.
///
/// # Errors
/// When the programs do not build or run.
pub(crate) fn check(workspace: &Workspace, data: &Path) -> Result<Verdict> {
    let ledger = Ledger::read(workspace.root())?;
    let test_sets = TestSets::read(workspace.root())?;
    if verify(&test_sets, data) == Verdict::Faulty {
        return Ok(Verdict::Faulty);
    }
    let scratch = workspace.metadata()?.target_directory.join("table");
    fs::create_dir_all(&scratch).with_context(|| format!("cannot create {}", scratch.display()))?;
    let ready = ready(&ledger, &test_sets, data, &scratch)?;
    if ready.is_empty() {
        return Ok(Verdict::Good);
    }
    let programs = Programs { folder: workspace.build_release(&["--locked"])? };
    let mut verdict = Verdict::Good;
    for (row, texts) in &ready {
        let outcome = compare(workspace.root(), &programs, row, texts);
        if outcome.with_context(|| format!("{} on {}", row.recipe, row.test_set))? == Verdict::Faulty {
            verdict = Verdict::Faulty;
        }
    }
    Ok(verdict)
}

/// The rows that can be scored again, with their texts unpacked.
fn ready<'a>(ledger: &'a Ledger, test_sets: &TestSets, data: &Path, scratch: &Path) -> Result<Vec<(&'a Row, Texts)>> {
    let mut ready = Vec::new();
    for row in &ledger.row {
        let set = test_sets.set.iter().find(|set| set.name == row.test_set);
        let set = set.with_context(|| format!("no test set is called {}", row.test_set))?;
        let reason = match obstacle(row) {
            Some(reason) => reason,
            None => match unpack(set, data, scratch)? {
                Some(texts) => {
                    ready.push((row, texts));
                    continue;
                }
                None => "the test set is not at hand",
            },
        };
        println!("table: {} on {}: passed over: {reason}", row.recipe, row.test_set);
    }
    Ok(ready)
}

/// Holds every test set that is at hand against its checksum.
fn verify(test_sets: &TestSets, data: &Path) -> Verdict {
    let mut verdict = Verdict::Good;
    let mut at_hand = 0;
    for set in &test_sets.set {
        for side in [&set.source, &set.reference] {
            match side.read(data, set.lines) {
                Ok(text) => at_hand += usize::from(text.is_some()),
                Err(error) => {
                    println!("table: {}: {error:#}", set.name);
                    verdict = Verdict::Faulty;
                }
            }
        }
    }
    println!("table: {at_hand} of {} sides of test sets are at hand and as listed", 2 * test_sets.set.len());
    verdict
}

/// Why a row cannot be scored again, whatever the data.
fn obstacle(row: &Row) -> Option<&'static str> {
    match row {
        _ if row.figures.is_empty() => Some("not run"),
        Row { model: None, output: None, .. } => Some("neither model nor output is kept"),
        _ => None,
    }
}

/// Lays both sides of a test set into `scratch`, or returns `None` when one is absent.
fn unpack(set: &TestSet, data: &Path, scratch: &Path) -> Result<Option<Texts>> {
    let source = set.source.read(data, set.lines)?;
    let reference = set.reference.read(data, set.lines)?;
    let (Some(source), Some(reference)) = (source, reference) else { return Ok(None) };
    let texts =
        Texts { source: scratch.join(format!("{}.en", set.name)), reference: scratch.join(format!("{}.de", set.name)) };
    fs::write(&texts.source, source)?;
    fs::write(&texts.reference, reference)?;
    Ok(Some(texts))
}

fn compare(root: &Path, programs: &Programs, row: &Row, texts: &Texts) -> Result<Verdict> {
    let hypothesis = match (&row.model, &row.output) {
        (Some(model), _) => programs.translate(&root.join(model), row, texts)?,
        (None, Some(output)) => root.join("eval").join(output),
        (None, None) => return Ok(Verdict::Good),
    };
    let mut verdict = Verdict::Good;
    for (metric, listed) in &row.figures {
        let found = programs.score(&hypothesis, texts, *metric)?;
        let label = metric.label();
        if is_same_figure(found, *listed) {
            println!("table: {} on {}: {label} {found:.2}", row.recipe, row.test_set);
        } else {
            println!("table: {} on {}: {label} {found:.2}, listed {listed:.2}", row.recipe, row.test_set);
            verdict = Verdict::Faulty;
        }
    }
    Ok(verdict)
}

/// Whether two figures print alike.
fn is_same_figure(found: f64, listed: f64) -> bool {
    format!("{found:.2}") == format!("{listed:.2}")
}

impl Programs {
    fn translate(&self, model: &Path, row: &Row, texts: &Texts) -> Result<PathBuf> {
        let output = texts.source.with_extension(format!("{}.hyp", row.recipe));
        let status = Command::new(self.folder.join("translate"))
            .arg("--model")
            .arg(model)
            .arg("--quiet")
            .args(&row.translate)
            .arg(&texts.source)
            .arg("-o")
            .arg(&output)
            .status()
            .context("cannot start translate")?;
        ensure!(status.success(), "translate failed ({status})");
        Ok(output)
    }

    fn score(&self, hypothesis: &Path, texts: &Texts, metric: Metric) -> Result<f64> {
        let options = metric.score_options().context("a figure of our own states its metric")?;
        let output = Command::new(self.folder.join("umlaut"))
            .arg("score")
            .arg(hypothesis)
            .arg("-r")
            .arg(&texts.reference)
            .args(options)
            .arg("--json")
            .output()
            .context("cannot start umlaut")?;
        ensure!(output.status.success(), "umlaut score: {}", String::from_utf8_lossy(&output.stderr).trim());
        let report: Value = serde_json::from_slice(&output.stdout).context("umlaut score --json")?;
        score_in(&report).context("umlaut score --json prints no score")
    }
}

/// The first `score` of a report: one object, or a list of them.
fn score_in(report: &Value) -> Option<f64> {
    match report {
        Value::Array(reports) => reports.iter().find_map(score_in),
        _ => report.get("score")?.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_the_same_when_they_print_alike() {
        assert!(is_same_figure(27.296, 27.3));
        assert!(!is_same_figure(27.294, 27.3));
    }

    #[test]
    fn a_score_is_found_in_a_report_or_a_list_of_reports() {
        let report: Value = serde_json::from_str(r#"{"name": "BLEU", "score": 27.3}"#).unwrap();
        assert_eq!(score_in(&report), Some(27.3));
        assert_eq!(score_in(&Value::Array(vec![report])), Some(27.3));
        assert_eq!(score_in(&Value::Null), None);
    }

    #[test]
    fn a_row_without_figures_or_anything_kept_is_passed_over() {
        let row = "[[row]]\nrecipe = 'r'\nsystem = 's'\ntest_set = 't'\ncommands = []\n";
        let obstacle_of = |more: &str| obstacle(&Ledger::parse(&format!("{row}{more}")).unwrap().row[0]);
        assert_eq!(obstacle_of(""), Some("not run"));
        assert_eq!(obstacle_of("figures = { ter = 50.0 }"), Some("neither model nor output is kept"));
        assert_eq!(obstacle_of("output = 'o.de'\nfigures = { ter = 50.0 }"), None);
    }
}
