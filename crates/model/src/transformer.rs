//! The encoder-decoder Transformer.

use burn::module::Module;
use burn::tensor::{Tensor, TensorData, backend::Backend};
use umlaut_kernels::training::attention::Direction;

use crate::attention::View;
use crate::config::{Embeddings, Positions, RopeLayout, TransformerConfig};
use crate::dropout::Dropout;
use crate::initial::Initial;
use crate::layer::{DecoderLayer, EncoderLayer};
use crate::linear::{Embedding, Norm};
use crate::ops::{Criterion, FusedOps, float, tensor};
use crate::position::{Rotary, sinusoids};
use crate::{ModelError, NormPlacement, Sequences};

/// A stack of layers and, pre-norm, the norm after it.
#[derive(Module, Debug)]
pub struct Stack<B: Backend, L: Module<B>> {
    /// The layers, first to last.
    pub layers: Vec<L>,
    /// The last norm.
    pub norm: Option<Norm<B>>,
}

impl<B: FusedOps, L: Module<B>> Stack<B, L> {
    /// The last norm, where there is one.
    pub fn finish(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        match &self.norm {
            Some(norm) => norm.forward(x),
            None => x,
        }
    }
}

/// The model of RoFormer (arXiv 2104.09864, section 4.1) and its kin.
#[derive(Module, Debug)]
pub struct Transformer<B: Backend> {
    /// The one embedding of source, target and output.
    pub embedding: Option<Embedding<B>>,
    /// The source's own.
    pub source_embedding: Option<Embedding<B>>,
    /// The target's own.
    pub target_embedding: Option<Embedding<B>>,
    /// The output projection's own.
    pub output: Option<Embedding<B>>,
    /// Reads the source.
    pub encoder: Stack<B, EncoderLayer<B>>,
    /// Writes the target.
    pub decoder: Stack<B, DecoderLayer<B>>,
    #[module(skip)]
    config: TransformerConfig,
}

impl TransformerConfig {
    /// A model with fresh parameters, drawn from `seed`.
    ///
    /// # Errors
    /// [`ModelError::Config`] where the configuration describes no model.
    pub fn init<B: FusedOps>(&self, seed: u64, device: &B::Device) -> Result<Transformer<B>, ModelError> {
        self.validate()?;
        if self.rope_layout != RopeLayout::Interleaved {
            return Err(ModelError::Config { reason: "rope_layout half_split runs in the CPU engine alone".into() });
        }
        let initial = &mut Initial::new(seed, device);
        let is_shared = self.embeddings == Embeddings::Shared;
        let mut embedding = |is_there: bool| is_there.then(|| Embedding::init(self.vocab, self.d_model, initial));
        let [embedding, source_embedding, target_embedding, output] =
            [is_shared, !is_shared, !is_shared, !is_shared].map(&mut embedding);
        let encoder = (0..self.encoder_layers).map(|_| EncoderLayer::init(self, initial)).collect();
        let decoder = (0..self.decoder_layers).map(|_| DecoderLayer::init(self, initial)).collect();
        let norm = || (self.norm == NormPlacement::Pre).then(|| Norm::init(self.d_model, self.norm_epsilon, initial));
        Ok(Transformer {
            embedding,
            source_embedding,
            target_embedding,
            output,
            encoder: Stack { layers: encoder, norm: norm() },
            decoder: Stack { layers: decoder, norm: norm() },
            config: self.clone(),
        })
    }
}

impl<B: FusedOps> Transformer<B> {
    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &TransformerConfig {
        &self.config
    }

    /// The encoder's output.
    ///
    /// # Shapes
    /// `[batch, src_len]` to `[batch * src_len, d_model]`.
    ///
    /// # Panics
    /// If an id lies outside the vocabulary.
    pub fn encode(&self, source: Sequences<'_>, dropout: &mut Dropout) -> Tensor<B, 2> {
        let embedding = self.embedding.as_ref().or(self.source_embedding.as_ref()).expect("a model embeds its source");
        let mut x = self.embed(embedding, source, 0, dropout);
        let view = View {
            q_len: source.len(),
            k_len: source.len(),
            key_lengths: source.lengths,
            direction: Direction::Both,
            rotary: self.rotary(source.len()),
        };
        for layer in &self.encoder.layers {
            x = layer.forward(x, &view, dropout);
        }
        self.encoder.finish(x)
    }

