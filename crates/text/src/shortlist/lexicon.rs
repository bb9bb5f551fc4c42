//! IBM model 1: the probability of a target token given a source token, learned from sentence pairs.
//!
//! A target token is explained by one of the source's tokens or by none (`NULL`), all equally likely beforehand (Brown et
//! al. 1993, section 4.2). Each iteration of expectation-maximisation shares every target token f of a pair out among the
//! source tokens e in proportion to t(f | e), equation 14, and makes t(f | e) of the shares, equation 13.
//!
//! Memory is bounded: what e explains is limited to the [`KEPT`] likeliest after the first iteration, which is counted
//! block by block of source tokens. The result does not depend on threads: within a block sums are taken in the order of
//! the corpus, and later shares are summed as integers.

use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::TokenId;
use crate::corpus::PairCorpus;

/// Target tokens that a source token can explain.
const KEPT: usize = 512;
/// Shares counted at a time in the first iteration: 16 MiB of them on each thread.
const BLOCK: usize = 1 << 22;
/// A share of 1, as an integer: exact to 2^-32, and room for 2^32 tokens.
const ONE: f64 = 4_294_967_296.0;

/// t(f | e) for each source token e, and for `NULL` behind them.
pub(super) struct Lexicon {
    /// `[vocab + 2]`: where the entries of each source token begin.
    offsets: Vec<usize>,
    /// Ascending for each source token.
    targets: Vec<u32>,
    probabilities: Vec<f32>,
}

impl Lexicon {
    /// Learns from a corpus over a joint vocabulary of `vocab` tokens. `iterations` is at least 1.
    pub(super) fn train(corpus: &PairCorpus, vocab: usize, iterations: usize) -> Self {
        let mut lexicon = Self::first_iteration(corpus, vocab);
        for _ in 1..iterations {
            lexicon.improve(corpus);
        }
        lexicon
    }

    /// The target tokens of a source token with their probabilities, in the order of ids.
    pub(super) fn targets(&self, source: usize) -> impl Iterator<Item = (TokenId, f32)> {
        let range = self.offsets[source]..self.offsets[source + 1];
        self.targets[range.clone()].iter().map(|&token| TokenId(token)).zip(self.probabilities[range].iter().copied())
    }

    /// From equal probabilities: every target token is shared out equally.
    fn first_iteration(corpus: &PairCorpus, vocab: usize) -> Self {
        let (sources, per_block) = (vocab + 1, (BLOCK / vocab).max(1));
        let blocks = (0..sources.div_ceil(per_block)).into_par_iter().map(|block| {
            let first = block * per_block;
            let shares = block_shares(corpus, vocab, first, per_block.min(sources - first));
            shares.chunks_exact(vocab).map(likeliest).collect::<Vec<_>>()
        });
        let mut lexicon = Self { offsets: vec![0], targets: Vec::new(), probabilities: Vec::new() };
        for (targets, probabilities) in blocks.collect::<Vec<_>>().into_iter().flatten() {
            lexicon.targets.extend(targets);
            lexicon.probabilities.extend(probabilities);
            lexicon.offsets.push(lexicon.targets.len());
        }
        lexicon
    }

    fn improve(&mut self, corpus: &PairCorpus) {
        let counts: Vec<AtomicU64> = self.targets.iter().map(|_| AtomicU64::new(0)).collect();
        let null = self.offsets.len() - 2;
        (0..corpus.len()).into_par_iter().for_each(|pair| {
            let sources: Vec<usize> = sources_of(corpus, pair, null).collect();
            for target in corpus.tgt.get(pair) {
                let entries: Vec<usize> = sources.iter().filter_map(|&source| self.entry(source, target.0)).collect();
                let sum: f64 = entries.iter().map(|&entry| f64::from(self.probabilities[entry])).sum();
                for entry in entries {
                    let share = f64::from(self.probabilities[entry]) / sum;
                    counts[entry].fetch_add((share * ONE) as u64, Ordering::Relaxed);
                }
            }
        });
        for range in self.offsets.windows(2) {
            let counts = counts[range[0]..range[1]].iter().map(|count| count.load(Ordering::Relaxed));
            let total: u64 = counts.clone().sum();
            for (probability, count) in self.probabilities[range[0]..range[1]].iter_mut().zip(counts) {
                *probability = (count as f64 / total.max(1) as f64) as f32;
            }
        }
    }

    fn entry(&self, source: usize, target: u32) -> Option<usize> {
        let (first, end) = (self.offsets[source], self.offsets[source + 1]);
        self.targets[first..end].binary_search(&target).ok().map(|place| first + place)
    }
}

/// The source tokens of a pair and `NULL`.
fn sources_of(corpus: &PairCorpus, pair: usize, null: usize) -> impl Iterator<Item = usize> {
    corpus.src.get(pair).into_iter().map(|token| token.0 as usize).chain([null])
}

