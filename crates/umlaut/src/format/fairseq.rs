//! Weights under the tensor names of fairseq's Transformer, in safetensors.
//!
//! A folder holds `model.safetensors`, `config.json` (below: fairseq's own names of the hyperparameters, and what fairseq
//! has no word for), `vocabulary.json` (the pieces in the order of the embeddings' rows) and `vocab.model`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use umlaut_model::directory::{self, CONFIG, Storage, WEIGHTS};
use umlaut_model::parameters::Arrays;
use umlaut_model::{Embeddings, NormPlacement, Positions, RopeLayout, TransformerConfig};
use umlaut_text::Vocab;

use super::inventory::{self, Part};
use super::{Model, VOCAB, rotary, vocabulary};

/// The pieces in the order of the rows.
const PIECES: &str = "vocabulary.json";
/// The tables of source, target and output.
const TABLES: [&str; 3] =
    ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "decoder.output_projection.weight"];

/// `config.json`. Every field must be there but those of one kind of positions when the other is used, and the dropouts.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the file")]
struct Settings {
    tensor_names: String,
    vocab_size: usize,
    encoder_embed_dim: usize,
    decoder_embed_dim: usize,
    encoder_ffn_embed_dim: usize,
    decoder_ffn_embed_dim: usize,
    encoder_attention_heads: usize,
    decoder_attention_heads: usize,
    encoder_layers: usize,
    decoder_layers: usize,
    encoder_normalize_before: bool,
    decoder_normalize_before: bool,
    encoder_learned_pos: bool,
    decoder_learned_pos: bool,
    layernorm_embedding: bool,
    layer_norm_epsilon: f64,
    activation_fn: String,
    no_scale_embedding: bool,
    share_all_embeddings: bool,
    positions: Positions,
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_layout: Option<RopeLayout>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rope_theta: Option<f64>,
    /// Sine and cosine of a frequency are neighbours, or sines stand in one half and cosines in the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    sinusoid_layout: Option<String>,
    /// The position of a sentence's first token.
    first_position: usize,
    add_source_eos: bool,
    decoder_start_token: String,
    #[serde(default)]
    dropout: f32,
    #[serde(default)]
    attention_dropout: f32,
    #[serde(default)]
    activation_dropout: f32,
}

/// Writes a model into the folder `dir`.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(mut model: Model, vocab: &Vocab, dir: &Path) -> Result<()> {
    let mut json = serde_json::to_vec_pretty(&settings(&model.config, vocab))?;
    json.push(b'\n');
    let mut arrays = Arrays::new();
    for (theirs, ours) in TABLES.iter().zip(inventory::tables(model.config.embeddings)) {
        arrays.insert((*theirs).into(), model.arrays.get(ours).context("a checked model has its tables")?.clone());
    }
    for part in inventory::parts(&model.config) {
        for (ours, theirs) in names(&part) {
            arrays.insert(theirs, model.arrays.remove(&ours).context("a checked model has its parts")?);
        }
    }
    directory::write_whole(&dir.join(CONFIG), &json)?;
    directory::write_whole(&dir.join(PIECES), &vocabulary::to_json(vocab)?)?;
    directory::write_whole(&dir.join(VOCAB), vocab.as_bytes())?;
    Ok(directory::write_arrays(&arrays, &dir.join(WEIGHTS), Storage::F32)?)
}

/// Reads a model from the folder `dir`. Its rows come into the order of `vocab`; its rotations stay as they are.
///
/// # Errors
/// Names what is missing or damaged, or what a model directory cannot hold, with the reason.
pub(crate) fn read(dir: &Path, vocab: &Vocab, layout: Option<RopeLayout>) -> Result<Model> {
    let path = dir.join(CONFIG);
    let json = std::fs::read(&path).with_context(|| path.display().to_string())?;
    let settings: Settings = serde_json::from_slice(&json).with_context(|| path.display().to_string())?;
    refuse(&settings, vocab).with_context(|| path.display().to_string())?;
    vocab.check_len(settings.vocab_size, &path)?;
    let config = config(&settings, vocab, layout).with_context(|| path.display().to_string())?;
    let weights = dir.join(WEIGHTS);
    let theirs = directory::read_arrays(&weights)?;
    let rows = vocabulary::rows(&vocabulary::read(&dir.join(PIECES))?, vocab)?;
    let arrays = rename(theirs, &config, &rows).with_context(|| weights.display().to_string())?;
    Model::new(config, arrays)
}

