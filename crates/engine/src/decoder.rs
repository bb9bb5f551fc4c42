//! One step of the decoder for all live rows.

use umlaut_kernels::inference::{SlotCache, Write};
use umlaut_search::{Candidate, ForcedDecoder, StepDecoder, TokenId};

use crate::EngineError;
use crate::encoder::{Memory, encode};
use crate::engine::Engine;
use crate::layer::{CrossAttention, SelfAttention, Workspace};
use crate::output::{Output, beams};
use crate::paths::Paths;
use crate::position::Positions;

/// A batch being decoded: the encoder's output for each sentence, and what the live rows have read so far.
///
/// A row's candidates depend on its sentence and its prefix alone, to the bit: neither on other rows nor on how many
/// there are.
pub struct Decoder<'a> {
    engine: &'a Engine,
    memory: Memory,
    positions: Positions,
    /// The sentence of each live row.
    sentences: Vec<usize>,
    paths: Paths,
    /// One for each layer.
    caches: Vec<SlotCache>,
    workspace: Workspace,
    output: Output,
}

impl<'a> Decoder<'a> {
    /// Encodes `sources` and makes a row for each; `output` comes after the last layer.
    pub(crate) fn new(engine: &'a Engine, sources: &[&[TokenId]], output: Output) -> Result<Self, EngineError> {
        if let Some(index) = sources.iter().position(|source| source.is_empty()) {
            return Err(EngineError::EmptySource { index });
        }
        sources.iter().try_for_each(|source| engine.check_tokens(source))?;
        let mut positions = Positions::new(engine.config());
        let memory = encode(engine, sources, &mut positions);
        Ok(Self {
            engine,
            memory,
            positions,
            sentences: (0..sources.len()).collect(),
            paths: Paths::new(sources.len()),
            caches: vec![SlotCache::new(engine.precision(), engine.config().heads()); engine.config().decoder_layers],
            workspace: Workspace::new(engine.precision()),
            output,
        })
    }

    /// Runs the stack over one token for each row; the workspace's operand becomes what the output projection reads.
    fn advance(&mut self, last: &[TokenId]) {
        let engine = self.engine;
        let position = self.paths.len();
        self.paths.extend();
        self.positions.extend_to(position + 1);
        let tokens = last.iter().map(|&token| (token, position));
        let mut x = engine.embed(engine.embeddings().target(), tokens, &self.positions);
        for (index, layer) in engine.decoder_layers().iter().enumerate() {
            self.self_attend(index, &layer.self_attention, position, &mut x);
            self.cross_attend(index, &layer.cross_attention, &mut x);
            layer.feed_forward.apply(&mut x, &mut self.workspace);
        }
        match engine.decoder_norm() {
            Some(norm) => self.workspace.operand.set_normalised(&x, norm),
            None => self.workspace.operand.set(&x, engine.config().d_model),
        }
    }

    fn self_attend(&mut self, index: usize, layer: &SelfAttention, position: usize, x: &mut Vec<f32>) {
        let d_model = self.engine.config().d_model;
        let Workspace { operand, projected, attended, .. } = &mut self.workspace;
        layer.norm.enter(x, operand);
        layer.input.apply(operand, Write::Assign, projected);
        let cache = &mut self.caches[index];
        cache.extend_to(self.paths.total());
        for (row, projected) in projected.chunks_exact_mut(3 * d_model).enumerate() {
            self.positions.rotate(position, &mut projected[..2 * d_model]);
            let (key, value) = projected[d_model..].split_at(d_model);
            cache.set(self.paths.latest(row), key, value);
        }
        attended.resize(x.len(), 0.0);
        cache.attend(projected, 3 * d_model, self.paths.slots(), self.paths.len(), attended);
        operand.set(attended, d_model);
        layer.output.apply(operand, Write::Add, x);
        layer.norm.leave(x);
    }

    fn cross_attend(&mut self, index: usize, layer: &CrossAttention, x: &mut Vec<f32>) {
        let d_model = self.engine.config().d_model;
        let Workspace { operand, projected, attended, .. } = &mut self.workspace;
        layer.norm.enter(x, operand);
        layer.query.apply(operand, Write::Assign, projected);
        attended.resize(x.len(), 0.0);
        for (sentence, rows) in beams(&self.sentences) {
            let range = rows.start * d_model..rows.end * d_model;
            self.memory[sentence][index].attend(&projected[range.clone()], d_model, &mut attended[range]);
        }
        operand.set(attended, d_model);
        layer.output.apply(operand, Write::Add, x);
        layer.norm.leave(x);
    }
}

impl StepDecoder for Decoder<'_> {
    type Error = EngineError;

    /// # Panics
    /// If `last` has another number of tokens than there are live rows.
    fn step(&mut self, last: &[TokenId], k: usize, candidates: &mut Vec<Candidate>) -> Result<(), EngineError> {
        assert_eq!(last.len(), self.sentences.len(), "a token for each live row");
        self.engine.check_tokens(last)?;
        candidates.clear();
        if last.is_empty() || k == 0 {
            return Ok(());
        }
        self.advance(last);
        self.output.best(self.engine, &self.workspace.operand, &self.sentences, k, candidates);
        Ok(())
    }

    /// # Panics
    /// If a parent is no live row.
    fn reorder(&mut self, parents: &[usize]) {
        self.sentences = parents.iter().map(|&row| self.sentences[row]).collect();
        self.paths.reorder(parents);
    }
}

impl ForcedDecoder for Decoder<'_> {
    /// # Panics
    /// If `last` or `next` have another number of tokens than there are live rows.
    fn step_to(&mut self, last: &[TokenId], next: &[TokenId], log_probs: &mut Vec<f32>) -> Result<(), EngineError> {
        assert_eq!([last.len(), next.len()], [self.sentences.len(); 2], "two tokens for each live row");
        self.engine.check_tokens(last)?;
        self.engine.check_tokens(next)?;
        log_probs.clear();
        if last.is_empty() {
            return Ok(());
        }
        self.advance(last);
        self.output.given(self.engine, &self.workspace.operand, &self.sentences, next, log_probs);
        Ok(())
    }
}
