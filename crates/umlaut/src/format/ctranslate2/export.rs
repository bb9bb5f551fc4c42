//! Writing a folder that CTranslate2 loads.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};
use umlaut_model::directory::{CONFIG, write_whole};
use umlaut_model::parameters::{Array, Arrays};
use umlaut_model::position::sinusoids;
use umlaut_model::{Embeddings, NormPlacement, Positions, RopeLayout, TransformerConfig};
use umlaut_text::Vocab;

use super::binary::{self, Aliases, Variable, Variables};
use super::{Group, MODEL, SHARED_VOCABULARY, Settings, Stack, TABLES, encodings, groups, self_attention};
use crate::format::{Model, VOCAB, inventory, vocabulary};

/// Rows of a sinusoidal table: CTranslate2 computes no others, so sentences of more tokens fail there.
const POSITIONS: usize = 2048;

/// What matrices are stored as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Type {
    /// Exactly
    #[default]
    F32,
    /// A quarter of the size, one scale for each row
    Int8,
}

/// Writes a model into the folder `dir`.
///
/// # Errors
/// If the model has no layers, or a file cannot be written.
pub(crate) fn write(mut model: Model, vocab: &Vocab, dir: &Path, stored: Type) -> Result<()> {
    let config = model.config.clone();
    ensure!(config.encoder_layers > 0 && config.decoder_layers > 0, "CTranslate2 needs a layer in each stack");
    let (mut variables, mut aliases) = (Variables::new(), Aliases::new());
    for stack in Stack::BOTH {
        variables.extend(attributes(stack, &config)?);
    }
    add_positions(&config, &mut variables, &mut aliases);
    add_tables(&config, &mut model.arrays, stored, &mut variables, &mut aliases)?;
    for group in groups(&config) {
        add_group(&group, &mut model.arrays, stored, &mut variables)?;
    }
    let path = dir.join(MODEL);
    write_variables(&variables, &aliases, &path).with_context(|| path.display().to_string())?;
    write_whole(&dir.join(SHARED_VOCABULARY), &vocabulary::to_json(vocab)?)?;
    write_whole(&dir.join(VOCAB), vocab.as_bytes())?;
    let mut settings = serde_json::to_vec_pretty(&settings(&config, vocab))?;
    settings.push(b'\n');
    Ok(write_whole(&dir.join(CONFIG), &settings)?)
}

fn write_variables(variables: &Variables<'_>, aliases: &Aliases, path: &Path) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    binary::write(variables, aliases, &mut out)?;
    out.flush()?;
    Ok(out.into_inner().map_err(IntoInnerError::into_error)?.sync_all()?)
}

fn settings(config: &TransformerConfig, vocab: &Vocab) -> Settings {
    let piece = |id| vocabulary::piece(vocab, id).to_owned();
    Settings {
        add_source_bos: false,
        add_source_eos: true,
        bos_token: piece(vocab.bos()),
        decoder_start_token: Some(piece(vocab.bos())),
        eos_token: piece(vocab.eos()),
        layer_norm_epsilon: Some(config.norm_epsilon),
        multi_query_attention: false,
        unk_token: piece(vocab.unk()),
    }
}

/// That a decoder has no linear biases and embeds its first input.
const NO_BIASES: [(&str, i8); 4] =
    [("alibi", 0), ("alibi_use_positive_positions", 0), ("scale_alibi", 0), ("start_from_zero_embedding", 0)];

