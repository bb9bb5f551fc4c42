//! What `umlaut table` found, as it stands in `table.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use umlaut_ledger::{Metric, Published, Side};
use umlaut_metrics::{Comparison, SeedComparison};

/// All of it.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// The program that made it.
    pub(crate) version: &'static str,
    /// How intervals were drawn: half the width of the central 95 % of bootstrap samples.
    pub(crate) intervals: Draws,
    /// How rows were compared.
    pub(crate) tests: Draws,
    /// In the order of `eval/testsets.toml`.
    pub(crate) test_sets: Vec<SetTable>,
    /// In the order of `eval/table.toml`.
    pub(crate) studies: Vec<StudyTable>,
    /// In the order of `eval/table.toml`.
    pub(crate) seeds: Vec<SeedsTable>,
}

/// A resampling by name.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Draws {
    /// `bs` or `ar`, as in signatures.
    pub(crate) method: &'static str,
    pub(crate) samples: usize,
    pub(crate) seed: u64,
}

/// The rows of one test set.
#[derive(Debug, Serialize)]
pub(crate) struct SetTable {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) lines: u64,
    /// With the checksums of `eval/testsets.toml`; where rows were scored, the text had them.
    pub(crate) source: Side,
    pub(crate) reference: Side,
    /// Which file is not at hand, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<String>,
    /// The metrics that rows of ours have.
    pub(crate) metrics: Vec<Metric>,
    pub(crate) published: Vec<Published>,
    pub(crate) rows: Vec<RowTable>,
    /// Every two rows that were scored, under every metric.
    pub(crate) pairs: Vec<Pair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) by_length: Option<ByLength>,
}

/// A row of the ledger.
#[derive(Debug, Serialize)]
pub(crate) struct RowTable {
    pub(crate) recipe: String,
    pub(crate) system: String,
    #[serde(flatten)]
    pub(crate) state: State,
    /// By metric: those reached now, or else those of the ledger.
    pub(crate) figures: BTreeMap<Metric, Figure>,
    /// Where they are not what the ledger lists.
    pub(crate) differences: Vec<String>,
    /// Options of `translate`.
    pub(crate) translate: Vec<String>,
    /// What to type, from data to figure.
    pub(crate) commands: Vec<String>,
    pub(crate) updates: Option<u64>,
    pub(crate) hours: Option<f64>,
    /// Of `recipes/RECIPE/recipe.toml`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recipe_sha256: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelSum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<OutputSum>,
}

/// How far a row came.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub(crate) enum State {
    /// Its figures were reached now.
    Scored,
    /// Nobody has run the recipe.
    NotRun,
    /// Its figures are the ledger's, if it has any; this is missing.
    Missing(String),
}

/// A figure of ours.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    /// In percent.
    pub(crate) score: f64,
    /// Half the width of the 95 % interval; the ledger has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) half_width: Option<f64>,
    pub(crate) signature: String,
    /// BLEU's precisions, brevity penalty and lengths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<String>,
}

/// The checksum of a model directory: of the list that `sha256sum *` writes in it.
#[derive(Debug, Serialize)]
pub(crate) struct ModelSum {
    pub(crate) directory: PathBuf,
    pub(crate) sha256: String,
    /// The files of the list.
    pub(crate) files: BTreeMap<String, String>,
}

/// A translation, kept beside the table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct OutputSum {
    pub(crate) file: String,
    pub(crate) sha256: String,
}

/// Two rows held against each other under one metric.
#[derive(Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) recipe: String,
    /// The recipe that it is compared with.
    pub(crate) against: String,
    pub(crate) metric: Metric,
    /// The baseline's score, the difference to it, and how often chance makes a larger one.
    #[serde(flatten)]
    pub(crate) comparison: Comparison,
    pub(crate) signature: String,
}

/// Scores of lines by the number of words of their source.
#[derive(Debug, Serialize)]
pub(crate) struct ByLength {
    pub(crate) metric: Metric,
    pub(crate) buckets: Vec<Bucket>,
}

/// Lines of similar length.
#[derive(Debug, Serialize)]
pub(crate) struct Bucket {
    /// Words of the source, `11–15`.
    pub(crate) words: String,
    pub(crate) lines: usize,
    /// By recipe.
    pub(crate) figures: BTreeMap<String, Figure>,
}

/// A study on one test set.
#[derive(Debug, Serialize)]
pub(crate) struct StudyTable {
    pub(crate) title: String,
    pub(crate) test_set: String,
    pub(crate) metric: Metric,
    pub(crate) parties: Vec<StudyParty>,
    /// Single lines first.
    pub(crate) steps: Vec<StudyStep>,
}

/// A recipe of a study, and how far its row came.
#[derive(Debug, Serialize)]
pub(crate) struct StudyParty {
    pub(crate) recipe: String,
    pub(crate) system: String,
    #[serde(flatten)]
    pub(crate) state: State,
}

/// Neighbouring lines made one input.
#[derive(Debug, Serialize)]
pub(crate) struct StudyStep {
    /// How many.
    pub(crate) joined: usize,
    pub(crate) inputs: usize,
    /// Mean number of words of a source.
    pub(crate) mean_words: f64,
    pub(crate) source_sha256: String,
    pub(crate) reference_sha256: String,
    /// By recipe.
    pub(crate) figures: BTreeMap<String, Figure>,
    /// By recipe.
    pub(crate) outputs: BTreeMap<String, OutputSum>,
    pub(crate) pairs: Vec<Pair>,
}

/// Two systems trained from several seeds, on one test set.
#[derive(Debug, Serialize)]
pub(crate) struct SeedsTable {
    pub(crate) title: String,
    pub(crate) test_set: String,
    pub(crate) metric: Metric,
    pub(crate) system: TrainedTable,
    pub(crate) baseline: TrainedTable,
    /// Which file is not at hand, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missing: Option<String>,
    /// All lines first, then by the number of words of their source.
    pub(crate) steps: Vec<SeedsStep>,
}

/// A system trained from several seeds.
#[derive(Debug, Serialize)]
pub(crate) struct TrainedTable {
    pub(crate) name: String,
    pub(crate) recipe: PathBuf,
    pub(crate) recipe_sha256: String,
    /// One for each seed.
    pub(crate) outputs: Vec<OutputSum>,
}

/// Lines of similar length, or all.
#[derive(Debug, Serialize)]
pub(crate) struct SeedsStep {
    /// Words of the source, `11–15`, or `all`.
    pub(crate) words: String,
    pub(crate) lines: usize,
    #[serde(flatten)]
    pub(crate) comparison: SeedComparison,
}
