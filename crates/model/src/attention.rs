//! Multi-head attention (arXiv 1706.03762, section 3.2.2), rotated in self-attention.

use burn::module::Module;
use burn::tensor::{Tensor, backend::Backend};
use umlaut_kernels::training::attention::Direction;

use crate::Precision;
use crate::config::TransformerConfig;
use crate::dropout::Dropout;
use crate::initial::Initial;
use crate::linear::Linear;
use crate::ops::{AttentionSpec, FusedOps, float, tensor};
use crate::position::Rotary;

/// The four projections of an attention.
#[derive(Module, Debug)]
pub struct Attention<B: Backend> {
    /// Projects queries, `[d_model, d_model]`.
    pub query: Linear<B>,
    /// Projects keys.
    pub key: Linear<B>,
    /// Projects values.
    pub value: Linear<B>,
    /// Mixes the heads.
    pub output: Linear<B>,
    n_heads: usize,
    dropout: f32,
    #[module(skip)]
    precision: Precision,
}

/// What a forward pass of attention looks at.
#[derive(Clone, Debug)]
pub struct View<'a, B: Backend> {
    /// Rows of queries a sentence.
    pub q_len: usize,
    /// Rows of keys a sentence.
    pub k_len: usize,
    /// Real keys of each sentence, `[batch]`.
    pub key_lengths: &'a [usize],
    /// Whether later keys are hidden.
    pub direction: Direction,
    /// The rotation of self-attention.
    pub rotary: Option<Rotary<B>>,
}

impl<B: FusedOps> Attention<B> {
    /// Projections drawn as fairseq draws them: those of queries, keys and values with gain 1/sqrt(2), as if the three
    /// were one matrix.
    #[must_use]
    pub fn init(config: &TransformerConfig, initial: &mut Initial<'_, B>) -> Self {
        let mut linear = |gain| Linear::init([config.d_model; 2], gain, config.precision, initial);
        let joint = std::f64::consts::FRAC_1_SQRT_2;
        Self {
            query: linear(joint),
            key: linear(joint),
            value: linear(joint),
            output: linear(1.0),
            n_heads: config.n_heads,
            dropout: config.attention_dropout,
            precision: config.precision,
        }
    }

    /// Number of heads.
    #[must_use]
    pub fn n_heads(&self) -> usize {
        self.n_heads
    }

    /// output(softmax(q kᵀ / sqrt(d_head)) v), queries from `x`, keys and values from `memory`.
    ///
    /// # Shapes
    /// `x` `[batch * q_len, d_model]`, `memory` `[batch * k_len, d_model]`; returns the shape of `x`.
    pub fn forward(
        &self,
        x: Tensor<B, 2>,
        memory: Tensor<B, 2>,
        view: &View<'_, B>,
        dropout: &mut Dropout,
    ) -> Tensor<B, 2> {
        let spec = AttentionSpec {
            n_heads: self.n_heads,
            q_len: view.q_len,
            k_len: view.k_len,
            key_lengths: view.key_lengths.to_vec(),
            direction: view.direction,
            dropout: dropout.mask(self.dropout),
            precision: self.precision,
        };
        let query = float(self.query.forward(x));
        let key = float(self.key.forward(memory.clone()));
        let value = float(self.value.forward(memory));
        let rotary = view.rotary.as_ref().map(|r| (float(r.cos.clone()), float(r.sin.clone())));
        self.output.forward(tensor(B::fused_attention(query, key, value, rotary, spec)))
    }
}
