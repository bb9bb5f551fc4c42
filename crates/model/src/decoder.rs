//! Step-by-step decoding with caches: the definition that the CPU engine is held against, and what other devices run.

use std::convert::Infallible;

use burn::tensor::{Bool, Int, Tensor, TensorData, activation, backend::Backend};
use umlaut_search::{Candidate, StepDecoder, TokenId};

use crate::attention::Attention;
use crate::dropout::Dropout;
use crate::layer::DecoderLayer;
use crate::ops::{FusedOps, composed, float};
use crate::position::Rotary;
use crate::{Precision, Sequences, Transformer};

/// The state of a batch while it is decoded.
#[derive(Debug)]
pub struct CachedDecoder<'a, B: Backend> {
    model: &'a Transformer<B>,
    /// Tokens fed so far, the same for every row.
    position: usize,
    /// One for each layer.
    caches: Vec<LayerCache<B>>,
    /// True where a source key is padding, `[rows, 1, 1, src_len]`.
    is_pad: Tensor<B, 4, Bool>,
}

/// What one layer remembers.
#[derive(Clone, Debug)]
struct LayerCache<B: Backend> {
    /// Rotated keys and values of the target so far, `[rows, n_heads, position, d_head]`.
    past: Option<(Tensor<B, 4>, Tensor<B, 4>)>,
    /// Keys and values of the source, `[rows, n_heads, src_len, d_head]`.
    source: (Tensor<B, 4>, Tensor<B, 4>),
}

impl<'a, B: FusedOps> CachedDecoder<'a, B> {
    /// Encodes `source`; one row for each of its sequences.
    pub fn new(model: &'a Transformer<B>, source: Sequences<'_>) -> Self {
        let memory = model.encode(source, &mut Dropout::off());
        let keys_and_values = |layer: &DecoderLayer<B>| {
            let attention = &layer.cross_attention;
            let key = split(attention.key.forward(memory.clone()), source.batch(), attention.n_heads());
            let value = split(attention.value.forward(memory.clone()), source.batch(), attention.n_heads());
            LayerCache { past: None, source: (key, value) }
        };
        let caches = model.decoder.layers.iter().map(keys_and_values).collect();
        let is_pad: Vec<bool> =
            source.lengths.iter().flat_map(|real| (0..source.len()).map(move |key| key >= *real)).collect();
        let is_pad = TensorData::new(is_pad, [source.batch(), 1, 1, source.len()]);
        Self { model, position: 0, caches, is_pad: Tensor::from_data(is_pad, &memory.device()) }
    }

    /// log p(token | source, prefix) of every token after `last` (`[rows]`), `[rows, vocab]`.
    pub fn log_probs(&mut self, last: &[TokenId]) -> Tensor<B, 2> {
        let ids: Vec<u32> = last.iter().map(|token| token.0).collect();
        let tokens = Sequences { ids: &ids, lengths: &vec![1; ids.len()] };
        let mut x = self.model.embed(self.model.target_embedding(), tokens, self.position, &mut Dropout::off());
        let rotary = self.model.rotary(self.position + 1);
        for (layer, cache) in self.model.decoder.layers.iter().zip(&mut self.caches) {
            x = step_layer(layer, x, cache, rotary.as_ref(), self.position, &self.is_pad);
        }
        self.position += 1;
        activation::log_softmax(self.model.logits(self.model.decoder.finish(x)), 1)
    }

    fn select(&mut self, rows: Tensor<B, 1, Int>) {
        let pick = |x: &Tensor<B, 4>| x.clone().select(0, rows.clone());
        for cache in &mut self.caches {
            cache.past = cache.past.as_ref().map(|(key, value)| (pick(key), pick(value)));
            cache.source = (pick(&cache.source.0), pick(&cache.source.1));
        }
        // A mask is no number: it is picked as one and compared back.
        self.is_pad = self.is_pad.clone().int().select(0, rows).equal_elem(1);
    }
}

