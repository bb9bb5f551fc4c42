//! Reading a folder that CTranslate2's converters made.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use umlaut_model::directory::CONFIG;
use umlaut_model::parameters::{Array, Arrays};
use umlaut_model::position::sinusoids;
use umlaut_model::{Embeddings, NormPlacement, Positions, RopeLayout, TransformerConfig};
use umlaut_text::Vocab;

use super::binary;
use super::source::Source;
use super::{Group, MODEL, SHARED_VOCABULARY, Settings, Stack, TABLES, encodings, groups, self_attention};
use crate::format::{Model, base_config, inventory, rotary, vocabulary};

/// How far a table of positions may lie from the sinusoids: what other toolkits' arithmetic and f16 make of them. Other
/// kinds of positions are whole units away.
const TOLERANCE: f32 = 2e-3;

/// Reads a model from the folder `dir`. Its rows come into the order of `vocab`; its rotations stay as they are.
///
/// # Errors
/// Names what is missing or damaged, or what a model directory cannot hold, with the reason.
pub(crate) fn read(dir: &Path, vocab: &Vocab, layout: Option<RopeLayout>) -> Result<Model> {
    let path = dir.join(CONFIG);
    let json = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let settings: Settings = serde_json::from_slice(&json).with_context(|| path.display().to_string())?;
    let norm_epsilon = norm_epsilon(&settings, vocab).with_context(|| path.display().to_string())?;
    let path = dir.join(MODEL);
    let bytes = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let base = TransformerConfig { norm_epsilon, ..base_config(vocab) };
    let (mut config, tables, mut arrays) = parse(&bytes, base, layout).with_context(|| path.display().to_string())?;
    let [source, target] = orders(dir, vocab)?;
    let ordered = [(0, &source), (1, &target), (2, &target)].map(|(i, rows)| vocabulary::in_order(&tables[i], rows));
    let is_shared = ordered.iter().all(|table| *table == ordered[0]);
    config.embeddings = if is_shared { Embeddings::Shared } else { Embeddings::Separate };
    let names = inventory::tables(config.embeddings).map(String::from);
    arrays.extend(names.into_iter().zip(ordered));
    Model::new(config, arrays)
}

/// The shape, the tables and all other arrays of `model.bin`.
fn parse(
    bytes: &[u8],
    base: TransformerConfig,
    layout: Option<RopeLayout>,
) -> Result<(TransformerConfig, Vec<Array>, Arrays)> {
    let mut source = Source { rest: binary::read(bytes)? };
    let config = source.config(base, layout)?;
    let tables = TABLES.iter().map(|name| source.table(name, &config)).collect::<Result<_>>()?;
    let arrays = source.parts(&config)?;
    source.finish()?;
    Ok((config, tables, arrays))
}

/// Refuses what a model directory cannot hold, and gives the norms' epsilon.
fn norm_epsilon(settings: &Settings, vocab: &Vocab) -> Result<f64> {
    let start = settings.decoder_start_token.as_deref().context("decoder_start_token is for the caller to give")?;
    ensure!(!settings.add_source_bos, "add_source_bos: sources begin with their first piece here");
    ensure!(settings.add_source_eos, "add_source_eos is false: sources end with the end of sentence here");
    ensure!(!settings.multi_query_attention, "multi_query_attention: each head has keys and values of its own here");
    let tokens = [
        ("unk_token", settings.unk_token.as_str(), vocab.unk()),
        ("bos_token", &settings.bos_token, vocab.bos()),
        ("eos_token", &settings.eos_token, vocab.eos()),
        ("decoder_start_token", start, vocab.bos()),
    ];
    for (name, theirs, id) in tokens {
        let ours = vocabulary::piece(vocab, id);
        ensure!(theirs == ours, "{name} is `{theirs}`, here it is `{ours}`");
    }
    Ok(settings.layer_norm_epsilon.unwrap_or(1e-5))
}

