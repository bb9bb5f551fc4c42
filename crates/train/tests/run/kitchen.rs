//! A fresh folder with all that a run needs.

use std::fs;
use std::path::PathBuf;

use burn_flex::FlexDevice;
use umlaut_model::ops::CpuAutodiff;
use umlaut_text::vocab::VocabRecipe;
use umlaut_train::group::Members;
use umlaut_train::trainer::{Changes, Folders};
use umlaut_train::{Outcome, Recipe, TrainError, Trainer};

pub(crate) type B = CpuAutodiff;

const WORDS: [&str; 8] = ["one", "two", "three", "four", "five", "six", "seven", "eight"];
const WORTE: [&str; 8] = ["eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht"];

/// A folder with data, vocabulary and recipe.
pub(crate) struct Kitchen {
    pub(crate) dir: tempfile::TempDir,
}

impl Kitchen {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let line = |words: &[&str], n: usize| {
            (0..=n % 5).map(|i| words[(n * 7 + i * 3) % 8]).collect::<Vec<_>>().join(" ") + "\n"
        };
        for (name, words) in [("train.en", WORDS), ("train.de", WORTE)] {
            fs::write(dir.path().join(name), (0..200).map(|n| line(&words, n)).collect::<String>()).unwrap();
        }
        for (name, words) in [("valid.en", WORDS), ("valid.de", WORTE)] {
            fs::write(dir.path().join(name), (300..310).map(|n| line(&words, n)).collect::<String>()).unwrap();
        }
        let vocab = VocabRecipe { size: 320, ..VocabRecipe::default() };
        let files = [dir.path().join("train.en"), dir.path().join("train.de")];
        fs::write(dir.path().join("v.model"), vocab.train(&files).unwrap()).unwrap();
        Self { dir }
    }

    pub(crate) fn folders(&self, run: &str) -> Folders {
        let here = self.dir.path().to_owned();
        Folders { recipe: here.clone(), data: here.clone(), run: here.join(run) }
    }

    pub(crate) fn recipe(&self) -> Recipe {
        let text = r#"
            seed = 4
            label_smoothing = 0.1
            bpe_dropout = 0.1
            model = { vocab = 320, d_model = 16, n_heads = 2, d_ff = 32, encoder_layers = 1, decoder_layers = 1,
                      norm = "pre", positions = "rope", embeddings = "shared", dropout = 0.2, attention_dropout = 0.1 }
            batch = { max_tokens = 200, accumulate = 2 }
            optimizer = { beta_1 = 0.9, beta_2 = 0.98, epsilon = 1e-8, clip_norm = 1.0 }
            schedule = { peak = 0.01, warmup_steps = 10 }
            run = { max_updates = 20, validate_every = 10, checkpoint_every = 4, keep_last = 3, log_every = 1 }
            [data]
            vocab = "v.model"
            validation = { src = "valid.en", tgt = "valid.de" }
            [[data.stages]]
            from_update = 0
            files = [{ src = "train.en", tgt = "train.de" }]
            [[data.stages]]
            from_update = 15
            files = [{ src = "train.en", tgt = "train.de" }, { src = "valid.en", tgt = "valid.de" }]
        "#;
        fs::write(self.dir.path().join("recipe.toml"), text).unwrap();
        Recipe::open(self.dir.path()).unwrap()
    }

    pub(crate) fn new_run(&self, recipe: Recipe, run: &str) -> Result<Outcome, TrainError> {
        Trainer::<B>::new(recipe, &self.folders(run), Members::solo(), &FlexDevice)?.run(|_| ())
    }

    pub(crate) fn resume(&self, recipe: Recipe, run: &str, changes: Changes) -> Result<Outcome, TrainError> {
        Trainer::<B>::resume(recipe, &self.folders(run), changes, Members::solo(), &FlexDevice)?.run(|_| ())
    }

    pub(crate) fn run(&self, run: &str) -> PathBuf {
        self.dir.path().join(run)
    }
}
