//! The output projection: to the whole vocabulary, or for each sentence to a list of its own.

use std::ops::Range;

use umlaut_kernels::inference::{Activations, GivenClass, Matrix, PANEL, TopK};
use umlaut_search::{Candidate, TokenId};

use crate::EngineError;
use crate::engine::Engine;

/// Tokens that the output projection computes at a time: a list that is no multiple of it costs as much as the next one
/// that is.
pub const TOKENS_AT_A_TIME: usize = PANEL;

/// What comes after the last layer.
pub(crate) struct Output {
    /// For each sentence, if translations are restricted.
    lists: Option<Vec<List>>,
    /// A sentence's rows.
    beam: Activations,
    top_k: TopK,
    given: GivenClass,
}

/// The tokens that a sentence's translation may consist of, and their part of the projection.
struct List {
    /// Ascending.
    tokens: Vec<TokenId>,
    weights: Matrix,
}

impl List {
    fn new(engine: &Engine, tokens: &[TokenId]) -> Result<Self, EngineError> {
        engine.check_tokens(tokens)?;
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        let rows: Vec<u32> = tokens.iter().map(|token| token.0).collect();
        Ok(Self { tokens, weights: engine.embeddings().output().gather(&rows) })
    }
}

impl Output {
    /// To the whole vocabulary.
    pub(crate) fn whole(engine: &Engine) -> Self {
        let beam = Activations::new(engine.precision());
        Self { lists: None, beam, top_k: TopK::default(), given: GivenClass::default() }
    }

    /// To a list for each sentence.
    pub(crate) fn within(engine: &Engine, lists: &[Vec<TokenId>]) -> Result<Self, EngineError> {
        let lists = lists.iter().map(|tokens| List::new(engine, tokens)).collect::<Result<_, _>>()?;
        Ok(Self { lists: Some(lists), ..Self::whole(engine) })
    }

    /// Fills `candidates`, `[rows, k]`, for the rows of `x`, `[rows, d_model]`, each of its sentence.
    pub(crate) fn best(
        &mut self,
        engine: &Engine,
        x: &Activations,
        sentences: &[usize],
        k: usize,
        candidates: &mut Vec<Candidate>,
    ) {
        let Some(lists) = &self.lists else {
            self.top_k.find(x, engine.embeddings().output(), k);
            return extend(candidates, &self.top_k, x.rows(), k, TokenId);
        };
        for (sentence, rows) in beams(sentences) {
            let List { tokens, weights } = &lists[sentence];
            self.beam.set_rows(x, rows.clone());
            self.top_k.find(&self.beam, weights, k);
            extend(candidates, &self.top_k, rows.len(), k, |class| tokens[class as usize]);
        }
    }

    /// Fills `log_probs`, `[rows]`, with those of `next`, `[rows]`; a token outside its sentence's list has -inf.
    pub(crate) fn given(
        &mut self,
        engine: &Engine,
        x: &Activations,
        sentences: &[usize],
        next: &[TokenId],
        log_probs: &mut Vec<f32>,
    ) {
        let Some(lists) = &self.lists else {
            let classes: Vec<u32> = next.iter().map(|token| token.0).collect();
            self.given.find(x, engine.embeddings().output(), &classes);
            return log_probs.extend(self.given.log_probs());
        };
        for (row, (&sentence, token)) in sentences.iter().zip(next).enumerate() {
            let List { tokens, weights } = &lists[sentence];
            let Ok(class) = tokens.binary_search(token) else {
                log_probs.push(f32::NEG_INFINITY);
                continue;
            };
            self.beam.set_rows(x, row..row + 1);
            self.given.find(&self.beam, weights, &[class as u32]);
            log_probs.extend(self.given.log_probs());
        }
    }
}

/// Adds `rows` rows of `k` candidates; what a row lacks is -inf.
fn extend(candidates: &mut Vec<Candidate>, top_k: &TopK, rows: usize, k: usize, token: impl Fn(u32) -> TokenId) {
    let before = candidates.len();
    for row in 0..rows {
        candidates.extend(top_k.row(row).map(|(class, log_prob)| Candidate { token: token(class), log_prob }));
        candidates.resize(before + (row + 1) * k, Candidate { token: TokenId(0), log_prob: f32::NEG_INFINITY });
    }
}

/// Each sentence with its rows, which stand together.
pub(crate) fn beams(sentences: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
    let mut first = 0;
    sentences.chunk_by(|a, b| a == b).map(move |beam| {
        first += beam.len();
        (beam[0], first - beam.len()..first)
    })
}
