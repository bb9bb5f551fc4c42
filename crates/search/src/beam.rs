//! The search itself, as a value ([`Beam`]) that advances one token at a time.

use std::cmp::Ordering;
use std::ops::Range;

use crate::{
    BeamOptions, Candidate, Ended, Hypothesis, LengthPenalty, OptionsError, SearchError, StepDecoder, TokenId,
};

/// Finds good translations for each sentence that a fresh `decoder` holds; `limits` (`[sentences]`) gives the greatest
/// number of tokens each may have, EOS counted. Returns `[sentences]` lists of 1 to `n_best` distinct hypotheses, best
/// first.
///
/// The definition, for each sentence by itself:
///
/// 1. The beam starts with the empty prefix. A step ranks the continuations of all its prefixes by log-probability
///    (of equal ones, that of the better prefix, then the lower token id). Forbidden tokens, and EOS before `min_len`
///    tokens, are no continuations.
/// 2. The `width` best are kept. Those that end in EOS are finished and leave the beam, the others are its next
///    prefixes. So `width = 1` is greedy search.
/// 3. The sentence is done when no prefix is left, or when `width` hypotheses have finished and no prefix would, at its
///    present length, score above the `width` best of them (the rule that Hugging Face's `transformers` has for
///    `early_stopping = False`). To go on while a prefix could only beat them by growing longer costs a quarter more
///    steps at `length^0.6`, twice as many at `length^1`, and almost never finds anything.
/// 4. At the limit the prefixes still in the beam, now of `limit` tokens, are cut: they become hypotheses as they are,
///    [`Ended::Limit`], and rank after every one that ended by EOS, since a probability without that factor does not
///    compare with one that has it.
/// 5. Hypotheses are ranked by score; of equal ones, that which finished first comes first.
///
/// The search stops sooner where that changes nothing: when even the best score that a prefix can still reach, its
/// log-probability at the length limit, does not beat the `n_best`-th finished hypothesis (Huang, Zhao and Ma,
/// EMNLP 2017, with the score used here). The answer therefore depends on `n_best` only in its length.
///
/// A sentence owns as many decoder rows as it has live prefixes: one at the first step, none once it is done. Nothing
/// about a sentence depends on the others in the batch.
///
/// Log-probabilities above 0 (rounding) count as 0, tokens with -inf as absent. If no token is left, the prefixes are
/// cut as at the limit: every sentence has at least one hypothesis.
///
/// # Errors
/// [`SearchError`]: settings that contradict themselves, a limit of 0, a failure of the decoder, or NaN from it.
///
/// # Panics
/// If the decoder answers with another number of candidates than `rows * k`.
pub fn beam_search<D: StepDecoder>(
    decoder: &mut D,
    limits: &[usize],
    options: &BeamOptions,
) -> Result<Vec<Vec<Hypothesis>>, SearchError<D::Error>> {
    options.check()?;
    let mut beam = Beam::new(limits, options)?;
    let k = options.candidates_per_row();
    let mut candidates = Vec::new();
    while !beam.live.is_empty() {
        decoder.step(&beam.last_tokens(), k, &mut candidates).map_err(SearchError::Decoder)?;
        assert_eq!(candidates.len(), beam.live.len() * k, "a decoder answers with [rows, k] candidates");
        let parents = beam.advance(&candidates)?;
        if !parents.is_empty() {
            decoder.reorder(&parents);
        }
    }
    Ok(beam.into_hypotheses())
}

/// The state of a search.
struct Beam<'a> {
    options: &'a BeamOptions,
    /// `[sentences]`.
    sentences: Vec<Sentence>,
    /// `[rows]`, one for each decoder row: sentences in order, within one the most probable first.
    live: Vec<Prefix>,
}

/// What is settled about one sentence.
struct Sentence {
    /// The greatest number of tokens, EOS counted.
    limit: usize,
    /// Best first.
    finished: Vec<Hypothesis>,
}

/// A hypothesis in the making.
#[derive(Clone)]
struct Prefix {
    /// Index into [`Beam::sentences`].
    sentence: usize,
    /// `[step]`, without BOS.
    tokens: Vec<TokenId>,
    /// In nats.
    log_prob: f64,
}

/// A prefix with one more token.
#[derive(Clone, Copy)]
struct Continuation {
    /// Row of the prefix.
    parent: usize,
    token: TokenId,
    /// Of the whole, in nats.
    log_prob: f64,
}

impl<'a> Beam<'a> {
    fn new(limits: &[usize], options: &'a BeamOptions) -> Result<Self, OptionsError> {
        if let Some(sentence) = limits.iter().position(|&limit| limit == 0) {
            return Err(OptionsError::Limit { sentence });
        }
        let sentences = limits.iter().map(|&limit| Sentence { limit, finished: Vec::new() }).collect();
        let live = (0..limits.len()).map(|sentence| Prefix { sentence, tokens: Vec::new(), log_prob: 0.0 }).collect();
        Ok(Self { options, sentences, live })
    }

    /// `[rows]`: what the decoder is fed next.
    fn last_tokens(&self) -> Vec<TokenId> {
        self.live.iter().map(|prefix| prefix.tokens.last().copied().unwrap_or(self.options.bos)).collect()
    }