/// `[rows * len, d_model]` to `[rows, n_heads, len, d_head]`.
fn split<B: Backend>(x: Tensor<B, 2>, rows: usize, n_heads: usize) -> Tensor<B, 4> {
    let [all, d_model] = x.dims();
    x.reshape([rows, all / rows, n_heads, d_model / n_heads]).swap_dims(1, 2)
}

fn step_layer<B: FusedOps>(
    layer: &DecoderLayer<B>,
    x: Tensor<B, 2>,
    cache: &mut LayerCache<B>,
    rotary: Option<&Rotary<B>>,
    position: usize,
    is_pad: &Tensor<B, 4, Bool>,
) -> Tensor<B, 2> {
    let dropout = &mut Dropout::off();
    let x = layer.residual.around(x, &layer.self_attention_norm, dropout, |x, _| {
        attend_to_past(&layer.self_attention, x, &mut cache.past, rotary, position)
    });
    let x = layer.residual.around(x, &layer.cross_attention_norm, dropout, |x, _| {
        let query = split(layer.cross_attention.query.forward(x.clone()), x.dims()[0], layer.cross_attention.n_heads());
        let (key, value) = cache.source.clone();
        mix(&layer.cross_attention, composed::attend(query, key, value, Some(is_pad.clone()), None, Precision::F32))
    });
    layer.residual.around(x, &layer.feed_forward_norm, dropout, |x, dropout| layer.feed_forward.forward(x, dropout))
}

fn attend_to_past<B: FusedOps>(
    attention: &Attention<B>,
    x: Tensor<B, 2>,
    past: &mut Option<(Tensor<B, 4>, Tensor<B, 4>)>,
    rotary: Option<&Rotary<B>>,
    position: usize,
) -> Tensor<B, 2> {
    let rows = x.dims()[0];
    let head = |x| split(x, rows, attention.n_heads());
    let rotate = |x| match rotary {
        Some(rotary) => composed::rotate(x, rotary.cos.clone(), rotary.sin.clone(), position),
        None => x,
    };
    let query = rotate(head(attention.query.forward(x.clone())));
    let mut key = rotate(head(attention.key.forward(x.clone())));
    let mut value = head(attention.value.forward(x));
    if let Some((keys, values)) = past.take() {
        key = Tensor::cat(vec![keys, key], 2);
        value = Tensor::cat(vec![values, value], 2);
    }
    *past = Some((key.clone(), value.clone()));
    mix(attention, composed::attend(query, key, value, None, None, Precision::F32))
}

/// `[rows, n_heads, 1, d_head]` through the output projection.
fn mix<B: FusedOps>(attention: &Attention<B>, heads: Tensor<B, 4>) -> Tensor<B, 2> {
    let [rows, n_heads, _, d_head] = heads.dims();
    attention.output.forward(heads.reshape([rows, n_heads * d_head]))
}

impl<B: FusedOps> StepDecoder for CachedDecoder<'_, B> {
    type Error = Infallible;

    fn step(&mut self, last: &[TokenId], k: usize, candidates: &mut Vec<Candidate>) -> Result<(), Infallible> {
        let log_probs = self.log_probs(last);
        let vocab = log_probs.dims()[1];
        let there = k.min(vocab);
        candidates.clear();
        for row in B::read_greatest(float(log_probs), there).chunks_exact(there.max(1)) {
            candidates.extend(row.iter().map(|(id, log_prob)| Candidate { token: TokenId(*id), log_prob: *log_prob }));
            let absent = Candidate { token: TokenId(0), log_prob: f32::NEG_INFINITY };
            candidates.extend((vocab..k).map(|_| absent));
        }
        Ok(())
    }

    fn reorder(&mut self, parents: &[usize]) {
        let rows: Vec<i32> = parents.iter().map(|row| *row as i32).collect();
        self.select(Tensor::from_data(TensorData::new(rows, [parents.len()]), &self.is_pad.device()));
    }
}
