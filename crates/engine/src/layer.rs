//! What encoder and decoder layers are made of.

use std::io::{Read, Seek};

use umlaut_kernels::inference::{Activations, Norm, Precision, Write, normalise};

use crate::EngineError;
use crate::config::{Config, NormPlacement, PositionKind, RopeLayout};
use crate::linear::{Linear, Order, Part};
use crate::weights::WeightFile;

/// Room for what layers compute, kept from one to the next.
pub(crate) struct Workspace {
    /// Rows about to be multiplied.
    pub(crate) operand: Activations,
    /// Queries, keys and values.
    pub(crate) projected: Vec<f32>,
    /// What attention gave, `[rows, d_model]`.
    pub(crate) attended: Vec<f32>,
    /// The inner rows of the feed-forward layer, `[rows, d_ff]`.
    inner: Vec<f32>,
}

impl Workspace {
    pub(crate) fn new(precision: Precision) -> Self {
        let operand = Activations::new(precision);
        Self { operand, projected: Vec::new(), attended: Vec::new(), inner: Vec::new() }
    }
}

/// The normalisation of a sublayer and where it stands.
pub(crate) struct SublayerNorm {
    norm: Norm,
    placement: NormPlacement,
}

impl SublayerNorm {
    /// Makes `operand` the sublayer's input: `norm(x)` or `x`.
    pub(crate) fn enter(&self, x: &[f32], operand: &mut Activations) {
        match self.placement {
            NormPlacement::Pre => operand.set_normalised(x, &self.norm),
            NormPlacement::Post => operand.set(x, self.norm.d()),
        }
    }

    /// Turns `x + sublayer` into the layer's output: itself or `norm` of it.
    pub(crate) fn leave(&self, x: &mut [f32]) {
        if self.placement == NormPlacement::Post {
            normalise(x, &self.norm);
        }
    }
}

/// `x + outer(relu(inner(x)))` with its norm.
pub(crate) struct FeedForward {
    norm: SublayerNorm,
    inner: Linear,
    outer: Linear,
    d_ff: usize,
}

impl FeedForward {
    /// Applies the sublayer to `x`, `[rows, d_model]`.
    pub(crate) fn apply(&self, x: &mut Vec<f32>, workspace: &mut Workspace) {
        let Workspace { operand, inner, .. } = workspace;
        self.norm.enter(x, operand);
        self.inner.apply(operand, Write::Relu, inner);
        operand.set(inner, self.d_ff);
        self.outer.apply(operand, Write::Add, x);
        self.norm.leave(x);
    }
}

/// The linear layers around self-attention with their norm.
pub(crate) struct SelfAttention {
    pub(crate) norm: SublayerNorm,
    /// To queries, keys and values, `[3, d_model]`.
    pub(crate) input: Linear,
    pub(crate) output: Linear,
}

/// The linear layers around attention to the encoder with their norm.
pub(crate) struct CrossAttention {
    pub(crate) norm: SublayerNorm,
    pub(crate) query: Linear,
    /// To keys and values, `[2, d_model]`.
    pub(crate) key_value: Linear,
    pub(crate) output: Linear,
}

/// A layer of the encoder.
pub(crate) struct EncoderLayer {
    pub(crate) self_attention: SelfAttention,
    pub(crate) feed_forward: FeedForward,
}

/// A layer of the decoder.
pub(crate) struct DecoderLayer {
    pub(crate) self_attention: SelfAttention,
    pub(crate) cross_attention: CrossAttention,
    pub(crate) feed_forward: FeedForward,
}

/// Reads layers from a file of weights.
pub(crate) struct LayerReader<'a, R> {
    pub(crate) file: &'a mut WeightFile<R>,
    pub(crate) config: &'a Config,
    pub(crate) precision: Precision,
}

impl<R: Read + Seek> LayerReader<'_, R> {
    pub(crate) fn encoder_layer(&mut self, index: usize) -> Result<EncoderLayer, EngineError> {
        let name = format!("encoder.layers.{index}");
        Ok(EncoderLayer { self_attention: self.self_attention(&name)?, feed_forward: self.feed_forward(&name)? })
    }

    pub(crate) fn decoder_layer(&mut self, index: usize) -> Result<DecoderLayer, EngineError> {
        let name = format!("decoder.layers.{index}");
        Ok(DecoderLayer {
            self_attention: self.self_attention(&name)?,
            cross_attention: self.cross_attention(&name)?,
            feed_forward: self.feed_forward(&name)?,
        })
    }

    /// The norm after a stack, which only pre-norm models have.
    pub(crate) fn final_norm(&mut self, stack: &str) -> Result<Option<Norm>, EngineError> {
        match self.config.norm {
            NormPlacement::Pre => self.norm(&format!("{stack}.norm")).map(Some),
            NormPlacement::Post => Ok(None),
        }
    }

    fn norm(&mut self, name: &str) -> Result<Norm, EngineError> {
        let gain = self.file.vector(&format!("{name}.weight"), self.config.d_model)?;
        let bias = self.file.vector(&format!("{name}.bias"), self.config.d_model)?;
        Ok(Norm::new(gain, bias, self.config.norm_epsilon as f32))
    }

    fn sublayer_norm(&mut self, name: &str) -> Result<SublayerNorm, EngineError> {
        Ok(SublayerNorm { norm: self.norm(name)?, placement: self.config.norm })
    }

    fn linear(&mut self, layer: &str, parts: &[(&str, Order)], shape: [usize; 2]) -> Result<Linear, EngineError> {
        let parts: Vec<Part> =
            parts.iter().map(|&(part, order)| Part { name: format!("{layer}.{part}"), order }).collect();
        Linear::read(self.file, self.precision, &parts, shape)
    }

    fn self_attention(&mut self, layer: &str) -> Result<SelfAttention, EngineError> {
        let Config { d_model, positions, rope_layout, .. } = *self.config;
        let turned = match (positions, rope_layout) {
            (PositionKind::Rope, RopeLayout::Interleaved) => {
                Order::HalvesOfPairs { d_head: self.config.heads().d_head }
            }
            _ => Order::Stored,
        };
        let name = format!("{layer}.self_attention");
        let input = [("query", turned), ("key", turned), ("value", Order::Stored)];
        Ok(SelfAttention {
            norm: self.sublayer_norm(&format!("{name}_norm"))?,
            input: self.linear(&name, &input, [d_model, d_model])?,
            output: self.linear(&name, &[("output", Order::Stored)], [d_model, d_model])?,
        })
    }

    fn cross_attention(&mut self, layer: &str) -> Result<CrossAttention, EngineError> {
        let square = [self.config.d_model, self.config.d_model];
        let name = format!("{layer}.cross_attention");
        Ok(CrossAttention {
            norm: self.sublayer_norm(&format!("{name}_norm"))?,
            query: self.linear(&name, &[("query", Order::Stored)], square)?,
            key_value: self.linear(&name, &[("key", Order::Stored), ("value", Order::Stored)], square)?,
            output: self.linear(&name, &[("output", Order::Stored)], square)?,
        })
    }

    fn feed_forward(&mut self, layer: &str) -> Result<FeedForward, EngineError> {
        let Config { d_model, d_ff, .. } = *self.config;
        let name = format!("{layer}.feed_forward");
        Ok(FeedForward {
            norm: self.sublayer_norm(&format!("{name}_norm"))?,
            inner: self.linear(&name, &[("inner", Order::Stored)], [d_ff, d_model])?,
            outer: self.linear(&name, &[("outer", Order::Stored)], [d_model, d_ff])?,
            d_ff,
        })
    }
}
