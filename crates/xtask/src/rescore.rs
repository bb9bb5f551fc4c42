//! Reaching the ledger's figures again: decode with the kept model, or take the kept output, and score.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::Verdict;
use crate::ledger::{self, Ledger, Metric, Row};
use crate::test_set::{TestSet, TestSets};
use crate::workspace::Workspace;

/// What a row needs to be scored, in plain files.
struct Texts {
    source: PathBuf,
    reference: PathBuf,
}

/// What `umlaut score --json` says.
#[derive(Deserialize)]
struct Report {
    scores: Vec<Score>,
}

/// What it says of a metric. Two are the same when they print alike: to two decimals, by one
/// signature.
#[derive(Deserialize)]
struct Score {
    score: f64,
    signature: String,
}

impl fmt::Display for Score {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:.2} ({})", self.score, self.signature)
    }
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
    for (metric, figure) in &row.figures {
        let listed = Score { score: *figure, signature: row.signatures.get(metric).cloned().unwrap_or_default() };
        let found = programs.score(&hypothesis, texts, *metric)?;
        println!("table: {} on {}: {} {found}", row.recipe, row.test_set, metric.label());
        if found.to_string() != listed.to_string() {
            println!("table: ... but {} lists {listed}", ledger::PATH);
            verdict = Verdict::Faulty;
        }
    }
    Ok(verdict)
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

    fn score(&self, hypothesis: &Path, texts: &Texts, metric: Metric) -> Result<Score> {
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
        let report: Report = serde_json::from_slice(&output.stdout).context("umlaut score --json")?;
        report.scores.into_iter().next().context("umlaut score --json prints no score")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_the_same_when_they_print_alike() {
        let score = |score| Score { score, signature: "BLEU|tok:13a".to_owned() }.to_string();
        assert_eq!(score(27.296), score(27.3));
        assert_ne!(score(27.294), score(27.3));
    }

    /// Programs that stand in for the real ones: `translate` copies its input, `umlaut` answers with `report`.
    #[cfg(unix)]
    fn stand_ins(folder: &Path, report: &str) -> Programs {
        use std::os::unix::fs::PermissionsExt as _;

        let translate = "#!/bin/sh\nwhile [ $# -gt 3 ]; do shift; done\ncp \"$1\" \"$3\"\n";
        let umlaut = format!("#!/bin/sh\ntest -s \"$2\" && echo '{report}'\n");
        for (name, script) in [("translate", translate), ("umlaut", &umlaut)] {
            fs::write(folder.join(name), script).unwrap();
            fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Programs { folder: folder.to_owned() }
    }

    #[cfg(unix)]
    #[test]
    fn a_kept_model_must_reach_its_figure_by_its_signature() {
        let folder = tempfile::tempdir().unwrap();
        let texts = Texts { source: folder.path().join("news.en"), reference: folder.path().join("news.de") };
        fs::write(&texts.source, "A.\n").unwrap();
        fs::write(&texts.reference, "B.\n").unwrap();
        let ledger = Ledger::parse(
            "[[row]]\nrecipe = 'r'\nsystem = 's'\ntest_set = 'news'\ncommands = []\nmodel = 'model'\n\
             figures = { chrf = 27.3 }\nsignatures = { chrf = 'nc:6' }\n",
        )
        .unwrap();
        let verdict = |report| {
            let programs = stand_ins(folder.path(), report);
            compare(folder.path(), &programs, &ledger.row[0], &texts).unwrap()
        };
        assert_eq!(verdict(r#"{"scores": [{"score": 27.301, "signature": "nc:6"}]}"#), Verdict::Good);
        assert_eq!(verdict(r#"{"scores": [{"score": 27.31, "signature": "nc:6"}]}"#), Verdict::Faulty);
        assert_eq!(verdict(r#"{"scores": [{"score": 27.3, "signature": "nc:4"}]}"#), Verdict::Faulty);
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
