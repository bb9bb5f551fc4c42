//! The shape of a model: everything in `config.json`.

use serde::{Deserialize, Serialize};

use crate::{ModelError, Precision};

/// The version of the model directory that this code writes.
pub const FORMAT: &str = "umlaut-1";

/// Where layer normalisation stands in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPlacement {
    /// x + sublayer(norm(x)), and a last norm after each stack.
    Pre,
    /// norm(x + sublayer(x)), the paper's.
    Post,
}

/// How the model knows the order of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Positions {
    /// Rotary position embedding in self-attention (arXiv 2104.09864, eq. 34).
    Rope,
    /// Sinusoids added to the embeddings (arXiv 1706.03762, section 3.5): sine and cosine interleaved.
    Sinusoidal,
}

/// Which components of a head are turned together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RopeLayout {
    /// Neighbours (2i, 2i + 1), the paper's.
    #[default]
    Interleaved,
    /// (i, i + d_head / 2). Equal to the other after permuting the rows of the query and key projections.
    HalfSplit,
}

/// Whether source, target and output use one embedding matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Embeddings {
    /// One matrix for source, target and output projection.
    Shared,
    /// Three matrices.
    Separate,
}

/// An encoder-decoder Transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransformerConfig {
    /// The version of the directory, [`FORMAT`].
    #[serde(default = "format")]
    pub format: String,
    /// Number of tokens in the joint vocabulary.
    pub vocab: usize,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Number of attention heads.
    pub n_heads: usize,
    /// Inner width of the feed-forward layers.
    pub d_ff: usize,
    /// Depth of the encoder.
    pub encoder_layers: usize,
    /// Depth of the decoder.
    pub decoder_layers: usize,
    /// Where the norms stand.
    pub norm: NormPlacement,
    /// How order is known.
    pub positions: Positions,
    /// The base of the rotary angles, position * theta^(-2i / d_head).
    #[serde(default = "rope_theta")]
    pub rope_theta: f64,
    /// The pairing of the rotary embedding.
    #[serde(default)]
    pub rope_layout: RopeLayout,
    /// One embedding matrix or three.
    pub embeddings: Embeddings,
    /// Added to the variance inside the root of layer normalisation.
    #[serde(default = "norm_epsilon")]
    pub norm_epsilon: f64,
    /// Dropout on embeddings and on each sublayer's output, in training.
    #[serde(default)]
    pub dropout: f32,
    /// Dropout on attention probabilities, in training.
    #[serde(default)]
    pub attention_dropout: f32,
    /// Dropout after the feed-forward activation, in training.
    #[serde(default)]
    pub activation_dropout: f32,
    /// What matrix products are computed in, in training.
    #[serde(default)]
    pub precision: Precision,
    /// The unknown token.
    #[serde(default)]
    pub unk_id: u32,
    /// The decoder's first input.
    #[serde(default = "bos_id")]
    pub bos_id: u32,
    /// Ends every sequence.
    #[serde(default = "eos_id")]
    pub eos_id: u32,
    /// Fills up batches.
    #[serde(default = "pad_id")]
    pub pad_id: u32,
}

fn format() -> String {
    FORMAT.into()
}
fn rope_theta() -> f64 {
    10_000.0
}
fn norm_epsilon() -> f64 {
    1e-5
}
fn bos_id() -> u32 {
    1
}
fn eos_id() -> u32 {
    2
}
fn pad_id() -> u32 {
    3
}

impl TransformerConfig {
    /// Width of one head.
    #[must_use]
    pub fn d_head(&self) -> usize {
        self.d_model / self.n_heads
    }

    /// Checks what no type can.
    ///
    /// # Errors
    /// [`ModelError::Config`] names the field and the values that do not fit.
    pub fn validate(&self) -> Result<(), ModelError> {
        let refuse = |reason: String| Err(ModelError::Config { reason });
        if self.format != FORMAT {
            return refuse(format!("format is `{}`, this program reads `{FORMAT}`", self.format));
        }
        let sizes = [("vocab", self.vocab), ("d_model", self.d_model), ("n_heads", self.n_heads), ("d_ff", self.d_ff)];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return refuse(format!("{name} is 0"));
        }
        if !self.d_model.is_multiple_of(self.n_heads) || !self.d_head().is_multiple_of(2) {
            return refuse(format!("d_model {} is not n_heads {} times an even d_head", self.d_model, self.n_heads));
        }
        let shares = [
            ("dropout", self.dropout),
            ("attention_dropout", self.attention_dropout),
            ("activation_dropout", self.activation_dropout),
        ];
        if let Some((name, share)) = shares.iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
            return refuse(format!("{name} is {share}, not in [0, 1)"));
        }
        let ids = [self.unk_id, self.bos_id, self.eos_id, self.pad_id];
        if let Some(id) = ids.iter().find(|id| **id as usize >= self.vocab) {
            return refuse(format!("special token {id} lies outside the vocabulary of {}", self.vocab));
        }
        Ok(())
    }
}
