//! The search written a second time, for clarity alone: one sentence, whole distributions, no early stop; and the
//! enumeration of everything a model can say.

use umlaut_search::{BeamOptions, Ended, Hypothesis, TokenId};

use crate::toy::Toy;

struct Prefix {
    tokens: Vec<TokenId>,
    log_prob: f64,
}

/// All continuations of one prefix that the options admit, in token order.
fn continuations(toy: &dyn Toy, source: u64, prefix: &Prefix, options: &BeamOptions) -> Vec<Prefix> {
    let mut all = Vec::new();
    for (id, log_prob) in (0u32..).zip(toy.log_probs(source, &prefix.tokens)) {
        let token = TokenId(id);
        let too_short = token == options.eos && prefix.tokens.len() < options.min_len;
        if log_prob == f32::NEG_INFINITY || too_short || options.forbidden.contains(&token) {
            continue;
        }
        let mut tokens = prefix.tokens.clone();
        tokens.push(token);
        all.push(Prefix { tokens, log_prob: prefix.log_prob + f64::from(log_prob.min(0.0)) });
    }
    all
}

fn hypothesis(prefix: Prefix, options: &BeamOptions) -> Hypothesis {
    let Prefix { mut tokens, log_prob } = prefix;
    let score = options.length_penalty.score(log_prob, tokens.len());
    let ended = if tokens.last() == Some(&options.eos) { Ended::Eos } else { Ended::Limit };
    if ended == Ended::Eos {
        tokens.pop();
    }
    Hypothesis { tokens, log_prob, score, ended }
}

fn rank(mut hypotheses: Vec<Hypothesis>, n_best: usize) -> Vec<Hypothesis> {
    hypotheses.sort_by(|a, b| a.ended.cmp(&b.ended).then(b.score.total_cmp(&a.score)));
    hypotheses.truncate(n_best);
    hypotheses
}

/// Beam search by its definition.
pub(crate) fn plain_search(toy: &dyn Toy, source: u64, limit: usize, options: &BeamOptions) -> Vec<Hypothesis> {
    let mut beam = vec![Prefix { tokens: Vec::new(), log_prob: 0.0 }];
    let mut finished = Vec::new();
    for _ in 0..limit {
        let mut ranked: Vec<_> = beam.iter().flat_map(|prefix| continuations(toy, source, prefix, options)).collect();
        ranked.sort_by(|a, b| b.log_prob.total_cmp(&a.log_prob));
        beam.clear();
        ranked.truncate(options.width);
        for prefix in ranked {
            if prefix.tokens.last() == Some(&options.eos) {
                finished.push(hypothesis(prefix, options));
            } else {
                beam.push(prefix);
            }
        }
        finished.sort_by(|a: &Hypothesis, b| b.score.total_cmp(&a.score));
        let present_score = |prefix: &Prefix| options.length_penalty.score(prefix.log_prob, prefix.tokens.len());
        if finished.get(options.width - 1).is_some_and(|worst| beam.iter().all(|it| present_score(it) <= worst.score)) {
            break;
        }
    }
    if finished.len() < options.width {
        finished.extend(beam.into_iter().map(|prefix| hypothesis(prefix, options)));
    }
    rank(finished, options.n_best)
}

/// Everything that ends by EOS within the limit, and everything that is cut by it.
pub(crate) fn enumerate(toy: &dyn Toy, source: u64, limit: usize, options: &BeamOptions) -> Vec<Hypothesis> {
    let mut open = vec![Prefix { tokens: Vec::new(), log_prob: 0.0 }];
    let mut all = Vec::new();
    while let Some(prefix) = open.pop() {
        for longer in continuations(toy, source, &prefix, options) {
            if longer.tokens.last() == Some(&options.eos) || longer.tokens.len() == limit {
                all.push(hypothesis(longer, options));
            } else {
                open.push(longer);
            }
        }
    }
    rank(all, options.n_best)
}
