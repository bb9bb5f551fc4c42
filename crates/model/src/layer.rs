//! Encoder and decoder layers.

use burn::module::Module;
use burn::tensor::{Tensor, backend::Backend};

use crate::attention::{Attention, View};
use crate::config::{NormPlacement, TransformerConfig};
use crate::dropout::Dropout;
use crate::initial::Initial;
use crate::linear::{Linear, Norm};
use crate::ops::FusedOps;

/// outer(max(0, inner(x))) (arXiv 1706.03762, eq. 2).
#[derive(Module, Debug)]
pub struct FeedForward<B: Backend> {
    /// `[d_model]` to `[d_ff]`.
    pub inner: Linear<B>,
    /// `[d_ff]` to `[d_model]`.
    pub outer: Linear<B>,
    activation_dropout: f32,
}

impl<B: FusedOps> FeedForward<B> {
    fn init(config: &TransformerConfig, initial: &mut Initial<'_, B>) -> Self {
        Self {
            inner: Linear::init([config.d_model, config.d_ff], 1.0, config.precision, initial),
            outer: Linear::init([config.d_ff, config.d_model], 1.0, config.precision, initial),
            activation_dropout: config.activation_dropout,
        }
    }

    /// # Shapes
    /// `[rows, d_model]` to the same.
    pub fn forward(&self, x: Tensor<B, 2>, dropout: &mut Dropout) -> Tensor<B, 2> {
        let hidden = self.inner.forward_relu(x);
        self.outer.forward(dropout.apply(hidden, self.activation_dropout))
    }
}

/// Where the norm stands around a sublayer, and the dropout on what the sublayer adds.
#[derive(Module, Clone, Debug)]
pub struct Residual {
    is_pre: bool,
    dropout: f32,
}

impl Residual {
    fn new(config: &TransformerConfig) -> Self {
        Self { is_pre: config.norm == NormPlacement::Pre, dropout: config.dropout }
    }

    /// x + dropout(f(norm(x))) with [`NormPlacement::Pre`], norm(x + dropout(f(x))) with [`NormPlacement::Post`].
    pub fn around<B: FusedOps>(
        &self,
        x: Tensor<B, 2>,
        norm: &Norm<B>,
        dropout: &mut Dropout,
        sublayer: impl FnOnce(Tensor<B, 2>, &mut Dropout) -> Tensor<B, 2>,
    ) -> Tensor<B, 2> {
        if self.is_pre {
            let added = sublayer(norm.forward(x.clone()), dropout);
            dropout.add(x, added, self.dropout)
        } else {
            let added = sublayer(x.clone(), dropout);
            norm.forward(dropout.add(x, added, self.dropout))
        }
    }
}

/// Self-attention and feed-forward.
#[derive(Module, Debug)]
pub struct EncoderLayer<B: Backend> {
    /// Attention of the source to itself.
    pub self_attention: Attention<B>,
    /// Its norm.
    pub self_attention_norm: Norm<B>,
    /// The feed-forward sublayer.
    pub feed_forward: FeedForward<B>,
    /// Its norm.
    pub feed_forward_norm: Norm<B>,
    /// How sublayers are joined.
    pub residual: Residual,
}

impl<B: FusedOps> EncoderLayer<B> {
    /// A layer with fresh parameters.
    #[must_use]
    pub fn init(config: &TransformerConfig, initial: &mut Initial<'_, B>) -> Self {
        Self {
            self_attention: Attention::init(config, initial),
            self_attention_norm: Norm::init(config.d_model, config.norm_epsilon, initial),
            feed_forward: FeedForward::init(config, initial),
            feed_forward_norm: Norm::init(config.d_model, config.norm_epsilon, initial),
            residual: Residual::new(config),
        }
    }

    /// # Shapes
    /// `[batch * src_len, d_model]` to the same.
    pub fn forward(&self, x: Tensor<B, 2>, view: &View<'_, B>, dropout: &mut Dropout) -> Tensor<B, 2> {
        let x = self.residual.around(x, &self.self_attention_norm, dropout, |x, dropout| {
            self.self_attention.forward(x.clone(), x, view, dropout)
        });
        self.residual.around(x, &self.feed_forward_norm, dropout, |x, dropout| self.feed_forward.forward(x, dropout))
    }
}

/// Masked self-attention, attention to the source, and feed-forward.
#[derive(Module, Debug)]
pub struct DecoderLayer<B: Backend> {
    /// Attention of the target to its past.
    pub self_attention: Attention<B>,
    /// Its norm.
    pub self_attention_norm: Norm<B>,
    /// Attention of the target to the source.
    pub cross_attention: Attention<B>,
    /// Its norm.
    pub cross_attention_norm: Norm<B>,
    /// The feed-forward sublayer.
    pub feed_forward: FeedForward<B>,
    /// Its norm.
    pub feed_forward_norm: Norm<B>,
    /// How sublayers are joined.
    pub residual: Residual,
}

impl<B: FusedOps> DecoderLayer<B> {
    /// A layer with fresh parameters.
    #[must_use]
    pub fn init(config: &TransformerConfig, initial: &mut Initial<'_, B>) -> Self {
        Self {
            self_attention: Attention::init(config, initial),
            self_attention_norm: Norm::init(config.d_model, config.norm_epsilon, initial),
            cross_attention: Attention::init(config, initial),
            cross_attention_norm: Norm::init(config.d_model, config.norm_epsilon, initial),
            feed_forward: FeedForward::init(config, initial),
            feed_forward_norm: Norm::init(config.d_model, config.norm_epsilon, initial),
            residual: Residual::new(config),
        }
    }

    /// # Shapes
    /// `x` `[batch * tgt_len, d_model]`, `memory` `[batch * src_len, d_model]`; returns the shape of `x`.
    pub fn forward(
        &self,
        x: Tensor<B, 2>,
        memory: Tensor<B, 2>,
        past: &View<'_, B>,
        source: &View<'_, B>,
        dropout: &mut Dropout,
    ) -> Tensor<B, 2> {
        let x = self.residual.around(x, &self.self_attention_norm, dropout, |x, dropout| {
            self.self_attention.forward(x.clone(), x, past, dropout)
        });
        let x = self.residual.around(x, &self.cross_attention_norm, dropout, |x, dropout| {
            self.cross_attention.forward(x, memory, source, dropout)
        });
        self.residual.around(x, &self.feed_forward_norm, dropout, |x, dropout| self.feed_forward.forward(x, dropout))
    }
}
