//! BLEU (Papineni et al., 2002, "BLEU: a Method for Automatic Evaluation of Machine Translation"), as sacreBLEU
//! defines it.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::compound::Compounds;
use crate::corpus::{Corpus, Segment};
use crate::error::MetricError;
use crate::score::Score;
use crate::signature::Signature;
use crate::statistics::Statistics;
use crate::tokenizer::{Case, Tokenizer};

/// The longest n-grams counted.
const MAX_ORDER: usize = 4;
/// Hypothesis length, reference length, matches per order, hypothesis n-grams per order.
const WIDTH: usize = 2 + 2 * MAX_ORDER;

/// What a precision is when no n-gram of an order matches (Chen and Cherry, 2014, "A Systematic Comparison of Smoothing
/// Techniques for Sentence-Level BLEU"). Without a matching word the score is 0 whatever the smoothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Smoothing {
    /// `exp`: 1/2, 1/4, ... of a match for the first, second, ... empty order (NIST's; sacreBLEU's default).
    #[default]
    Exponential,
    /// `floor`: 0.1 of a match.
    Floor,
    /// `add-k`: one more match and one more n-gram in every order from 2 on.
    AddOne,
    /// `none`: the score is 0.
    None,
}

impl Smoothing {
    const ALL: [Self; 4] = [Self::Exponential, Self::Floor, Self::AddOne, Self::None];

    /// The name on the command line, and sacreBLEU's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exponential => "exp",
            Self::Floor => "floor",
            Self::AddOne => "add-k",
            Self::None => "none",
        }
    }

    /// The value of `smooth` in the signature.
    fn label(self) -> &'static str {
        match self {
            Self::Floor => "floor[0.10]",
            Self::AddOne => "add-k[1.00]",
            Self::Exponential | Self::None => self.name(),
        }
    }
}

impl fmt::Display for Smoothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Smoothing {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self, MetricError> {
        let known = Self::ALL.into_iter().find(|smoothing| smoothing.name() == name);
        known.ok_or_else(|| MetricError::UnknownSmoothing(name.to_owned()))
    }
}

/// How BLEU is computed: with n-grams up to 4 words, no effective order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bleu {
    /// How lines become words.
    pub tokenizer: Tokenizer,
    /// What an order without matches counts.
    pub smoothing: Smoothing,
    /// Whether letter case counts.
    pub case: Case,
    /// Whether hyphenated compounds are taken apart after tokenisation.
    pub compounds: Compounds,
}

impl Default for Bleu {
    /// sacreBLEU's: `case:mixed`, `tok:13a`, `smooth:exp`.
    fn default() -> Self {
        Self {
            tokenizer: Tokenizer::V13a,
            smoothing: Smoothing::Exponential,
            case: Case::Mixed,
            compounds: Compounds::Whole,
        }
    }
}

impl Bleu {
    /// The BLEU of `corpus`.
    #[must_use]
    pub fn score(self, corpus: &Corpus<'_>) -> BleuScore {
        self.score_of(&self.statistics(corpus).total(), corpus.reference_streams())
    }

    pub(crate) fn statistics(self, corpus: &Corpus<'_>) -> Statistics {
        Statistics::collect(corpus, WIDTH, |segment| self.segment_statistics(segment))
    }

    pub(crate) fn signature(self, references: usize) -> Signature {
        let signature = Signature::new(references)
            .with("case", self.case.name())
            .with("eff", "no")
            .with("tok", self.tokenizer)
            .with("smooth", self.smoothing.label());
        match self.compounds {
            Compounds::Whole => signature,
            Compounds::Split => signature.with("compound", "split"),
        }
    }

    /// The score with its parts from column sums of statistics, `[10]`.
    pub(crate) fn score_of(self, total: &[f64], references: usize) -> BleuScore {
        let score = self.compute(total);
        BleuScore {
            score: score.score,
            precisions: score.precisions,
            matches: score.counts,
            ngrams: score.totals,
            brevity_penalty: score.bp,
            hypothesis_length: score.sys_len,
            reference_length: score.ref_len,
            signature: self.signature(references),
        }
    }