fn settings(config: &TransformerConfig, vocab: &Vocab) -> Settings {
    let (is_pre, is_rope) = (config.norm == NormPlacement::Pre, config.positions == Positions::Rope);
    Settings {
        tensor_names: "fairseq".into(),
        vocab_size: config.vocab,
        encoder_embed_dim: config.d_model,
        decoder_embed_dim: config.d_model,
        encoder_ffn_embed_dim: config.d_ff,
        decoder_ffn_embed_dim: config.d_ff,
        encoder_attention_heads: config.n_heads,
        decoder_attention_heads: config.n_heads,
        encoder_layers: config.encoder_layers,
        decoder_layers: config.decoder_layers,
        encoder_normalize_before: is_pre,
        decoder_normalize_before: is_pre,
        encoder_learned_pos: false,
        decoder_learned_pos: false,
        layernorm_embedding: false,
        layer_norm_epsilon: config.norm_epsilon,
        activation_fn: "relu".into(),
        no_scale_embedding: false,
        share_all_embeddings: config.embeddings == Embeddings::Shared,
        positions: config.positions,
        rope_layout: is_rope.then_some(config.rope_layout),
        rope_theta: is_rope.then_some(config.rope_theta),
        sinusoid_layout: (!is_rope).then(|| "interleaved".into()),
        first_position: 0,
        add_source_eos: true,
        decoder_start_token: vocabulary::piece(vocab, vocab.bos()).into(),
        dropout: config.dropout,
        attention_dropout: config.attention_dropout,
        activation_dropout: config.activation_dropout,
    }
}

/// Refuses what a model directory cannot hold.
fn refuse(settings: &Settings, vocab: &Vocab) -> Result<()> {
    let s = settings;
    ensure!(s.tensor_names == "fairseq", "tensor_names is `{}`, `fairseq` is read", s.tensor_names);
    for (name, encoder, decoder) in [
        ("embed_dim", s.encoder_embed_dim, s.decoder_embed_dim),
        ("ffn_embed_dim", s.encoder_ffn_embed_dim, s.decoder_ffn_embed_dim),
        ("attention_heads", s.encoder_attention_heads, s.decoder_attention_heads),
        ("normalize_before", s.encoder_normalize_before.into(), s.decoder_normalize_before.into()),
    ] {
        ensure!(encoder == decoder, "encoder_{name} and decoder_{name} differ: one width serves both here");
    }
    ensure!(s.activation_fn == "relu", "activation_fn is `{}`: only relu is computed here", s.activation_fn);
    ensure!(!s.no_scale_embedding, "no_scale_embedding: embeddings are scaled by sqrt(d_model) here");
    ensure!(!(s.encoder_learned_pos || s.decoder_learned_pos), "learned positions have no place here");
    ensure!(!s.layernorm_embedding, "layernorm_embedding: embeddings are not normalised here");
    ensure!(s.first_position == 0, "first_position is {}: positions begin at 0 here", s.first_position);
    ensure!(s.add_source_eos, "add_source_eos: sources end with the end of sentence here");
    let start = vocabulary::piece(vocab, vocab.bos());
    ensure!(s.decoder_start_token == start, "the decoder starts at `{}`, here at `{start}`", s.decoder_start_token);
    if s.positions == Positions::Sinusoidal {
        let layout = s.sinusoid_layout.as_deref().context("sinusoid_layout is missing")?;
        ensure!(layout == "interleaved", "sinusoid_layout is `{layout}`: sines and cosines are interleaved here");
    }
    Ok(())
}