/// What each of `count` source tokens from `first` on gets when every target token is shared out equally:
/// `[count, vocab]`.
fn block_shares(corpus: &PairCorpus, vocab: usize, first: usize, count: usize) -> Vec<f32> {
    let mut shares = vec![0.0; count * vocab];
    for pair in 0..corpus.len() {
        let share = 1.0 / (corpus.src.length(pair) + 1) as f32;
        let sources = sources_of(corpus, pair, vocab).filter(|source| (first..first + count).contains(source));
        let sources: Vec<usize> = sources.collect();
        if sources.is_empty() {
            continue;
        }
        let targets = corpus.tgt.get(pair);
        for source in sources {
            let row = &mut shares[(source - first) * vocab..][..vocab];
            for target in &targets {
                row[target.0 as usize] += share;
            }
        }
    }
    shares
}

/// The target tokens with the greatest shares, of equal ones the lower, in the order of ids, and their probabilities.
fn likeliest(shares: &[f32]) -> (Vec<u32>, Vec<f32>) {
    let mut targets: Vec<u32> = (0..shares.len() as u32).filter(|&target| shares[target as usize] > 0.0).collect();
    if targets.len() > KEPT {
        targets
            .select_nth_unstable_by(KEPT, |&a, &b| shares[b as usize].total_cmp(&shares[a as usize]).then(a.cmp(&b)));
        targets.truncate(KEPT);
        targets.sort_unstable();
    }
    let total: f64 = targets.iter().map(|&target| f64::from(shares[target as usize])).sum();
    let probability = |&target: &u32| (f64::from(shares[target as usize]) / total) as f32;
    let probabilities = targets.iter().map(probability).collect();
    (targets, probabilities)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn corpus(pairs: &[(&[u32], &[u32])]) -> PairCorpus {
        let mut corpus = PairCorpus::new(20);
        let ids = |ids: &[u32]| ids.iter().copied().map(TokenId).collect::<Vec<_>>();
        for (src, tgt) in pairs {
            corpus.src.push(&ids(src));
            corpus.tgt.push(&ids(tgt));
        }
        corpus
    }

    fn small() -> PairCorpus {
        corpus(&[
            (&[4, 5], &[10, 11]),
            (&[4, 6], &[10, 12]),
            (&[5], &[11]),
            (&[6, 6, 4], &[12, 12, 10, 13]),
            (&[7], &[]),
        ])
    }

    /// Brown et al. written out: dense, f64, one pair after the other.
    fn plain(corpus: &PairCorpus, vocab: usize, iterations: usize) -> HashMap<(usize, u32), f64> {
        let mut t: HashMap<(usize, u32), f64> = HashMap::new();
        for iteration in 0..iterations {
            let probability =
                |key: &(usize, u32)| if iteration == 0 { 1.0 } else { t.get(key).copied().unwrap_or(0.0) };
            let (mut counts, mut totals) = (HashMap::new(), HashMap::new());
            for pair in 0..corpus.len() {
                let sources: Vec<usize> = sources_of(corpus, pair, vocab).collect();
                for TokenId(f) in corpus.tgt.get(pair) {
                    let sum: f64 = sources.iter().map(|&e| probability(&(e, f))).sum();
                    for &e in &sources {
                        let share = probability(&(e, f)) / sum;
                        *counts.entry((e, f)).or_insert(0.0) += share;
                        *totals.entry(e).or_insert(0.0) += share;
                    }
                }
            }
            t = counts.into_iter().map(|((e, f), count)| ((e, f), count / totals[&e])).collect();
        }
        t
    }

    #[test]
    fn probabilities_are_those_of_the_equations_written_out() {
        for iterations in 1..6 {
            let (lexicon, plain) = (Lexicon::train(&small(), 20, iterations), plain(&small(), 20, iterations));
            assert_eq!(lexicon.targets.len(), plain.len());
            for source in 0..=20 {
                for (target, probability) in lexicon.targets(source) {
                    let want = plain[&(source, target.0)];
                    assert!((f64::from(probability) - want).abs() < 1e-6, "{source} {target:?} after {iterations}");
                }
            }
        }
    }

    #[test]
    fn words_that_go_together_find_each_other() {
        let lexicon = Lexicon::train(&small(), 20, 20);
        for (source, target) in [(4, 10), (5, 11), (6, 12)] {
            let best = lexicon.targets(source).max_by(|a, b| a.1.total_cmp(&b.1));
            assert_eq!(best.map(|(token, _)| token), Some(TokenId(target)));
        }
        assert_eq!(lexicon.targets(7).count() + lexicon.targets(8).count(), 0, "nothing goes with them");
    }

    #[test]
    fn only_the_likeliest_are_kept_and_of_equal_ones_the_lower() {
        let mut shares = vec![1.0; 600];
        (shares[3], shares[599]) = (0.0, 2.0);
        let (targets, probabilities) = likeliest(&shares);
        assert_eq!((targets.len(), targets[3], targets[511], targets[510]), (KEPT, 4, 599, 511));
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    }
}
