//! The shape of a model: everything in `config.json`.

use serde::Deserialize;
use umlaut_kernels::inference::HeadShape;

use crate::EngineError;

/// The version of the model directory that this code reads.
const FORMAT: &str = "umlaut-1";

/// Where layer normalisation stands in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NormPlacement {
    /// `x + sublayer(norm(x))`, and a last norm after each stack.
    Pre,
    /// `norm(x + sublayer(x))`.
    Post,
}

/// How the model knows the order of its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionKind {
    /// Rotary position embedding in self-attention (arXiv 2104.09864, equation 34).
    Rope,
    /// Sinusoids added to the embeddings (arXiv 1706.03762, section 3.5), sine and cosine interleaved.
    Sinusoidal,
}

/// Which numbers of a head are turned together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RopeLayout {
    /// Neighbours `(2i, 2i + 1)`, the paper's.
    #[default]
    Interleaved,
    /// `(i, i + d_head / 2)`.
    HalfSplit,
}

/// Whether source, target and output use one embedding matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmbeddingKind {
    /// One matrix for source, target and output projection.
    Shared,
    /// Three matrices.
    Separate,
}

/// An encoder-decoder Transformer. Unknown fields are refused by name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The version of the directory.
    #[serde(default = "format")]
    pub format: String,
    /// Tokens in the vocabulary.
    pub vocab: usize,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Attention heads.
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
    pub positions: PositionKind,
    /// The base of the rotary angles, `position * theta^(-2i / d_head)`.
    #[serde(default = "rope_theta")]
    pub rope_theta: f64,
    /// The pairing of the rotary embedding.
    #[serde(default)]
    pub rope_layout: RopeLayout,
    /// One embedding matrix or three.
    pub embeddings: EmbeddingKind,
    /// Added to the variance inside the root of layer normalisation.
    #[serde(default = "norm_epsilon")]
    pub norm_epsilon: f64,
    /// Of training only.
    #[serde(default)]
    pub dropout: f64,
    /// Of training only.
    #[serde(default)]
    pub attention_dropout: f64,
    /// Of training only.
    #[serde(default)]
    pub activation_dropout: f64,
    /// Of training only.
    #[serde(default)]
    pub precision: Option<String>,
    /// The unknown token.
    #[serde(default)]
    pub unk_id: u32,
    /// The decoder's first input.
    #[serde(default = "bos_id")]
    pub bos_id: u32,
    /// Ends every sequence.
    #[serde(default = "eos_id")]
    pub eos_id: u32,
    /// Fills up batches in training.
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

impl Config {
    /// Reads `config.json`.
    ///
    /// # Errors
    /// [`EngineError::Json`] or [`EngineError::Config`] names the field and the values that do not fit.
    pub fn from_json(json: &[u8]) -> Result<Self, EngineError> {
        let config: Self = serde_json::from_slice(json)?;
        config.check().map_err(|reason| EngineError::Config { reason })?;
        Ok(config)
    }

    /// Heads and their width.
    #[must_use]
    pub fn heads(&self) -> HeadShape {
        HeadShape { n_heads: self.n_heads, d_head: self.d_model / self.n_heads }
    }

    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!("format is `{}`, this program reads `{FORMAT}`", self.format));
        }
        let sizes = [("vocab", self.vocab), ("d_model", self.d_model), ("n_heads", self.n_heads), ("d_ff", self.d_ff)];
        if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(format!("{name} is 0"));
        }
        if !self.d_model.is_multiple_of(self.n_heads) {
            return Err(format!("d_model {} is not a multiple of n_heads {}", self.d_model, self.n_heads));
        }
        self.check_positions()?;
        let ids = [("unk_id", self.unk_id), ("bos_id", self.bos_id), ("eos_id", self.eos_id), ("pad_id", self.pad_id)];
        match ids.iter().find(|(_, id)| *id as usize >= self.vocab) {
            Some((name, id)) => Err(format!("{name} {id} is outside the vocab of {}", self.vocab)),
            None => Ok(()),
        }
    }

    fn check_positions(&self) -> Result<(), String> {
        let d_head = self.d_model / self.n_heads;
        if self.positions == PositionKind::Rope && !d_head.is_multiple_of(2) {
            return Err(format!("rope turns pairs, but d_model {} over n_heads {} is odd", self.d_model, self.n_heads));
        }
        if self.positions == PositionKind::Sinusoidal && !self.d_model.is_multiple_of(2) {
            return Err(format!("sinusoids come in pairs, but d_model is {}", self.d_model));
        }
        if !(self.rope_theta.is_finite() && self.rope_theta > 0.0) {
            return Err(format!("rope_theta is {}, it must be above 0", self.rope_theta));
        }
        if !(self.norm_epsilon.is_finite() && self.norm_epsilon > 0.0) {
            return Err(format!("norm_epsilon is {}, it must be above 0", self.norm_epsilon));
        }
        Ok(())
    }
}
