//! A recipe: everything that can move a figure, in one file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use umlaut_model::TransformerConfig;
use umlaut_model::ops::Criterion;
use umlaut_text::corpus::{Augment, BitextFiles, PairFilter};

use crate::TrainError;
use crate::exchange::Checksum;
use crate::optimizer::AdamConfig;
use crate::schedule::Schedule;

/// The name of a recipe in its folder.
pub const FILE: &str = "recipe.toml";

/// A recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The one seed: parameters, order of the data and dropout follow from it.
    pub seed: u64,
    /// A model directory whose weights the run begins with, instead of fresh ones: its path from the recipe's folder. It
    /// has the recipe's vocabulary and shape; dropout and precision may differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init: Option<PathBuf>,
    /// The model.
    pub model: TransformerConfig,
    /// What it is trained on.
    pub data: Data,
    /// How much goes into one update.
    pub batch: BatchSize,
    /// The optimizer.
    pub optimizer: AdamConfig,
    /// The learning rate.
    pub schedule: Schedule,
    /// The share ε of label smoothing, spread over all classes (see `umlaut_kernels::training::cross_entropy`).
    pub label_smoothing: f32,
    /// The weight α of R-Drop (arXiv 2106.14448): each batch is seen twice with different dropout, and both must agree.
    /// 0 for none; else an update costs about twice as much.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub r_drop: f32,
    /// Probability that BPE-dropout leaves out a merge (arXiv 1910.13267); 0 for none.
    #[serde(default)]
    pub bpe_dropout: f64,
    /// When to look at the model and when to stop.
    pub run: Run,
}

/// Training and validation data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Data {
    /// The vocabulary, relative to the recipe's folder or, where there is no such file, to the data folder.
    pub vocab: PathBuf,
    /// Training data, one stage after the other.
    pub stages: Vec<Stage>,
    /// What pairs must satisfy.
    #[serde(default)]
    pub filter: PairFilter,
    /// The validation set, relative to the data folder.
    pub validation: BitextFiles,
    /// Pairs of the validation set that are looked at; 0 for all.
    #[serde(default)]
    pub validation_pairs: usize,
}

/// Data that training sees from some update on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stage {
    /// The first update made on it; 0 for the first stage.
    pub from_update: u64,
    /// Its files, relative to the data folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<BitextFiles>,
    /// Instead of files: a folder of shards that `umlaut prepare` made, relative to the data folder. Pairs are then read
    /// from disk when a batch needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<PathBuf>,
    /// Names of the corpora to keep, from the files' names; all when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub corpora: Option<BTreeSet<String>>,
    /// Shares of its pairs that are seen once more in another shape.
    #[serde(default, skip_serializing_if = "is_none")]
    pub augment: Augment,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
fn is_zero(weight: &f32) -> bool {
    *weight == 0.0
}

fn is_none(augment: &Augment) -> bool {
    *augment == Augment::default()
}

/// How much goes into one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BatchSize {
    /// Rows times longest side, padding included.
    pub max_tokens: usize,
    /// Batches whose gradients are summed before each update.
    pub accumulate: usize,
}

/// When to look at the model and when to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The last update.
    pub max_updates: u64,
    /// Updates between validations.
    pub validate_every: u64,
    /// Updates between checkpoints.
    pub checkpoint_every: u64,
    /// Newest checkpoints that are kept, beside the best.
    pub keep_last: usize,
    /// Validations without a better loss before the run stops; 0 for never.
    #[serde(default)]
    pub patience: u32,
    /// Updates between lines of the log.
    #[serde(default = "log_every")]
    pub log_every: u64,
}

fn log_every() -> u64 {
    20
}

impl Stage {
    fn check(&self) -> Result<(), String> {
        match (&self.shards, self.files.is_empty()) {
            (Some(_), false) => Err("a stage of data.stages names files or shards, not both".into()),
            (None, true) => Err("a stage of data.stages names neither files nor shards".into()),
            (Some(_), true) if self.corpora.is_some() => {
                Err("shards hold no names of corpora: data.stages.corpora goes with files".into())
            }
            (Some(_), true) if !is_none(&self.augment) => {
                Err("shards hold no text to reshape: data.stages.augment goes with files".into())
            }
            _ if !self.augment.is_valid() => Err("the shares of data.stages.augment lie in [0, 1]".into()),
            _ => Ok(()),
        }
    }
}

