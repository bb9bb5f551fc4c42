//! `eval/table.toml`: every figure the README prints, with what it takes to reach it again.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// Where the ledger lies.
pub(crate) const PATH: &str = "eval/table.toml";

/// The ledger.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ledger {
    /// What others have published.
    #[serde(default)]
    pub(crate) published: Vec<Published>,
    /// What our recipes reach.
    #[serde(default)]
    pub(crate) row: Vec<Row>,
}

/// A figure of others.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Published {
    /// The system.
    pub(crate) system: String,
    /// A name of `eval/testsets.toml`.
    pub(crate) test_set: String,
    /// Where the figures were printed.
    pub(crate) source: String,
    /// By metric.
    pub(crate) figures: BTreeMap<Metric, f64>,
}

/// A recipe on a test set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// A folder of `recipes/`.
    pub(crate) recipe: String,
    /// What the recipe builds, in a few words.
    pub(crate) system: String,
    /// A name of `eval/testsets.toml`.
    pub(crate) test_set: String,
    /// The model directory, from the root, if it is kept in the repository.
    pub(crate) model: Option<PathBuf>,
    /// Our translation of the test set, from `eval/`, if it is kept in the repository.
    pub(crate) output: Option<PathBuf>,
    /// Options of `translate` that reach the figures.
    #[serde(default)]
    pub(crate) translate: Vec<String>,
    /// Parameter updates of the run.
    pub(crate) updates: Option<u64>,
    /// Hours of the run, on the machine named by the recipe's README.
    pub(crate) hours: Option<f64>,
    /// What to type, from data to figure.
    pub(crate) commands: Vec<String>,
    /// By metric; none when the recipe was not run.
    #[serde(default)]
    pub(crate) figures: BTreeMap<Metric, f64>,
    /// One for each figure.
    #[serde(default)]
    pub(crate) signatures: BTreeMap<Metric, String>,
}

/// A metric, to the last detail that moves its figure.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Metric {
    /// BLEU on text tokenised by sacreBLEU's `13a`.
    #[serde(rename = "bleu-13a")]
    Bleu13a,
    /// BLEU on text tokenised by sacreBLEU's `intl`.
    BleuIntl,
    /// BLEU on tokenised text with hyphenated compounds split.
    BleuSplit,
    /// BLEU on the tokens as they stand.
    BleuNone,
    /// BLEU of a variant that its source does not state.
    BleuUnstated,
    /// chrF.
    Chrf,
    /// Translation edit rate.
    Ter,
}

impl Metric {
    /// The head of its column.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Bleu13a => "BLEU 13a",
            Self::BleuIntl => "BLEU intl",
            Self::BleuSplit => "BLEU tokenised, compounds split",
            Self::BleuNone => "BLEU on given tokens",
            Self::BleuUnstated => "BLEU, variant not stated",
            Self::Chrf => "chrF",
            Self::Ter => "TER",
        }
    }

    /// The options that make `umlaut score` compute it; `None` when nobody can.
    pub(crate) fn score_options(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Bleu13a => Some(&["--metrics", "bleu", "--tokenize", "13a"]),
            Self::BleuIntl => Some(&["--metrics", "bleu", "--tokenize", "intl"]),
            Self::BleuSplit => Some(&["--metrics", "bleu", "--tokenize", "13a", "--compound-split"]),
            Self::BleuNone => Some(&["--metrics", "bleu", "--tokenize", "none"]),
            Self::BleuUnstated => None,
            Self::Chrf => Some(&["--metrics", "chrf"]),
            Self::Ter => Some(&["--metrics", "ter"]),
        }
    }
}

impl Ledger {
    /// Reads the ledger of the checkout at `root`.
    ///
    /// # Errors
    /// When it is missing or not what the types above say.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
        Self::parse(&text).context(PATH)
    }

    /// Reads a ledger's text.
    ///
    /// # Errors
    /// Where the text departs from the types above.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// What is wrong with the ledger in itself, given the names of test sets and recipes; one line each.
    pub(crate) fn faults(&self, test_sets: &[&str], recipes: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        for set in self.published.iter().map(|row| &row.test_set).chain(self.row.iter().map(|row| &row.test_set)) {
            if !test_sets.contains(&set.as_str()) {
                faults.push(format!("test set `{set}` is not in {}", crate::test_set::PATH));
            }
        }
        faults.extend(self.row.iter().flat_map(|row| row.faults(recipes)));
        let without_row = recipes.iter().filter(|recipe| !self.row.iter().any(|row| row.recipe == **recipe));
        faults.extend(without_row.map(|recipe| format!("recipe `{recipe}` has no row")));
        faults
    }
}

impl Row {
    fn faults(&self, recipes: &[&str]) -> Vec<String> {
        let mut faults = Vec::new();
        let mut report = |fault: String| faults.push(format!("{} on {}: {fault}", self.recipe, self.test_set));
        if !recipes.contains(&self.recipe.as_str()) {
            report("there is no such recipe".to_owned());
        }
        if self.commands.is_empty() {
            report("no command says how it is reached".to_owned());
        }
        for metric in self.figures.keys() {
            if metric.score_options().is_none() {
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
        assert!(format!("{error:#}").contains("blue"), "{error:#}");
    }
}