    /// Takes the decoder's answer (`[rows, k]`) and returns the parent of each row of the next step.
    fn advance<E>(&mut self, candidates: &[Candidate]) -> Result<Vec<usize>, SearchError<E>> {
        let live = std::mem::take(&mut self.live);
        let mut parents = Vec::with_capacity(live.len());
        let mut first_row = 0;
        for prefixes in live.chunk_by(|a, b| a.sentence == b.sentence) {
            let rows = first_row..first_row + prefixes.len();
            first_row = rows.end;
            let ranked = self.rank(&live, rows.clone(), candidates)?;
            for survivor in self.settle(&live, rows, &ranked) {
                parents.push(survivor.parent);
                self.live.push(survivor.prefix(&live));
            }
        }
        Ok(parents)
    }

    /// The admissible continuations of one sentence's `rows`, best first.
    fn rank<E>(
        &self,
        live: &[Prefix],
        rows: Range<usize>,
        candidates: &[Candidate],
    ) -> Result<Vec<Continuation>, SearchError<E>> {
        let k = self.options.candidates_per_row();
        let mut ranked = Vec::with_capacity(rows.len() * k);
        for parent in rows {
            let Prefix { sentence, tokens, log_prob } = &live[parent];
            for &candidate in &candidates[parent * k..(parent + 1) * k] {
                if candidate.log_prob.is_nan() {
                    return Err(SearchError::NotANumber { sentence: *sentence, length: tokens.len() });
                }
                if self.admits(candidate, tokens.len()) {
                    let log_prob = log_prob + f64::from(candidate.log_prob.min(0.0));
                    ranked.push(Continuation { parent, token: candidate.token, log_prob });
                }
            }
        }
        ranked.sort_unstable_by(Continuation::order);
        Ok(ranked)
    }

    /// Whether a prefix of `length` tokens may go on with this one.
    fn admits(&self, candidate: Candidate, length: usize) -> bool {
        let too_short = candidate.token == self.options.eos && length < self.options.min_len;
        candidate.log_prob > f32::NEG_INFINITY && !too_short && !self.options.forbidden.contains(&candidate.token)
    }

    /// Finishes what ends in this step and returns what lives on, best first.
    fn settle(&mut self, live: &[Prefix], rows: Range<usize>, ranked: &[Continuation]) -> Vec<Continuation> {
        let BeamOptions { width, eos, length_penalty, .. } = *self.options;
        let prefixes = &live[rows];
        let sentence = &mut self.sentences[prefixes[0].sentence];
        let length = prefixes[0].tokens.len() + 1;
        let kept = &ranked[..width.min(ranked.len())];
        let (endings, survivors): (Vec<_>, Vec<_>) = kept.iter().partition(|continuation| continuation.token == eos);
        for Continuation { parent, log_prob, .. } in endings {
            let score = length_penalty.score(log_prob, length);
            sentence.finish(Hypothesis { tokens: live[parent].tokens.clone(), log_prob, score, ended: Ended::Eos });
        }
        if sentence.is_done(self.options, survivors.first(), length) {
            return Vec::new();
        }
        if survivors.is_empty() {
            sentence.cut(prefixes.iter().cloned(), length_penalty);
        } else if length == sentence.limit {
            sentence.cut(survivors.iter().map(|survivor| survivor.prefix(live)), length_penalty);
            return Vec::new();
        }
        survivors
    }

    fn into_hypotheses(self) -> Vec<Vec<Hypothesis>> {
        let n_best = self.options.n_best;
        let best = |mut sentence: Sentence| {
            sentence.finished.truncate(n_best);
            sentence.finished
        };
        self.sentences.into_iter().map(best).collect()
    }
}

impl Sentence {
    /// Files a hypothesis behind all that are at least as good.
    fn finish(&mut self, hypothesis: Hypothesis) {
        let place = self.finished.partition_point(|kept| kept.order(&hypothesis).is_le());
        self.finished.insert(place, hypothesis);
    }

    /// Files prefixes as they are.
    fn cut(&mut self, prefixes: impl Iterator<Item = Prefix>, penalty: LengthPenalty) {
        for Prefix { tokens, log_prob, .. } in prefixes {
            let score = penalty.score(log_prob, tokens.len());
            self.finish(Hypothesis { tokens, log_prob, score, ended: Ended::Limit });
        }
    }

    /// Whether the search is over: by definition, or because nothing that can still happen enters the n-best list. The
    /// survivors have `length` tokens.
    fn is_done(&self, options: &BeamOptions, best_survivor: Option<&Continuation>, length: usize) -> bool {
        let Some(survivor) = best_survivor else {
            return !self.finished.is_empty();
        };
        let beats = |rank: usize, length: usize| {
            let score = options.length_penalty.score(survivor.log_prob, length);
            self.finished.get(rank - 1).is_none_or(|kept| score > kept.score)
        };
        !beats(options.width, length) || !beats(options.n_best, self.limit)
    }
}

impl Continuation {
    /// Most probable first; among equals the better prefix, then the lower token.
    fn order(&self, other: &Self) -> Ordering {
        let by_log_prob = other.log_prob.total_cmp(&self.log_prob);
        by_log_prob.then(self.parent.cmp(&other.parent)).then(self.token.cmp(&other.token))
    }

    /// The prefix it makes.
    fn prefix(&self, live: &[Prefix]) -> Prefix {
        let parent = &live[self.parent];
        let mut tokens = Vec::with_capacity(parent.tokens.len() + 1);
        tokens.extend_from_slice(&parent.tokens);
        tokens.push(self.token);
        Prefix { sentence: parent.sentence, tokens, log_prob: self.log_prob }
    }
}