fn config(settings: &Settings, vocab: &Vocab, layout: Option<RopeLayout>) -> Result<TransformerConfig> {
    let is_rope = settings.positions == Positions::Rope;
    ensure!(is_rope || layout.is_none(), "--rope-layout: the model has no rotations");
    let rope_layout = match (settings.rope_layout, layout) {
        (Some(said), Some(asked)) if said != asked => {
            bail!("rope_layout is {}, --rope-layout says {}", rotary::word(said), rotary::word(asked))
        }
        (None, None) if is_rope => bail!("rope_layout is missing; say it with --rope-layout"),
        (said, asked) => said.or(asked).unwrap_or_default(),
    };
    let (theta, base) = (settings.rope_theta, super::base_config(vocab));
    Ok(TransformerConfig {
        d_model: settings.encoder_embed_dim,
        n_heads: settings.encoder_attention_heads,
        d_ff: settings.encoder_ffn_embed_dim,
        encoder_layers: settings.encoder_layers,
        decoder_layers: settings.decoder_layers,
        norm: if settings.encoder_normalize_before { NormPlacement::Pre } else { NormPlacement::Post },
        positions: settings.positions,
        rope_theta: if is_rope { theta.context("rope_theta is missing")? } else { base.rope_theta },
        rope_layout,
        embeddings: if settings.share_all_embeddings { Embeddings::Shared } else { Embeddings::Separate },
        norm_epsilon: settings.layer_norm_epsilon,
        dropout: settings.dropout,
        attention_dropout: settings.attention_dropout,
        activation_dropout: settings.activation_dropout,
        ..base
    })
}

/// Arrays under our names, from arrays under theirs.
fn rename(mut theirs: Arrays, config: &TransformerConfig, rows: &[usize]) -> Result<Arrays> {
    let mut arrays = Arrays::new();
    let shape = [config.vocab, config.d_model];
    for (name, ours) in TABLES.into_iter().zip(inventory::tables(config.embeddings)) {
        let Some(table) = theirs.remove(name) else {
            ensure!(arrays.contains_key(ours), "`{name}` is missing");
            continue;
        };
        ensure!(table.shape == shape, "`{name}` is {:?}, config.json asks for {shape:?}", table.shape);
        let table = vocabulary::in_order(&table, rows);
        let same = arrays.insert(ours.into(), table.clone()).is_none_or(|first| first == table);
        ensure!(same, "share_all_embeddings, but `{name}` differs from `{}`", TABLES[0]);
    }
    for part in inventory::parts(config) {
        for (ours, name) in names(&part) {
            arrays.insert(ours, theirs.remove(&name).with_context(|| format!("`{name}` is missing"))?);
        }
    }
    match theirs.into_keys().next() {
        Some(name) => bail!("`{name}` has no place here{}", reason(&name)),
        None => Ok(arrays),
    }
}

/// Why an array is refused, where its name tells.
fn reason(name: &str) -> &'static str {
    if name.ends_with("embed_positions.weight") {
        ": it holds learned positions"
    } else if name.ends_with("embed_positions._float_tensor") {
        ": it says that sines stand in one half and cosines in the other, from position padding_idx + 1"
    } else if name.contains("layernorm_embedding") {
        ": it normalises embeddings"
    } else {
        ""
    }
}

/// Our names of weight and bias, each with theirs.
fn names(part: &Part) -> [(String, String); 2] {
    let (ours, theirs) = (part.name(), name(part));
    ["weight", "bias"].map(|kind| (format!("{ours}.{kind}"), format!("{theirs}.{kind}")))
}

fn name(part: &Part) -> String {
    let stack = part.stack.name();
    let Some(layer) = part.layer else { return format!("{stack}.layer_norm") };
    let words = part.sublayer.split('.').filter_map(|word| match word {
        "self_attention" => Some("self_attn"),
        "self_attention_norm" => Some("self_attn_layer_norm"),
        "cross_attention" => Some("encoder_attn"),
        "cross_attention_norm" => Some("encoder_attn_layer_norm"),
        "query" => Some("q_proj"),
        "key" => Some("k_proj"),
        "value" => Some("v_proj"),
        "output" => Some("out_proj"),
        "inner" => Some("fc1"),
        "outer" => Some("fc2"),
        "feed_forward_norm" => Some("final_layer_norm"),
        // `feed_forward`: its layers stand in the layer itself.
        _ => None,
    });
    format!("{stack}.layers.{layer}.{}", words.collect::<Vec<_>>().join("."))
}