    /// The decoder's hidden states, each seeing the target up to itself.
    ///
    /// # Shapes
    /// `target` `[batch, tgt_len]`, `memory` `[batch * src_len, d_model]`; returns `[batch * tgt_len, d_model]`.
    ///
    /// # Panics
    /// If an id lies outside the vocabulary.
    pub fn decode(
        &self,
        target: Sequences<'_>,
        memory: &Tensor<B, 2>,
        source: Sequences<'_>,
        dropout: &mut Dropout,
    ) -> Tensor<B, 2> {
        let mut x = self.embed(self.target_embedding(), target, 0, dropout);
        let (q_len, k_len) = (target.len(), source.len());
        let past = View {
            q_len,
            k_len: q_len,
            key_lengths: target.lengths,
            direction: Direction::Past,
            rotary: self.rotary(target.len()),
        };
        let view = View { q_len, k_len, key_lengths: source.lengths, direction: Direction::Both, rotary: None };
        for layer in &self.decoder.layers {
            x = layer.forward(x, memory.clone(), &past, &view, dropout);
        }
        self.decoder.finish(x)
    }

    /// Scores of every token, hidden · projectionᵀ.
    ///
    /// # Shapes
    /// `[rows, d_model]` to `[rows, vocab]`.
    pub fn logits(&self, hidden: Tensor<B, 2>) -> Tensor<B, 2> {
        hidden.matmul(self.projection().transpose())
    }

    /// The criterion's loss and the plain negative log-likelihood of `labels`, each summed over its real tokens. With
    /// R-Drop the second half of the batch is the first half once more.
    ///
    /// # Shapes
    /// `source` `[batch, src_len]`; `target` `[batch, tgt_len]`, beginning with bos; `labels` `[batch * tgt_len]`, the
    /// same shifted left, [`IGNORED`](crate::ops::IGNORED) where there is padding; returns `[2]`.
    ///
    /// # Panics
    /// If an id lies outside the vocabulary.
    pub fn loss(
        &self,
        source: Sequences<'_>,
        target: Sequences<'_>,
        labels: &[u32],
        criterion: Criterion,
        dropout: &mut Dropout,
    ) -> Tensor<B, 1> {
        let memory = self.encode(source, dropout);
        let hidden = self.decode(target, &memory, source, dropout);
        let (hidden, projection) = (float(hidden), float(self.projection()));
        tensor(B::fused_cross_entropy(hidden, projection, labels, criterion, self.config.precision))
    }

    pub(crate) fn target_embedding(&self) -> &Embedding<B> {
        self.embedding.as_ref().or(self.target_embedding.as_ref()).expect("a model embeds its target")
    }

    fn projection(&self) -> Tensor<B, 2> {
        self.embedding.as_ref().or(self.output.as_ref()).expect("a model projects its output").weight.val()
    }

    /// Scaled embeddings of `sequences`, whose first tokens stand at position `first`: `[batch * len, d_model]`.
    pub(crate) fn embed(
        &self,
        embedding: &Embedding<B>,
        sequences: Sequences<'_>,
        first: usize,
        dropout: &mut Dropout,
    ) -> Tensor<B, 2> {
        let mut x = embedding.forward(sequences.ids);
        if self.config.positions == Positions::Sinusoidal {
            let (batch, len, d_model) = (sequences.batch(), sequences.len(), self.config.d_model);
            let table = TensorData::new(sinusoids(first, len, d_model), [1, len, d_model]);
            let table = Tensor::<B, 3>::from_data(table, &x.device());
            x = (x.reshape([batch, len, d_model]) + table).reshape([batch * len, d_model]);
        }
        dropout.apply(x, self.config.dropout)
    }

    /// The rotation's tables for `positions`, with [`Positions::Rope`].
    pub(crate) fn rotary(&self, positions: usize) -> Option<Rotary<B>> {
        let config = &self.config;
        let device = &self.projection().device();
        (config.positions == Positions::Rope)
            .then(|| Rotary::new(positions, config.d_head(), config.rope_theta, device))
    }
}
