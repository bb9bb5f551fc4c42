//! `eval/table.toml`: every figure the README prints, with what it takes to reach it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::metric::Metric;
use crate::test_set;

/// Where the ledger lies.
pub const PATH: &str = "eval/table.toml";

/// The ledger.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// What others have published.
    #[serde(default)]
    pub published: Vec<Published>,
    /// What our recipes reach.
    #[serde(default)]
    pub row: Vec<Row>,
    /// Recipes to hold against each other.
    #[serde(default)]
    pub study: Vec<Study>,
    /// Systems that were trained from several seeds.
    #[serde(default)]
    pub seeds: Vec<Seeds>,
}

/// A figure of others.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The system.
    pub system: String,
    /// A name of `eval/testsets.toml`.
    pub test_set: String,
    /// Where the figures were printed.
    pub source: String,
    /// By metric.
    pub figures: BTreeMap<Metric, f64>,
}

/// A recipe on a test set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// A folder of `recipes/`.
    pub recipe: String,
    /// What the recipe builds, in a few words.
    pub system: String,
    /// A name of `eval/testsets.toml`.
    pub test_set: String,
    /// The model directory, from the root, if it is kept in the repository.
    pub model: Option<PathBuf>,
    /// Our translation of the test set, from `eval/`, if it is kept in the repository.
    pub output: Option<PathBuf>,
    /// Options of `translate` that reach the figures.
    #[serde(default)]
    pub translate: Vec<String>,
    /// Parameter updates of the run.
    pub updates: Option<u64>,
    /// Hours of the run, on the machine named by the recipe's README.
    pub hours: Option<f64>,
    /// What to type, from data to figure.
    pub commands: Vec<String>,
    /// By metric; none when the recipe was not run.
    #[serde(default)]
    pub figures: BTreeMap<Metric, f64>,
    /// One for each figure.
    #[serde(default)]
    pub signatures: BTreeMap<Metric, String>,
}

/// Recipes that differ in one thing, held against each other on test sets that have a row for each of them, as they
/// are and with neighbouring lines joined to longer inputs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    /// What is compared, and what it stands for.
    pub title: String,
    /// Folders of `recipes/`.
    pub recipes: Vec<String>,
    /// Names of `eval/testsets.toml`.
    pub test_sets: Vec<String>,
    /// How many neighbouring lines make an input, one number after the other; at least 2 each.
    pub join: Vec<usize>,
}

/// Two systems trained from several seeds, held against each other by what each of them made of a test set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// What is compared, and what it stands for.
    pub title: String,
    /// A name of `eval/testsets.toml`.
    pub test_set: String,
    /// The system.
    pub system: Trained,
    /// What it is compared with, its seeds in the same order.
    pub baseline: Trained,
}

/// A system trained from several seeds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trained {
    /// What it is called, in a few words.
    pub name: String,
    /// Its recipe, from `recipes/`.
    pub recipe: PathBuf,
    /// Our translations of the test set, from `eval/`, one for each seed.
    pub outputs: Vec<PathBuf>,
}

impl Ledger {
    /// Reads the ledger of the checkout at `root`.
    ///
    /// # Errors
    /// When it is missing or not what the types above say.
    pub fn read(root: &Path) -> Result<Self, LedgerError> {
        let path = root.join(PATH);
        let text = fs::read_to_string(&path).map_err(|source| LedgerError::Read { path, source })?;
        Self::parse(&text)
    }

    /// Reads a ledger's text.
    ///
    /// # Errors
    /// Where the text departs from the types above.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        toml::from_str(text).map_err(|source| LedgerError::Format { path: PATH, source: Box::new(source) })
    }

    /// The row of a recipe on a test set.
    #[must_use]
    pub fn find(&self, recipe: &str, test_set: &str) -> Option<&Row> {
        self.row.iter().find(|row| row.recipe == recipe && row.test_set == test_set)
    }

    /// What is wrong with the ledger in itself, given the names of test sets and recipes; one line each.
    #[must_use]
    pub fn faults(&self, test_sets: &[&str], recipes: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        for set in self.published.iter().map(|row| &row.test_set).chain(self.row.iter().map(|row| &row.test_set)) {
            if !test_sets.contains(&set.as_str()) {
                faults.push(format!("test set `{set}` is not in {}", test_set::PATH));
            }
        }
        faults.extend(self.row.iter().flat_map(|row| row.faults(recipes)));
        for (index, row) in self.row.iter().enumerate() {
            if self.row[..index].iter().any(|other| other.name() == row.name()) {
                faults.push(format!("{} stands there twice", row.name()));
            }
        }
        faults.extend(self.study.iter().flat_map(|study| study.faults(self)));
        faults.extend(self.seeds.iter().flat_map(|seeds| seeds.faults(test_sets)));
        let without_row = recipes.iter().filter(|recipe| !self.row.iter().any(|row| row.recipe == **recipe));
        faults.extend(without_row.map(|recipe| format!("recipe `{recipe}` has no row")));
        faults
    }
}

impl Row {
    /// What the row is called: the recipe and the test set.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} on {}", self.recipe, self.test_set)
    }

    fn faults(&self, recipes: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut report = |fault: String| faults.push(format!("{}: {fault}", self.name()));
        if !recipes.contains(&self.recipe.as_str()) {
            report("there is no such recipe".to_owned());
        }
        if self.commands.is_empty() {
            report("no command says how it is reached".to_owned());
        }
        for metric in self.figures.keys() {
            if *metric == Metric::BleuUnstated {
                report("a figure of our own states its metric".to_owned());
            } else if !self.signatures.contains_key(metric) {
                report(format!("{} has no signature", metric.label()));
            }
        }
        for metric in self.signatures.keys().filter(|metric| !self.figures.contains_key(metric)) {
            report(format!("{} has a signature and no figure", metric.label()));
        }
        faults
    }
}