/// The rows of source and target in the order of `vocab`.
fn orders(dir: &Path, vocab: &Vocab) -> Result<[Vec<usize>; 2]> {
    let shared = dir.join(SHARED_VOCABULARY);
    let files = if shared.exists() {
        [shared.clone(), shared]
    } else {
        ["source", "target"].map(|side| dir.join(format!("{side}_vocabulary.json")))
    };
    let order =
        |path: &Path| vocabulary::rows(&vocabulary::read(path)?, vocab).with_context(|| path.display().to_string());
    Ok([order(&files[0])?, order(&files[1])?])
}

impl Source<'_> {
    fn config(&mut self, base: TransformerConfig, layout: Option<RopeLayout>) -> Result<TransformerConfig> {
        let table = self.rest.get(TABLES[1]).with_context(|| format!("`{}` is missing", TABLES[1]))?;
        let &[_, d_model] = table.shape() else { bail!("`{}` is {:?}, no table", TABLES[1], table.shape()) };
        let inner = "encoder/layer_0/ffn/linear_0/weight";
        let d_ff = self.rest.get(inner).and_then(|weight| weight.shape().first().copied());
        let d_ff = d_ff.with_context(|| format!("`{inner}` is missing"))?;
        let [encoder, decoder] = [self.stack(Stack::Encoder)?, self.stack(Stack::Decoder)?];
        ensure!(encoder.0 == decoder.0, "num_heads is {} and {}: both stacks have the same here", encoder.0, decoder.0);
        ensure!(encoder.1 == decoder.1, "pre_norm differs between the stacks: they are alike here");
        let [encoder_layers, decoder_layers] = Stack::BOTH.map(|stack| self.layers(stack));
        let (n_heads, norm) = encoder;
        let mut config = TransformerConfig { d_model, n_heads, d_ff, encoder_layers, decoder_layers, norm, ..base };
        config.validate()?;
        self.positions(&mut config, layout)?;
        Ok(config)
    }

    /// Heads and norms of a stack, all else being as it is here.
    fn stack(&mut self, stack: Stack) -> Result<(usize, NormPlacement)> {
        let scope = stack.name();
        self.expect(&format!("{scope}/activation"), 0, "only ReLU is computed here")?;
        self.expect(&format!("{scope}/scale_embeddings"), 1, "embeddings are scaled by sqrt(d_model) here")?;
        for (name, number, reason) in [
            ("embeddings_merge", 0, "a token has one embedding here"),
            ("multi_query_attention", 0, "each head has keys and values of its own here"),
            ("alibi", 0, "there are no position biases here"),
            ("alibi_use_positive_positions", 0, "there are no position biases here"),
            ("scale_alibi", 0, "there are no position biases here"),
            ("start_from_zero_embedding", 0, "the decoder's first input is embedded here"),
            ("alignment_layer", -1, "alignments are not kept here"),
            ("alignment_heads", 1, "alignments are not kept here"),
        ] {
            let name = format!("{scope}/{name}");
            if self.rest.contains_key(&name) {
                self.expect(&name, number, reason)?;
            }
        }
        let n_heads = self.integer(&format!("{scope}/num_heads"))?;
        ensure!(n_heads >= 1, "{scope}/num_heads is {n_heads}");
        let is_pre = self.integer(&format!("{scope}/pre_norm"))? != 0;
        Ok((n_heads as usize, if is_pre { NormPlacement::Pre } else { NormPlacement::Post }))
    }

    fn layers(&self, stack: Stack) -> usize {
        let is_there = |layer: &usize| {
            let scope = format!("{}/layer_{layer}/", stack.name());
            self.rest.range(scope.clone()..).next().is_some_and(|(name, _)| name.starts_with(&scope))
        };
        (0..self.rest.len()).take_while(is_there).count()
    }

    fn positions(&mut self, config: &mut TransformerConfig, layout: Option<RopeLayout>) -> Result<()> {
        if self.rest.contains_key(&format!("{}/rotary_dim", self_attention(Stack::Encoder, 0))) {
            return self.rotations(config, layout);
        }
        ensure!(layout.is_none(), "--rope-layout: the model has no rotations");
        let relative = self.rest.keys().find(|name| name.contains("/relative_"));
        ensure!(relative.is_none(), "`{}`: there are no relative positions here", relative.map_or("", String::as_str));
        config.positions = Positions::Sinusoidal;
        for stack in Stack::BOTH {
            self.sinusoids(&encodings(stack), config.d_model)?;
        }
        Ok(())
    }

    fn rotations(&mut self, config: &mut TransformerConfig, layout: Option<RopeLayout>) -> Result<()> {
        let mut first = None;
        for stack in Stack::BOTH {
            for layer in 0..stack.layers(config) {
                let scope = self_attention(stack, layer);
                let dim = self.integer(&format!("{scope}/rotary_dim"))?;
                ensure!(
                    dim == 0 || usize::try_from(dim) == Ok(config.d_head()),
                    "{scope}/rotary_dim is {dim}: all is rotated here"
                );
                let base = self.number(&format!("{scope}/rotary_base"))?;
                let is_interleaved = self.integer(&format!("{scope}/rotary_interleave"))? != 0;
                let rotation = *first.get_or_insert((base, is_interleaved));
                ensure!(
                    rotation == (base, is_interleaved),
                    "{scope}: rotary_base or rotary_interleave is not the first layer's"
                );
            }
        }
        let (base, is_interleaved) = first.context("no layers")?;
        let found = if is_interleaved { RopeLayout::Interleaved } else { RopeLayout::HalfSplit };
        if let Some(asked) = layout.filter(|asked| *asked != found) {
            bail!("the rotations are {}, --rope-layout says {}", rotary::word(found), rotary::word(asked));
        }
        (config.rope_theta, config.rope_layout) = (base.into(), found);
        Ok(())
    }

    /// Refuses positions that are not the sinusoids of a model directory.
    fn sinusoids(&mut self, name: &str, d_model: usize) -> Result<()> {
        let Some(table) = self.rest.remove(name) else {
            bail!(
                "no rotations and no `{name}`: its sinusoids stand in halves and begin at 1, here interleaved and at 0"
            );
        };
        let &[positions, width] = table.shape() else { bail!("`{name}` is {:?}, no table", table.shape()) };
        ensure!(width == d_model && positions > 1, "`{name}` is [{positions}, {width}], d_model is {d_model}");
        let numbers = table.numbers();
        let is_ours = numbers.iter().zip(sinusoids(0, positions, d_model)).all(|(a, b)| (a - b).abs() < TOLERANCE);
        ensure!(
            is_ours,
            "`{name}` is learned, laid out in halves or begins elsewhere than at 0: its positions are not ours"
        );
        Ok(())
    }

    /// A table `[vocab, d_model]`.
    fn table(&mut self, name: &str, config: &TransformerConfig) -> Result<Array> {
        let shape = [config.vocab, config.d_model];
        let table = self.array(name, &shape)?;
        Ok(Array { shape: shape.into(), data: table })
    }

    /// All arrays but the tables.
    fn parts(&mut self, config: &TransformerConfig) -> Result<Arrays> {
        let mut arrays = Arrays::new();
        for group in groups(config) {
            self.group(&group, &mut arrays)?;
        }
        let bias = "decoder/projection/bias";
        if let Some(numbers) = self.rest.remove(bias).map(|bias| bias.numbers()) {
            ensure!(numbers.iter().all(|number| *number == 0.0), "`{bias}`: the output projection has no bias here");
        }
        Ok(arrays)
    }

    fn group(&mut self, group: &Group, arrays: &mut Arrays) -> Result<()> {
        for (kind, variable) in group.variables().iter().enumerate() {
            let parts: Vec<_> = group.parts.iter().map(|part| part.arrays()[kind].clone()).collect();
            let mut shape = parts[0].1.clone();
            shape[0] *= parts.len();
            let mut numbers = self.array(variable, &shape)?.into_iter();
            for (name, shape) in parts {
                let data = numbers.by_ref().take(shape.iter().product()).collect();
                arrays.insert(name, Array { shape, data });
            }
        }
        Ok(())
    }
}
