//! What the search returns.

use std::cmp::Ordering;

use crate::TokenId;

/// A translation in tokens, with the model's opinion of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens, without BOS and without EOS.
    pub tokens: Vec<TokenId>,
    /// log p(tokens | source) in nats, at most 0; the factor of EOS is included when the hypothesis [`Ended`] by it.
    pub log_prob: f64,
    /// `log_prob` divided by the [`LengthPenalty`](crate::LengthPenalty).
    pub score: f64,
    /// Why it is no longer.
    pub ended: Ended,
}

impl Hypothesis {
    /// Complete ones first, then the higher score.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        self.ended.cmp(&other.ended).then(other.score.total_cmp(&self.score))
    }
}

/// How a hypothesis came to its end. Complete ones sort before those that were cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ended {
    /// The model said so.
    Eos,
    /// The sentence's length limit was reached, or the model had no admissible token left.
    Limit,
}