impl Study {
    fn faults(&self, ledger: &Ledger) -> Vec<String> {
        let mut faults = Vec::new();
        let mut report = |fault: String| faults.push(format!("study `{}`: {fault}", self.title));
        if self.recipes.len() < 2 {
            report("it takes two recipes to compare".to_owned());
        }
        if self.join.iter().any(|lines| *lines < 2) {
            report("fewer than 2 lines are not joined".to_owned());
        }
        for set in &self.test_sets {
            for recipe in self.recipes.iter().filter(|recipe| ledger.find(recipe, set).is_none()) {
                report(format!("there is no row {recipe} on {set}"));
            }
        }
        faults
    }
}

impl Seeds {
    fn faults(&self, test_sets: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut report = |fault: String| faults.push(format!("seeds `{}`: {fault}", self.title));
        if !test_sets.contains(&self.test_set.as_str()) {
            report(format!("test set `{}` is not in {}", self.test_set, test_set::PATH));
        }
        let [system, baseline] = [&self.system, &self.baseline].map(|trained| trained.outputs.len());
        if system != baseline || system < 2 {
            report(format!("seeds are compared in pairs, two at least: {system} against {baseline}"));
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = r#"
        [[row]]
        recipe = "small"
        system = "RoPE"
        test_set = "news"
        commands = ["umlaut train recipes/small"]
    "#;

    fn faults(figures: &str) -> Vec<String> {
        Ledger::parse(&format!("{ROW}{figures}")).unwrap().faults(&["news"], &["small"])
    }

    #[test]
    fn a_row_that_was_not_run_is_in_order() {
        assert!(faults("").is_empty());
    }

    #[test]
    fn a_row_says_how_it_is_reached() {
        let ledger =
            Ledger::parse("[[row]]\nrecipe = 'small'\nsystem = 'RoPE'\ntest_set = 'news'\ncommands = []").unwrap();
        assert_eq!(ledger.faults(&["news"], &["small"]), ["small on news: no command says how it is reached"]);
    }

    #[test]
    fn a_figure_needs_its_signature() {
        assert!(faults("figures = { bleu-13a = 20.0 }\nsignatures = { bleu-13a = 'BLEU|tok:13a' }").is_empty());
        assert_eq!(faults("figures = { bleu-13a = 20.0 }"), ["small on news: BLEU 13a has no signature"]);
        assert_eq!(faults("signatures = { chrf = 'chrF2' }"), ["small on news: chrF has a signature and no figure"]);
    }

    #[test]
    fn our_own_figures_state_their_metric() {
        assert_eq!(faults("figures = { bleu-unstated = 20.0 }").len(), 1);
    }

    #[test]
    fn rows_and_recipes_answer_each_other() {
        let ledger = Ledger::parse(ROW).unwrap();
        assert_eq!(ledger.faults(&["news"], &["small", "large"]), ["recipe `large` has no row"]);
        assert_eq!(ledger.faults(&["news"], &[]), ["small on news: there is no such recipe"]);
        assert_eq!(ledger.faults(&[], &["small"]), ["test set `news` is not in eval/testsets.toml"]);
    }

    #[test]
    fn an_unknown_field_is_refused_by_name() {
        let error = Ledger::parse("[[row]]\nblue = 1").unwrap_err();
        assert_eq!(error.to_string(), PATH);
        let reason = std::error::Error::source(&error).unwrap().to_string();
        assert!(reason.contains("blue"), "{reason}");
    }

    #[test]
    fn a_recipe_has_one_row_for_a_test_set() {
        let ledger = Ledger::parse(&ROW.repeat(2)).unwrap();
        assert_eq!(ledger.faults(&["news"], &["small"]), ["small on news stands there twice"]);
    }

    #[test]
    fn a_study_holds_rows_against_each_other_that_there_are() {
        let study = |recipes: &str, join: &str| {
            let study = format!("[[study]]\ntitle = 'S'\nrecipes = {recipes}\ntest_sets = ['news']\njoin = {join}");
            Ledger::parse(&format!("{ROW}{study}")).unwrap().faults(&["news"], &["small"])
        };
        assert!(study("['small', 'small']", "[2, 3]").is_empty());
        assert_eq!(study("['small', 'large']", "[2]"), ["study `S`: there is no row large on news"]);
        assert_eq!(study("['small', 'small']", "[1]"), ["study `S`: fewer than 2 lines are not joined"]);
        assert_eq!(study("['small']", "[2]"), ["study `S`: it takes two recipes to compare"]);
    }

    #[test]
    fn seeds_come_in_pairs_on_a_test_set_that_there_is() {
        let seeds = |test_set: &str, outputs: &str| {
            let trained =
                |outputs: &str| format!("{{ name = 'N', recipe = 'small/quarter.toml', outputs = {outputs} }}");
            let (system, baseline) = (trained("['a', 'b']"), trained(outputs));
            let seeds = "[[seeds]]\ntitle = 'S'";
            let seeds = format!("{seeds}\ntest_set = '{test_set}'\nsystem = {system}\nbaseline = {baseline}");
            Ledger::parse(&format!("{ROW}{seeds}")).unwrap().faults(&["news"], &["small"])
        };
        assert!(seeds("news", "['c', 'd']").is_empty());
        assert_eq!(seeds("news", "['c']"), ["seeds `S`: seeds are compared in pairs, two at least: 2 against 1"]);
        assert_eq!(seeds("talks", "['c', 'd']"), ["seeds `S`: test set `talks` is not in eval/testsets.toml"]);
    }
}
