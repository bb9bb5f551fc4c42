//! The encoder, over sentences packed one after the other: no padding is computed.

use umlaut_kernels::inference::{KeyValues, Write};
use umlaut_search::TokenId;

use crate::engine::Engine;
use crate::layer::{SelfAttention, Workspace};
use crate::position::Positions;

/// Source tokens encoded at a time, a sentence being the least: enough to keep weights in use, few enough for the caches.
const CHUNK: usize = 384;

/// Cross-attention's keys and values: for each sentence, for each layer of the decoder.
pub(crate) type Memory = Vec<Vec<KeyValues>>;

/// Encodes sentences of at least one token each and projects them for the decoder.
pub(crate) fn encode(engine: &Engine, sources: &[&[TokenId]], positions: &mut Positions) -> Memory {
    positions.extend_to(sources.iter().map(|source| source.len()).max().unwrap_or(0));
    let mut workspace = Workspace::new(engine.precision());
    let mut memory = Memory::new();
    let mut rest = sources;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |source: &&&[TokenId]| {
            let before = tokens;
            tokens += source.len();
            before < CHUNK
        };
        let (chunk, later) = rest.split_at(rest.iter().take_while(fits).count());
        memory.extend(encode_chunk(engine, chunk, positions, &mut workspace));
        rest = later;
    }
    memory
}

fn encode_chunk(engine: &Engine, sources: &[&[TokenId]], positions: &Positions, workspace: &mut Workspace) -> Memory {
    let lengths: Vec<usize> = sources.iter().map(|source| source.len()).collect();
    let tokens = sources.iter().flat_map(|source| source.iter().enumerate());
    let mut x =
        engine.embed(engine.embeddings().source(), tokens.map(|(position, &token)| (token, position)), positions);
    for layer in engine.encoder_layers() {
        self_attend(engine, &layer.self_attention, &lengths, positions, &mut x, workspace);
        layer.feed_forward.apply(&mut x, workspace);
    }
    match engine.encoder_norm() {
        Some(norm) => workspace.operand.set_normalised(&x, norm),
        None => workspace.operand.set(&x, engine.config().d_model),
    }
    project(engine, &lengths, workspace)
}

/// The self-attention sublayer of `x`, `[sum of lengths, d_model]`.
fn self_attend(
    engine: &Engine,
    layer: &SelfAttention,
    lengths: &[usize],
    positions: &Positions,
    x: &mut Vec<f32>,
    workspace: &mut Workspace,
) {
    let (d_model, heads) = (engine.config().d_model, engine.config().heads());
    let Workspace { operand, projected, attended, .. } = workspace;
    layer.norm.enter(x, operand);
    layer.input.apply(operand, Write::Assign, projected);
    attended.resize(x.len(), 0.0);
    let (mut projected, mut attended) = (projected.as_mut_slice(), attended.as_mut_slice());
    for &len in lengths {
        let (rows, other_rows) = projected.split_at_mut(len * 3 * d_model);
        let (out, other_out) = attended.split_at_mut(len * d_model);
        for (position, row) in rows.chunks_exact_mut(3 * d_model).enumerate() {
            positions.rotate(position, &mut row[..2 * d_model]);
        }
        let sentence = KeyValues::new(engine.precision(), heads, rows, 3 * d_model, d_model, 2 * d_model);
        sentence.attend(rows, 3 * d_model, out);
        (projected, attended) = (other_rows, other_out);
    }
    operand.set(&workspace.attended, d_model);
    layer.output.apply(operand, Write::Add, x);
    layer.norm.leave(x);
}

/// Projects the encoder's output, which is the workspace's operand, to keys and values of each decoder layer.
fn project(engine: &Engine, lengths: &[usize], workspace: &mut Workspace) -> Memory {
    let (d_model, heads) = (engine.config().d_model, engine.config().heads());
    let mut memory: Memory = vec![Vec::new(); lengths.len()];
    for layer in engine.decoder_layers() {
        layer.cross_attention.key_value.apply(&workspace.operand, Write::Assign, &mut workspace.projected);
        let mut rows = workspace.projected.as_slice();
        for (sentence, len) in memory.iter_mut().zip(lengths) {
            let (own, others) = rows.split_at(len * 2 * d_model);
            sentence.push(KeyValues::new(engine.precision(), heads, own, 2 * d_model, 0, d_model));
            rows = others;
        }
    }
    memory
}