    /// The figure alone from column sums of statistics, `[10]`.
    pub(crate) fn value_of(self, total: &[f64]) -> f64 {
        self.compute(total).score
    }

    fn compute(self, total: &[f64]) -> sacrebleu_rs::BleuScore {
        let counts: Vec<i64> = total.iter().map(|&count| count as i64).collect();
        let (matches, ngrams) = counts[2..].split_at(MAX_ORDER);
        let (matches, ngrams) = (matches.to_vec(), ngrams.to_vec());
        let smoothing = self.smoothing.name();
        sacrebleu_rs::compute_bleu(matches, ngrams, counts[0], counts[1], smoothing, None, false, MAX_ORDER)
    }

    /// `[hypothesis length, closest reference length, matches x 4, n-grams x 4]`.
    fn segment_statistics(self, segment: &Segment<'_>) -> Vec<f64> {
        // The text is tokenised here: the scorer underneath takes any unknown tokenizer name for 13a.
        let counter =
            sacrebleu_rs::Bleu { tokenize: "none".into(), smooth_method: "none".into(), ..Default::default() };
        let references: Vec<String> = segment.references.iter().map(|reference| self.tokens(reference)).collect();
        let counted = counter.sentence_score(&self.tokens(segment.hypothesis), &references);
        [counted.sys_len, counted.ref_len]
            .into_iter()
            .chain(counted.counts)
            .chain(counted.totals)
            .map(|count| count as f64)
            .collect()
    }

    /// The words that are counted, separated by white space.
    fn tokens(self, line: &str) -> String {
        self.compounds.apply(self.tokenizer.apply(&self.case.apply(line)))
    }
}

/// A BLEU score with its parts; prints as sacreBLEU does, with two decimals unless told otherwise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BleuScore {
    /// BLEU, 0 to 100.
    pub score: f64,
    /// Matching n-grams in percent, after smoothing, by order from 1.
    pub precisions: Vec<f64>,
    /// Matching n-grams, by order from 1.
    pub matches: Vec<i64>,
    /// N-grams of the hypotheses, by order from 1.
    pub ngrams: Vec<i64>,
    /// exp(1 - `reference_length` / `hypothesis_length`) where the hypotheses are shorter, else 1.
    pub brevity_penalty: f64,
    /// Words of the hypotheses.
    pub hypothesis_length: i64,
    /// Words of the references; of several, the one closest in length, the shorter of two.
    pub reference_length: i64,
    /// How the score was computed.
    pub signature: Signature,
}

impl BleuScore {
    /// The precisions, brevity penalty and lengths, in sacreBLEU's notation.
    #[must_use]
    pub fn detail(&self) -> String {
        let precisions: Vec<String> = self.precisions.iter().map(|precision| format!("{precision:.1}")).collect();
        let (hypothesis, reference) = (self.hypothesis_length, self.reference_length);
        let ratio = if reference == 0 { 0.0 } else { hypothesis as f64 / reference as f64 };
        format!(
            "{} (BP = {:.3} ratio = {ratio:.3} hyp_len = {hypothesis} ref_len = {reference})",
            precisions.join("/"),
            self.brevity_penalty
        )
    }
}

impl fmt::Display for BleuScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Score::from(self.clone()).fmt(f)
    }
}

/// BLEU of `hypotheses` against one reference each, with sacreBLEU's defaults.
///
/// # Errors
/// If there is no line, the line counts differ, or a side is a markup file.
pub fn corpus_bleu(
    hypotheses: &[String],
    references: &[String],
    tokenizer: Tokenizer,
) -> Result<BleuScore, MetricError> {
    let corpus = Corpus::new(hypotheses, &[references])?;
    Ok(Bleu { tokenizer, ..Bleu::default() }.score(&corpus))
}
