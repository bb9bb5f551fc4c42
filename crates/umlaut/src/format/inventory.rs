//! What arrays a model has: the one list from which every format takes its names and shapes.

use anyhow::{Result, bail, ensure};
use umlaut_model::parameters::Arrays;
use umlaut_model::{Embeddings, NormPlacement, TransformerConfig};

/// Half of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stack {
    Encoder,
    Decoder,
}

impl Stack {
    pub(super) const BOTH: [Self; 2] = [Self::Encoder, Self::Decoder];

    /// Every format calls it so.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Encoder => "encoder",
            Self::Decoder => "decoder",
        }
    }

    pub(super) fn layers(self, config: &TransformerConfig) -> usize {
        match self {
            Self::Encoder => config.encoder_layers,
            Self::Decoder => config.decoder_layers,
        }
    }

    /// The parts of a layer, in an order in which those that are applied together are neighbours.
    fn sublayers(self) -> &'static [(&'static str, Kind)] {
        const LAYER: [(&str, Kind); 13] = [
            ("self_attention_norm", Kind::Norm),
            ("self_attention.query", Kind::Projection),
            ("self_attention.key", Kind::Projection),
            ("self_attention.value", Kind::Projection),
            ("self_attention.output", Kind::Projection),
            ("feed_forward_norm", Kind::Norm),
            ("feed_forward.inner", Kind::Inner),
            ("feed_forward.outer", Kind::Outer),
            ("cross_attention_norm", Kind::Norm),
            ("cross_attention.query", Kind::Projection),
            ("cross_attention.key", Kind::Projection),
            ("cross_attention.value", Kind::Projection),
            ("cross_attention.output", Kind::Projection),
        ];
        match self {
            Self::Encoder => LAYER.split_at(8).0,
            Self::Decoder => &LAYER,
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Norm,
    Projection,
    Inner,
    Outer,
}

/// A weight and a bias that belong together.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) stack: Stack,
    /// `None` for the norm after a stack.
    pub(super) layer: Option<usize>,
    /// The rest of the name in a model directory.
    pub(super) sublayer: &'static str,
    /// The shape of the weight: `[d_model]` of a norm, `[d_out, d_in]` of a linear layer; the bias is as long as the
    /// first of these.
    pub(super) shape: Vec<usize>,
}

impl Part {
    /// The name in a model directory, without `.weight` and `.bias`.
    pub(super) fn name(&self) -> String {
        let stack = self.stack.name();
        match self.layer {
            Some(layer) => format!("{stack}.layers.{layer}.{}", self.sublayer),
            None => format!("{stack}.{}", self.sublayer),
        }
    }

    /// Names of weight and bias and their shapes.
    pub(super) fn arrays(&self) -> [(String, Vec<usize>); 2] {
        let name = self.name();
        [(format!("{name}.weight"), self.shape.clone()), (format!("{name}.bias"), vec![self.shape[0]])]
    }
}

/// Every part of a model, stack by stack and layer by layer.
pub(super) fn parts(config: &TransformerConfig) -> impl Iterator<Item = Part> {
    Stack::BOTH.into_iter().flat_map(move |stack| parts_of_stack(config, stack))
}

fn parts_of_stack(config: &TransformerConfig, stack: Stack) -> impl Iterator<Item = Part> {
    let d_model = config.d_model;
    let layers = (0..stack.layers(config)).flat_map(move |layer| parts_of_layer(config, stack, layer));
    let norm = Part { stack, layer: None, sublayer: "norm", shape: vec![d_model] };
    layers.chain((config.norm == NormPlacement::Pre).then_some(norm))
}

fn parts_of_layer(config: &TransformerConfig, stack: Stack, layer: usize) -> impl Iterator<Item = Part> {
    let (d_model, d_ff) = (config.d_model, config.d_ff);
    stack.sublayers().iter().map(move |&(sublayer, kind)| {
        let shape = match kind {
            Kind::Norm => vec![d_model],
            Kind::Projection => vec![d_model, d_model],
            Kind::Inner => vec![d_ff, d_model],
            Kind::Outer => vec![d_model, d_ff],
        };
        Part { stack, layer: Some(layer), sublayer, shape }
    })
}

/// The tables `[vocab, d_model]` for source, target and output; one name, given three times, where they are shared.
pub(super) fn tables(embeddings: Embeddings) -> [&'static str; 3] {
    match embeddings {
        Embeddings::Shared => ["embedding.weight"; 3],
        Embeddings::Separate => ["source_embedding.weight", "target_embedding.weight", "output.weight"],
    }
}

/// Refuses arrays that are not those of `config`, by name. It stops at the first that is missing: a configuration may
/// claim more layers than there is memory.
pub(super) fn check(config: &TransformerConfig, arrays: &Arrays) -> Result<()> {
    let mut tables: Vec<_> =
        tables(config.embeddings).map(|name| (name.into(), vec![config.vocab, config.d_model])).into();
    tables.dedup();
    let mut found = 0;
    for (name, shape) in tables.into_iter().chain(parts(config).flat_map(|part| part.arrays())) {
        let Some(array) = arrays.get(&name) else { bail!("`{name}` is missing") };
        ensure!(array.shape == shape, "`{name}` is {:?}, the configuration asks for {shape:?}", array.shape);
        ensure!(array.data.iter().all(|number| number.is_finite()), "`{name}` holds NaN or infinity");
        found += 1;
    }
    if found < arrays.len() {
        let known: Vec<String> = parts(config).flat_map(|part| part.arrays()).map(|(name, _)| name).collect();
        let tables = self::tables(config.embeddings);
        let extra = arrays.keys().find(|name| !known.contains(name) && !tables.contains(&name.as_str()));
        bail!("`{}` is no array of this model", extra.map_or("", String::as_str));
    }
    Ok(())
}
