//! TER (Snover et al., 2006, "A Study of Translation Edit Rate with Targeted Human Annotation"), as sacreBLEU
//! re-implements Tercom.

use crate::corpus::{Corpus, Segment};
use crate::error::MetricError;
use crate::signature::Signature;
use crate::statistics::Statistics;
use crate::tokenizer::Case;
use crate::whitespace::{self, plain_spaces};

/// The largest edit matrix, in cells: 2000 words against 2000, which takes 64 MB.
const MAX_CELLS: usize = 4_000_000;

/// Whether punctuation counts as words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Punctuation {
    /// It stays where it is.
    #[default]
    Keep,
    /// The marks `. , ? : ; ! " ( )` are deleted on both sides.
    Remove,
}

/// How TER is computed: edits, shifts included, per reference word; without Tercom's normalisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ter {
    /// Whether letter case counts.
    pub case: Case,
    /// Whether punctuation counts.
    pub punctuation: Punctuation,
}

impl Default for Ter {
    /// sacreBLEU's: lower case, with punctuation.
    fn default() -> Self {
        Self { case: Case::Lower, punctuation: Punctuation::Keep }
    }
}

impl Ter {
    pub(crate) fn statistics(self, corpus: &Corpus<'_>) -> Result<Statistics, MetricError> {
        corpus.segments().try_for_each(|segment| refuse_huge(&segment))?;
        Ok(Statistics::collect(corpus, 2, |segment| self.segment_statistics(segment)))
    }

    pub(crate) fn signature(self, references: usize) -> Signature {
        let punctuation = match self.punctuation {
            Punctuation::Keep => "yes",
            Punctuation::Remove => "no",
        };
        Signature::new(references)
            .with("case", self.case.name())
            .with("tok", "tercom")
            .with("norm", "no")
            .with("punct", punctuation)
            .with("asian", "no")
    }

    /// TER in percent, from column sums of statistics, `[2]`: 100 edits / reference words, and 100 for any edit where the
    /// references are empty. It may exceed 100; lower is better.
    pub(crate) fn value_of(total: &[f64]) -> f64 {
        let (edits, reference_words) = (total[0], total[1]);
        if reference_words > 0.0 {
            100.0 * (edits / reference_words)
        } else if edits > 0.0 {
            100.0
        } else {
            0.0
        }
    }

    /// `[edits to the closest reference, mean words of the references]`.
    fn segment_statistics(self, segment: &Segment<'_>) -> Vec<f64> {
        let counter = sacrebleu_rs::Ter {
            normalized: false,
            no_punct: self.punctuation == Punctuation::Remove,
            case_sensitive: self.case == Case::Mixed,
        };
        let references: Vec<String> = segment.references.iter().map(|reference| plain_spaces(reference)).collect();
        let counted = counter.sentence_score(&plain_spaces(segment.hypothesis), &references);
        vec![counted.num_edits as f64, counted.ref_length]
    }
}

/// Refuses a line whose edit matrix, words by words, would be too large.
fn refuse_huge(segment: &Segment<'_>) -> Result<(), MetricError> {
    let hypothesis = whitespace::split(segment.hypothesis).count();
    let reference = segment.references.iter().map(|line| whitespace::split(line).count()).max().unwrap_or(0);
    if hypothesis.saturating_mul(reference) <= MAX_CELLS {
        return Ok(());
    }
    Err(MetricError::TooLongForTer { line: segment.line, hypothesis, reference })
}
