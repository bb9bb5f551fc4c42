//! Models for tests: characters are tokens, and a translation is a copy.

use std::cmp::Ordering;
use std::convert::Infallible;
use std::num::NonZero;

use umlaut_search::{Candidate, ForcedDecoder, StepDecoder, TokenId};

use crate::{Model, Options, Special, Translator};

const SPECIAL: Special = Special { unk: TokenId(0), bos: TokenId(1), eos: TokenId(2), pad: TokenId(3) };

/// An invisible token, as a lone space is to a real vocabulary.
pub(crate) const INVISIBLE: TokenId = TokenId(4);

/// Says the characters of its source again, with less probability something near them.
#[derive(Debug, Default)]
pub(crate) struct Copy {
    /// Says a single invisible token first of all.
    pub(crate) mumbles: bool,
}

pub(crate) struct CopyDecoder<'a> {
    model: &'a Copy,
    /// `[rows]`: source and how many tokens were said.
    rows: Vec<(Vec<TokenId>, usize)>,
}

pub(crate) fn copy(options: Options) -> Translator<Copy> {
    Translator::new(Copy::default(), options).expect("the options are good")
}

pub(crate) fn one_thread() -> Options {
    Options::default().with_threads(NonZero::<usize>::MIN)
}

impl Model for Copy {
    type Error = Infallible;
    type Decoder<'a> = CopyDecoder<'a>;

    fn special(&self) -> Special {
        SPECIAL
    }

    fn encode(&self, line: &str) -> Vec<TokenId> {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.join(" ").chars().map(|c| TokenId(u32::from(c) + 5)).collect()
    }

    fn decode(&self, tokens: &[TokenId]) -> String {
        let text: String = tokens.iter().filter_map(|token| char::from_u32(token.0.checked_sub(5)?)).collect();
        text.trim().to_owned()
    }

    fn begins_word(&self, token: TokenId) -> bool {
        token.0 == u32::from(' ') + 5
    }

    fn decoder(&self, sources: &[&[TokenId]]) -> Result<CopyDecoder<'_>, Infallible> {
        assert!(sources.iter().all(|source| source.len() > 1), "a blank line reached the model");
        assert!(sources.iter().all(|source| source.ends_with(&[SPECIAL.eos])));
        let rows = sources.iter().map(|source| (source.to_vec(), 0)).collect();
        Ok(CopyDecoder { model: self, rows })
    }
}

impl CopyDecoder<'_> {
    /// The next token with 0.9, and a few that follow it in the alphabet.
    fn candidates(&self, source: &[TokenId], said: usize, last: TokenId, k: usize) -> Vec<Candidate> {
        let next = match source.get(said) {
            Some(&token) if last != INVISIBLE => token,
            _ => SPECIAL.eos,
        };
        let near = (1..8).map(|step| Candidate { token: TokenId(next.0 + step), log_prob: -3.0 - step as f32 });
        let mut ranked = vec![Candidate { token: next, log_prob: -0.1 }];
        ranked.extend(near.filter(|candidate| candidate.token > INVISIBLE));
        if self.model.mumbles && said == 0 {
            ranked.push(Candidate { token: INVISIBLE, log_prob: -0.01 });
        }
        ranked.sort_by(|a, b| b.log_prob.partial_cmp(&a.log_prob).unwrap_or(Ordering::Equal));
        ranked.resize(k, Candidate { token: SPECIAL.pad, log_prob: f32::NEG_INFINITY });
        ranked
    }
}

impl StepDecoder for CopyDecoder<'_> {
    type Error = Infallible;

    fn step(&mut self, last: &[TokenId], k: usize, candidates: &mut Vec<Candidate>) -> Result<(), Infallible> {
        assert_eq!(last.len(), self.rows.len());
        candidates.clear();
        for ((source, said), &last) in self.rows.iter().zip(last) {
            candidates.extend(self.candidates(source, *said, last, k));
        }
        self.rows.iter_mut().for_each(|(_, said)| *said += 1);
        Ok(())
    }

    fn reorder(&mut self, parents: &[usize]) {
        self.rows = parents.iter().map(|&parent| self.rows[parent].clone()).collect();
    }
}

impl ForcedDecoder for CopyDecoder<'_> {
    fn step_to(&mut self, last: &[TokenId], next: &[TokenId], log_probs: &mut Vec<f32>) -> Result<(), Infallible> {
        const K: usize = 12;
        let mut candidates = Vec::new();
        self.step(last, K, &mut candidates)?;
        let of = |(row, token): (&[Candidate], &TokenId)| {
            row.iter().find(|candidate| candidate.token == *token).map_or(f32::NEG_INFINITY, |found| found.log_prob)
        };
        log_probs.clear();
        log_probs.extend(candidates.chunks(K).zip(next).map(of));
        Ok(())
    }
}