/// The numbers that a specification has beside its arrays.
fn attributes(stack: Stack, config: &TransformerConfig) -> Result<Variables<'static>> {
    let n_heads = i16::try_from(config.n_heads).context("n_heads is more than this format can say")?;
    let (is_pre, is_rope) = (config.norm == NormPlacement::Pre, config.positions == Positions::Rope);
    // Activation 0 is ReLU.
    let mut flags = vec![("activation", 0), ("pre_norm", is_pre.into()), ("scale_embeddings", 1)];
    flags.extend_from_slice(match stack {
        Stack::Encoder => &[("embeddings_merge", 0), ("multi_query_attention", 0)],
        Stack::Decoder => &NO_BIASES,
    });
    let mut numbers = vec![("num_heads", Variable::int16(n_heads))];
    if stack == Stack::Decoder {
        // The last layer's first head: it matters to who asks for alignments only.
        numbers.extend([("alignment_heads", Variable::int16(1)), ("alignment_layer", Variable::int16(-1))]);
    }
    numbers.extend(flags.into_iter().map(|(name, flag)| (name, Variable::int8(flag))));
    let scope = stack.name();
    let mut variables: Variables<'_> =
        numbers.into_iter().map(|(name, number)| (format!("{scope}/{name}"), number)).collect();
    for layer in (0..stack.layers(config)).filter(|_| is_rope) {
        let scope = self_attention(stack, layer);
        let is_interleaved = config.rope_layout == RopeLayout::Interleaved;
        // Dimension 0 is all of a head.
        variables.insert(format!("{scope}/rotary_dim"), Variable::int32(0));
        variables.insert(format!("{scope}/rotary_interleave"), Variable::int8(is_interleaved.into()));
        variables.insert(format!("{scope}/rotary_base"), Variable::floats(&[], [config.rope_theta as f32]));
    }
    Ok(variables)
}

fn add_positions(config: &TransformerConfig, variables: &mut Variables<'_>, aliases: &mut Aliases) {
    if config.positions == Positions::Sinusoidal {
        let table = Variable::floats(&[POSITIONS, config.d_model], sinusoids(0, POSITIONS, config.d_model));
        variables.insert(encodings(Stack::Decoder), table);
        aliases.insert(encodings(Stack::Encoder), encodings(Stack::Decoder));
    }
}

fn add_tables(
    config: &TransformerConfig,
    arrays: &mut Arrays,
    stored: Type,
    variables: &mut Variables<'_>,
    aliases: &mut Aliases,
) -> Result<()> {
    let [source, target, output] = TABLES;
    let named = match config.embeddings {
        Embeddings::Shared => {
            aliases.extend([source, output].map(|name| (name.into(), target.into())));
            &TABLES[1..2]
        }
        Embeddings::Separate => &TABLES,
    };
    for (name, ours) in named.iter().zip(inventory::tables(config.embeddings)) {
        add_matrix(name, &arrays.remove(ours).context("a checked model has its tables")?, stored, variables);
    }
    Ok(())
}

fn add_group(group: &Group, arrays: &mut Arrays, stored: Type, variables: &mut Variables<'_>) -> Result<()> {
    for (kind, variable) in group.variables().iter().enumerate() {
        let mut joined = Array { shape: Vec::new(), data: Vec::new() };
        for part in &group.parts {
            let (name, _) = &part.arrays()[kind];
            let Array { shape, data } = arrays.remove(name).context("a checked model has its parts")?;
            joined.data.extend(data);
            joined.shape = shape;
        }
        joined.shape[0] *= group.parts.len();
        if joined.shape.len() == 2 {
            add_matrix(variable, &joined, stored, variables);
        } else {
            variables.insert(variable.clone(), Variable::floats(&joined.shape, joined.data));
        }
    }
    Ok(())
}

/// Adds `[rows, width]`, as int8 with a scale for each row where asked.
fn add_matrix(name: &str, matrix: &Array, stored: Type, variables: &mut Variables<'_>) {
    if stored == Type::F32 {
        variables.insert(name.into(), Variable::floats(&matrix.shape, matrix.data.iter().copied()));
        return;
    }
    let (mut codes, mut scales) = (Vec::with_capacity(matrix.data.len()), Vec::new());
    for row in matrix.data.chunks_exact(matrix.shape[1]) {
        let scale = scale_of(row);
        codes.extend(row.iter().map(|number| (number * scale).round_ties_even() as i8));
        scales.push(scale);
    }
    variables.insert(name.into(), Variable::codes(&matrix.shape, &codes));
    variables.insert(format!("{name}_scale"), Variable::floats(&[matrix.shape[0]], scales));
}

/// By what a row is multiplied to fill -127..=127; 1 for a row of zeros. It stays finite for the tiniest of numbers.
fn scale_of(row: &[f32]) -> f32 {
    let greatest = row.iter().fold(0.0, |greatest: f32, number| greatest.max(number.abs()));
    if greatest == 0.0 { 1.0 } else { (127.0 / greatest).min(f32::MAX) }
}
