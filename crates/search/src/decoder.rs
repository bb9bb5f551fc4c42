//! What search and scoring see of a model: something that extends live rows by one token.

/// A vocabulary index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u32);

/// A possible next token of one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token.
    pub token: TokenId,
    /// log p(token | source, prefix) in nats, at most 0.
    pub log_prob: f32,
}

/// A model that extends live hypotheses by one token at a time.
///
/// A fresh decoder holds one row for each source sentence, in the order given when it was made; [`reorder`] changes
/// which rows are live.
///
/// [`reorder`]: StepDecoder::reorder
pub trait StepDecoder {
    /// What can go wrong in a step.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Feeds `last` (`[rows]`, one token for each live row) and fills `candidates` (`[rows, k]`, row-major) with each
    /// row's `k` most probable next tokens, best first; of equal ones the lower id comes first.
    ///
    /// `k` may exceed the vocabulary: rows then hold as many candidates as there are tokens, padded with
    /// `log_prob = -inf`.
    ///
    /// # Errors
    /// Whatever the model reports.
    fn step(&mut self, last: &[TokenId], k: usize, candidates: &mut Vec<Candidate>) -> Result<(), Self::Error>;

    /// Makes row `i` of the next step a continuation of the present row `parents[i]`. Rows named by no one are dropped;
    /// a row named twice is copied.
    fn reorder(&mut self, parents: &[usize]);
}

/// A model that can also be asked about tokens that somebody else chose.
pub trait ForcedDecoder: StepDecoder {
    /// Feeds `last` (`[rows]`) as [`step`](StepDecoder::step) does and fills `log_probs` (`[rows]`) with
    /// log p(`next[row]` | source, prefix) in nats: to the bit what `step` gives for that token; -inf for one that `step`
    /// never gives.
    ///
    /// # Errors
    /// Whatever the model reports.
    fn step_to(&mut self, last: &[TokenId], next: &[TokenId], log_probs: &mut Vec<f32>) -> Result<(), Self::Error>;
}