impl Recipe {
    /// Reads `recipe.toml` of a folder, or the file itself.
    ///
    /// # Errors
    /// [`TrainError::Recipe`] names the file, the field and what is wrong.
    pub fn open(path: &Path) -> Result<Self, TrainError> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let text = fs::read_to_string(&file).map_err(|source| TrainError::Io { path: file.clone(), source })?;
        Self::parse(&text).map_err(|reason| TrainError::Recipe { path: file, reason })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let recipe: Self = toml::from_str(text.trim_start_matches('\u{feff}')).map_err(|error| error.to_string())?;
        recipe.check()?;
        Ok(recipe)
    }

    /// The recipe as TOML.
    ///
    /// # Panics
    /// Never: every recipe is TOML.
    #[must_use]
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a recipe is TOML")
    }

    /// A checksum by which different recipes are noticed.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        self.to_toml().bytes().for_each(|byte| sum.add(byte.into()));
        sum.0
    }

    fn check(&self) -> Result<(), String> {
        self.model.validate().map_err(|error| error.to_string())?;
        self.schedule.check()?;
        let positive = [
            ("batch.max_tokens", self.batch.max_tokens as u64),
            ("batch.accumulate", self.batch.accumulate as u64),
            ("run.max_updates", self.run.max_updates),
            ("run.validate_every", self.run.validate_every),
            ("run.checkpoint_every", self.run.checkpoint_every),
            ("run.keep_last", self.run.keep_last as u64),
            ("run.log_every", self.run.log_every),
            ("data.stages", self.data.stages.len() as u64),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} must be at least 1"));
        }
        if !(0.0..1.0).contains(&self.label_smoothing) || !(0.0..1.0).contains(&self.bpe_dropout) {
            return Err("label_smoothing and bpe_dropout lie in [0, 1)".into());
        }
        if !(self.r_drop.is_finite() && self.r_drop >= 0.0) {
            return Err("r_drop must be finite and not negative".into());
        }
        let mut starts = self.data.stages.iter().map(|stage| stage.from_update);
        if starts.next() != Some(0) || !self.data.stages.is_sorted_by(|a, b| a.from_update < b.from_update) {
            return Err("data.stages begin at update 0 and follow each other".into());
        }
        self.data.stages.iter().try_for_each(Stage::check)
    }

    /// The loss that is trained on.
    #[must_use]
    pub fn criterion(&self) -> Criterion {
        Criterion { smoothing: self.label_smoothing, r_drop: self.r_drop }
    }

    /// The stage whose data makes `update`.
    #[must_use]
    pub fn stage_at(&self, update: u64) -> usize {
        self.data.stages.iter().rposition(|stage| stage.from_update <= update).unwrap_or(0)
    }

    /// Fields in which two recipes differ, by dotted name, those of `run` apart: cadence and length may change when a
    /// run is resumed, the rest would make it another run.
    ///
    /// # Panics
    /// Never: every recipe is TOML.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        fn walk(path: &str, a: &toml::Value, b: &toml::Value, found: &mut Vec<String>) {
            if let (toml::Value::Table(a), toml::Value::Table(b)) = (a, b) {
                let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
                let absent = toml::Value::String("absent".into());
                for key in keys {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    walk(&path, a.get(key).unwrap_or(&absent), b.get(key).unwrap_or(&absent), found);
                }
            } else if a != b {
                found.push(format!("{path} ({a} now, {b} in the run)"));
            }
        }
        let value = |recipe: &Self| toml::Value::try_from(recipe).expect("a recipe is TOML");
        let mut found = Vec::new();
        walk("", &value(self), &value(other), &mut found);
        found.retain(|field| !field.starts_with("run."));
        found
    }
}
