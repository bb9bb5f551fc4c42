//! chrF (Popović, 2015, "chrF: character n-gram F-score for automatic MT evaluation") and chrF++ (Popović, 2017), as
//! sacreBLEU defines them: with effective order, white space left out.

use std::collections::HashMap;
use std::hash::Hash;

use crate::corpus::{Corpus, Segment};
use crate::signature::Signature;
use crate::statistics::Statistics;
use crate::tokenizer::Case;
use crate::whitespace;

/// How the orders make one figure. The two differ where a side has no n-grams of some order, and for chrF++.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Averaging {
    /// `eff:yes`: F of the mean precision and recall, over the orders that both sides have (sacreBLEU's default).
    #[default]
    EffectiveOrder,
    /// `eff:no`: the mean F over all orders (the original chrF++.py, Moses, NLTK; sacreBLEU's epsilon smoothing).
    EveryOrder,
}

/// How chrF is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chrf {
    /// The longest character n-grams counted.
    pub char_order: usize,
    /// The longest word n-grams counted: 0 for chrF, 2 for chrF++.
    pub word_order: usize,
    /// How many times recall outweighs precision.
    pub beta: u32,
    /// How the orders make one figure.
    pub averaging: Averaging,
    /// Whether letter case counts.
    pub case: Case,
}

impl Default for Chrf {
    /// chrF2: characters up to 6, no words, beta 2.
    fn default() -> Self {
        Self { char_order: 6, word_order: 0, beta: 2, averaging: Averaging::EffectiveOrder, case: Case::Mixed }
    }
}

/// F = (1 + beta^2) P R / (beta^2 P + R), with P and R averaged over the orders that both sides have; `factor` is beta^2.
fn f_of_averages(orders: impl Iterator<Item = (f64, f64, f64)>, factor: f64) -> f64 {
    let (mut precision, mut recall, mut effective_order) = (0.0, 0.0, 0.0);
    for (hypothesis, reference, matches) in orders.filter(|order| order.0 > 0.0 && order.1 > 0.0) {
        precision += matches / hypothesis;
        recall += matches / reference;
        effective_order += 1.0;
    }
    if precision + recall == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (precision / effective_order, recall / effective_order);
    (1.0 + factor) * precision * recall / (factor * precision + recall)
}

/// The mean over all orders of (1 + beta^2) P R / (beta^2 P + R), each of P, R and F being 1e-16 where it is undefined.
fn average_of_f(orders: impl ExactSizeIterator<Item = (f64, f64, f64)>, factor: f64) -> f64 {
    const EPSILON: f64 = 1e-16;
    let count = orders.len().max(1) as f64;
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { EPSILON };
    let scores = orders.map(|(hypothesis, reference, matches)| {
        let (precision, recall) = (ratio(matches, hypothesis), ratio(matches, reference));
        ratio((1.0 + factor) * precision * recall, factor * precision + recall)
    });
    scores.sum::<f64>() / count
}

/// A line as the two sequences whose n-grams are compared.
struct Units<'a> {
    characters: Vec<char>,
    words: Vec<&'a str>,
}

impl Chrf {
    /// chrF++: chrF2 with words up to 2.
    #[must_use]
    pub fn plus_plus() -> Self {
        Self { word_order: 2, ..Self::default() }
    }

    pub(crate) fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    pub(crate) fn statistics(&self, corpus: &Corpus<'_>) -> Statistics {
        let width = 3 * (self.char_order + self.word_order);
        Statistics::collect(corpus, width, |segment| self.segment_statistics(segment))
    }

    pub(crate) fn signature(&self, references: usize) -> Signature {
        let effective = match self.averaging {
            Averaging::EffectiveOrder => "yes",
            Averaging::EveryOrder => "no",
        };
        Signature::new(references)
            .with("case", self.case.name())
            .with("eff", effective)
            .with("nc", self.char_order)
            .with("nw", self.word_order)
            .with("space", "no")
    }

    /// chrF, 0 to 100, from column sums of statistics, `[3 * orders]`.
    pub(crate) fn value_of(&self, total: &[f64]) -> f64 {
        let factor = f64::from(self.beta).powi(2);
        let orders = total.chunks_exact(3).map(|order| (order[0], order[1], order[2]));
        100.0
            * match self.averaging {
                Averaging::EffectiveOrder => f_of_averages(orders, factor),
                Averaging::EveryOrder => average_of_f(orders, factor),
            }
    }

    /// `[hypothesis n-grams, reference n-grams, matches]` for each order, of the reference with the highest chrF.
    fn segment_statistics(&self, segment: &Segment<'_>) -> Vec<f64> {
        let hypothesis = self.case.apply(segment.hypothesis);
        let hypothesis = Units::of(&hypothesis);
        let mut best: Option<(f64, Vec<f64>)> = None;
        for reference in &segment.references {
            let reference = self.case.apply(reference);
            let counts = self.count(&hypothesis, &Units::of(&reference));
            let score = self.value_of(&counts);
            // The first of equals stays.
            if best.as_ref().is_none_or(|(highest, _)| score > *highest) {
                best = Some((score, counts));
            }
        }
        best.map(|(_, counts)| counts).unwrap_or_default()
    }

    fn count(&self, hypothesis: &Units<'_>, reference: &Units<'_>) -> Vec<f64> {
        let characters =
            (1..=self.char_order).flat_map(|n| count_order(&hypothesis.characters, &reference.characters, n));
        let words = (1..=self.word_order).flat_map(|n| count_order(&hypothesis.words, &reference.words, n));
        characters.chain(words).collect()
    }
}

impl<'a> Units<'a> {
    fn of(line: &'a str) -> Self {
        Self {
            characters: line.chars().filter(|&c| !whitespace::is_space(c)).collect(),
            words: whitespace::split(line).flat_map(split_punctuation).collect(),
        }
    }
}

/// `word` with one ASCII punctuation mark split off its end, or else off its start.
fn split_punctuation(word: &str) -> impl Iterator<Item = &str> {
    let is_mark = |c: char| c.is_ascii_punctuation();
    let cut = if word.chars().nth(1).is_none() {
        word.len()
    } else if word.ends_with(is_mark) {
        word.len() - 1
    } else if word.starts_with(is_mark) {
        1
    } else {
        word.len()
    };
    let (first, second) = word.split_at(cut);
    [first, second].into_iter().filter(|part| !part.is_empty())
}

/// `[hypothesis n-grams, reference n-grams, matches]` of one order. A hypothesis is not charged with n-grams so long that
/// the reference has none.
fn count_order<T: Eq + Hash>(hypothesis: &[T], reference: &[T], order: usize) -> [f64; 3] {
    let reference_ngrams = reference.windows(order).len();
    if reference_ngrams == 0 {
        return [0.0; 3];
    }
    let mut unmatched: HashMap<&[T], u32> = HashMap::with_capacity(reference_ngrams);
    for ngram in reference.windows(order) {
        *unmatched.entry(ngram).or_default() += 1;
    }
    let mut matches = 0_u32;
    for ngram in hypothesis.windows(order) {
        if let Some(left) = unmatched.get_mut(ngram).filter(|left| **left > 0) {
            *left -= 1;
            matches += 1;
        }
    }
    [hypothesis.windows(order).len() as f64, reference_ngrams as f64, f64::from(matches)]
}
