//! How this and other toolkits store one and the same model: the names, the shapes and the order of its arrays.
//!
//! What a format says that a model directory cannot, or leaves unsaid, is refused with the reason and never guessed.

pub(crate) mod ctranslate2;
pub(crate) mod fairseq;
mod inventory;
mod rotary;
mod vocabulary;

use std::path::Path;

use anyhow::{Context, Result, ensure};
use umlaut_model::config::FORMAT;
use umlaut_model::directory::{self, CONFIG, Storage, WEIGHTS};
use umlaut_model::parameters::Arrays;
use umlaut_model::{Embeddings, NormPlacement, Positions, Precision, RopeLayout, TransformerConfig};
use umlaut_text::Vocab;

/// Name of the vocabulary in a model directory, and beside an exported model.
pub(crate) const VOCAB: &str = "vocab.model";

/// A model on its way from one format to another: its arrays in f32, under the names of a model directory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Model {
    /// Its shape.
    pub(crate) config: TransformerConfig,
    /// Its weights, exactly those that `config` asks for.
    pub(crate) arrays: Arrays,
}

impl Model {
    /// Takes a configuration and arrays that belong together.
    ///
    /// # Errors
    /// Names what the configuration lacks, or the array that is missing, misshapen, superfluous or no number.
    pub(crate) fn new(config: TransformerConfig, arrays: Arrays) -> Result<Self> {
        config.validate()?;
        for (name, number) in [("rope_theta", config.rope_theta), ("norm_epsilon", config.norm_epsilon)] {
            ensure!(number.is_finite() && number > 0.0, "{name} is {number}, it must be above 0");
        }
        inventory::check(&config, &arrays)?;
        Ok(Self { config, arrays })
    }

    /// Opens a model directory, whatever its weights are stored as.
    ///
    /// # Errors
    /// If a file cannot be read, or as [`new`](Self::new).
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let (config, arrays) = (directory::read_config(dir)?, directory::read_arrays(&dir.join(WEIGHTS))?);
        Self::new(config, arrays).with_context(|| dir.display().to_string())
    }

    /// Writes a model directory of f32 weights.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(crate) fn write(&self, vocab: &Vocab, dir: &Path) -> Result<()> {
        directory::write_config(&self.config, dir)?;
        directory::write_arrays(&self.arrays, &dir.join(WEIGHTS), Storage::F32)?;
        Ok(directory::write_whole(&dir.join(VOCAB), vocab.as_bytes())?)
    }

    /// The same model with its rotations laid out as `layout`.
    pub(crate) fn with_rope_layout(mut self, layout: RopeLayout) -> Self {
        rotary::lay_out(&mut self, layout);
        self
    }

    /// Refuses a vocabulary that is not this model's.
    ///
    /// # Errors
    /// Names both sizes, or the special piece with both ids.
    pub(crate) fn check_vocab(&self, vocab: &Vocab, dir: &Path) -> Result<()> {
        let config = &self.config;
        vocab.check_len(config.vocab, dir.join(CONFIG))?;
        let ids = [
            ("unk_id", config.unk_id, vocab.unk()),
            ("bos_id", config.bos_id, vocab.bos()),
            ("eos_id", config.eos_id, vocab.eos()),
            ("pad_id", config.pad_id, vocab.pad()),
        ];
        for (name, id, piece) in ids {
            ensure!(id == piece.0, "{name} is {id} in {CONFIG} and {} in {VOCAB}", piece.0);
        }
        Ok(())
    }
}

/// A configuration that says only what a vocabulary decides.
fn base_config(vocab: &Vocab) -> TransformerConfig {
    TransformerConfig {
        format: FORMAT.into(),
        vocab: vocab.len(),
        d_model: 0,
        n_heads: 0,
        d_ff: 0,
        encoder_layers: 0,
        decoder_layers: 0,
        norm: NormPlacement::Pre,
        positions: Positions::Rope,
        rope_theta: 10_000.0,
        rope_layout: RopeLayout::default(),
        embeddings: Embeddings::Shared,
        norm_epsilon: 1e-5,
        dropout: 0.0,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        precision: Precision::F32,
        unk_id: vocab.unk().0,
        bos_id: vocab.bos().0,
        eos_id: vocab.eos().0,
        pad_id: vocab.pad().0,
    }
}
