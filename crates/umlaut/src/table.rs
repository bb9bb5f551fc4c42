//! The ledger's figures, reached again: every row of `eval/table.toml` whose model or output is kept is translated and
//! scored on its test set, and set beside what others published.
//!
//! [`build`] finds the figures, [`Outputs::write`] writes them: Markdown, JSON, a page with plots, and the translations.

mod block;
mod content;
mod decode;
mod length;
mod markdown;
mod outcome;
mod page;
mod plot;
mod report;
mod score;
mod seeds;
mod set;
mod study;
mod text;

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use umlaut_ledger::{Ledger, Metric, PATH, Row, TestSet, TestSets};
use umlaut_metrics::Resampling;
use umlaut_model::directory::{write_whole, write_whole_folder};

pub(crate) use score::Judge;

use outcome::Outcome;
use report::{Draws, SetTable, Table};

/// Where things lie, and how they are done.
#[derive(Debug)]
pub(crate) struct Workplace {
    /// The checkout: `eval/`, `recipes/` and the models that rows name.
    pub(crate) root: PathBuf,
    /// The test sets.
    pub(crate) data: Option<PathBuf>,
    /// Threads that translate; one for each processor if not said. They change no figure.
    pub(crate) threads: Option<NonZero<usize>>,
    pub(crate) judge: Judge,
}

/// A translation on its way into a file.
#[derive(Debug)]
struct OutputFile {
    name: String,
    lines: Vec<String>,
}

/// The table and the translations behind it.
#[derive(Debug)]
pub(crate) struct Outputs {
    table: Table,
    translations: Vec<OutputFile>,
}

/// Translates and scores the rows that `chosen` names, or all: by their recipe, their test set, or `RECIPE@TEST_SET`.
///
/// # Errors
/// If the ledger cannot be read or has faults, no row has such a name, a test set is another text than the listed one,
/// or a model fails.
pub(crate) fn build(workplace: &Workplace, chosen: &[String]) -> Result<Outputs> {
    let (ledger, test_sets) = (Ledger::read(&workplace.root)?, TestSets::read(&workplace.root)?);
    let recipes: Vec<&str> = ledger.row.iter().map(|row| row.recipe.as_str()).collect();
    let faults = ledger.faults(&test_sets.names(), &recipes);
    ensure!(faults.is_empty(), "{PATH}: {}", faults.join("; "));
    let rows = choose(&ledger, chosen)?;
    let sets = sets(&ledger, &test_sets, &rows, chosen);
    // A text that is not the listed one stops everything before the first translation.
    let texts = sets.iter().map(|set| text::find(set, workplace.data.as_deref())).collect::<Result<Vec<_>>>()?;
    let mut outputs = Outputs { table: empty(workplace.judge), translations: Vec::new() };
    for (set, found) in sets.iter().zip(&texts) {
        let rows = rows.iter().filter(|row| row.test_set == set.name);
        let outcomes = rows.map(|row| Outcome::of(workplace, set, row, found)).collect::<Result<Vec<_>>>()?;
        for study in ledger.study.iter().filter(|study| study.test_sets.contains(&set.name)) {
            let of_recipe = |recipe: &String| outcomes.iter().find(|outcome| outcome.row.recipe == *recipe);
            let Some(parties) = study.recipes.iter().map(of_recipe).collect::<Option<Vec<_>>>() else { continue };
            let (table, files) = study::table(workplace, study, lead(set)?, found.texts(), &parties)?;
            outputs.table.studies.push(table);
            outputs.translations.extend(files);
        }
        for seeds in ledger.seeds.iter().filter(|seeds| seeds.test_set == set.name) {
            outputs.table.seeds.push(seeds::table(workplace, seeds, lead(set)?, found)?);
        }
        outputs.take(set::table(workplace, &ledger, set, found, &outcomes)?, outcomes);
    }
    Ok(outputs)
}

/// The rows that are asked for.
fn choose<'a>(ledger: &'a Ledger, chosen: &[String]) -> Result<Vec<&'a Row>> {
    let is_called = |row: &Row, name: &str| {
        name == row.recipe || name == row.test_set || name == format!("{}@{}", row.recipe, row.test_set)
    };
    if let Some(name) = chosen.iter().find(|name| !ledger.row.iter().any(|row| is_called(row, name))) {
        bail!("no row of {PATH} is called {name}: name a recipe, a test set, or RECIPE@TEST_SET");
    }
    let is_chosen = |row: &&Row| chosen.is_empty() || chosen.iter().any(|name| is_called(row, name));
    Ok(ledger.row.iter().filter(is_chosen).collect())
}

/// The test sets of the rows, and if all are asked for those that have only published figures.
fn sets<'a>(ledger: &Ledger, test_sets: &'a TestSets, rows: &[&Row], chosen: &[String]) -> Vec<&'a TestSet> {
    let mut names: Vec<&str> = rows.iter().map(|row| row.test_set.as_str()).collect();
    if chosen.is_empty() {
        names.extend(ledger.published.iter().map(|row| row.test_set.as_str()));
    }
    test_sets.set.iter().filter(|set| names.contains(&set.name.as_str())).collect()
}

fn empty(judge: Judge) -> Table {
    let draws =
        |method, resampling: Resampling| Draws { method, samples: resampling.samples.get(), seed: resampling.seed };
    Table {
        version: concat!("umlaut ", env!("CARGO_PKG_VERSION")),
        intervals: draws("bs", judge.interval),
        tests: draws(judge.test.name(), judge.trials),
        test_sets: Vec::new(),
        studies: Vec::new(),
        seeds: Vec::new(),
    }
}

/// The metric that stands for a test set where there is room for one.
fn lead(set: &TestSet) -> Result<Metric> {
    set.metrics.first().copied().with_context(|| format!("test set {} has no metric", set.name))
}

impl Outputs {
    fn take(&mut self, mut table: SetTable, outcomes: Vec<Outcome<'_>>) {
        for outcome in outcomes {
            if let Some(output) = &outcome.table.output {
                self.translations.push(OutputFile { name: output.file.clone(), lines: outcome.output });
            }
            table.rows.push(outcome.table);
        }
        self.table.test_sets.push(table);
    }

    /// The table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        markdown::render(&content::blocks(&self.table))
    }

    /// Where figures are not what the ledger lists, with the row's name.
    pub(crate) fn differences(&self) -> Vec<String> {
        let rows = self.table.test_sets.iter().flat_map(|set| set.rows.iter().map(move |row| (set, row)));
        rows.flat_map(|(set, row)| {
            row.differences.iter().map(move |difference| format!("{} on {}: {difference}", row.recipe, set.name))
        })
        .collect()
    }

    /// Writes `table.md`, `table.json`, `table.html` and the translations into `folder`, whole or not at all.
    ///
    /// # Errors
    /// If a file cannot be written; the folder is not there then.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let blocks = content::blocks(&self.table);
        let json = serde_json::to_string_pretty(&self.table)? + "\n";
        let files = [
            ("table.md".to_owned(), markdown::render(&blocks)),
            ("table.json".to_owned(), json),
            ("table.html".to_owned(), page::render(&blocks)),
        ];
        let translations = self.translations.iter().map(|OutputFile { name, lines }| {
            (name.clone(), lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect::<String>())
        });
        let files: Vec<(String, String)> = files.into_iter().chain(translations).collect();
        write_whole_folder(folder, |part| -> Result<()> {
            files.iter().try_for_each(|(name, text)| Ok(write_whole(&part.join(name), text.as_bytes())?))
        })
    }
}
