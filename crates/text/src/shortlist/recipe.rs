//! How a shortlist is made: what may enter, and how much of it.

use super::{Shortlist, file, lexicon::Lexicon};
use crate::corpus::PairCorpus;
use crate::{TokenId, Vocab};

/// Frequent tokens kept to fill lists up with.
const FILLERS: usize = 128;

/// How a [`Shortlist`] is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShortlistRecipe {
    /// Iterations of expectation-maximisation, at least 1.
    pub iterations: usize,
    /// The greatest number of target tokens for a source token.
    pub per_token: usize,
    /// The least probability, given the source token, with which a target token is one of them.
    pub threshold: f32,
    /// The most frequent target tokens, which are in every list.
    pub frequent: usize,
}

impl Default for ShortlistRecipe {
    fn default() -> Self {
        Self { iterations: 5, per_token: 50, threshold: 0.001, frequent: 128 }
    }
}

impl ShortlistRecipe {
    /// Learns from pairs over `vocab` which target tokens a source token becomes.
    ///
    /// It runs on the present rayon pool; the result does not depend on its size.
    #[must_use]
    pub fn train(&self, corpus: &PairCorpus, vocab: &Vocab) -> Shortlist {
        let lexicon = Lexicon::train(corpus, vocab.len(), self.iterations.max(1));
        let mut ranking = by_frequency(corpus, vocab);
        let frequent = self.frequent.min(ranking.len());
        ranking.truncate(frequent + FILLERS);
        Shortlist {
            vocab: vocab.len(),
            vocab_checksum: file::checksum(vocab.as_bytes()),
            ranking,
            frequent,
            lists: (0..vocab.len()).map(|source| self.list(lexicon.targets(source))).collect(),
        }
    }

    /// The likeliest, of equal ones the lower id, in the order of ids.
    fn list(&self, targets: impl Iterator<Item = (TokenId, f32)>) -> Vec<TokenId> {
        let mut targets: Vec<(TokenId, f32)> = targets.filter(|&(_, p)| p > 0.0 && p >= self.threshold).collect();
        targets.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        targets.truncate(self.per_token);
        let mut tokens: Vec<TokenId> = targets.into_iter().map(|(token, _)| token).collect();
        tokens.sort_unstable();
        tokens
    }
}

/// Target tokens and EOS, the most frequent first, of equal ones the lower id; those that never occur are left out.
fn by_frequency(corpus: &PairCorpus, vocab: &Vocab) -> Vec<TokenId> {
    let mut counts = vec![0_u64; vocab.len()];
    for pair in 0..corpus.len() {
        corpus.tgt.get(pair).iter().for_each(|token| counts[token.0 as usize] += 1);
    }
    counts[vocab.eos().0 as usize] += corpus.len() as u64;
    let mut ranking: Vec<TokenId> = (0..vocab.len() as u32).map(TokenId).collect();
    ranking.retain(|token| counts[token.0 as usize] > 0);
    ranking.sort_by_key(|token| std::cmp::Reverse(counts[token.0 as usize]));
    ranking
}
