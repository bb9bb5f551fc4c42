//! Signs that the text is not what a metric expects, though it can be scored.

use std::fmt;

use crate::tokenizer::Tokenizer;

/// So many suspicious lines call for a warning even in a long file; in a short one, half of the lines do.
const MANY_LINES: usize = 100;

/// A doubt about the text, with the number of lines that raised it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Warning {
    /// Hypotheses end in a period that stands alone, as tokenised text does.
    Tokenised {
        /// How many lines.
        lines: usize,
    },
    /// Hypotheses hold `@@` or U+2581, the marks of BPE and SentencePiece pieces.
    Subwords {
        /// How many lines.
        lines: usize,
    },
    /// References are empty.
    BlankReferences {
        /// How many lines, over all streams.
        lines: usize,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tokenised { lines } => {
                write!(f, "{lines} hypothesis lines end in a separate period: score detokenised text, or use `none`")
            }
            Self::Subwords { lines } => {
                write!(f, "{lines} hypothesis lines hold sub-word marks (`@@` or `▁`): join the pieces before scoring")
            }
            Self::BlankReferences { lines } => {
                write!(f, "{lines} reference lines are blank: no word can match them")
            }
        }
    }
}

/// The doubts about `hypotheses` and the streams of `references`, scored with `tokenizer`.
pub(crate) fn inspect(hypotheses: &[String], references: &[&[String]], tokenizer: Tokenizer) -> Vec<Warning> {
    let many = |lines: usize| lines >= MANY_LINES || (lines > 0 && 2 * lines >= hypotheses.len());
    let count = |is_odd: fn(&str) -> bool| hypotheses.iter().filter(|line| is_odd(line)).count();
    let tokenised = if tokenizer == Tokenizer::None { 0 } else { count(|line| line.ends_with(" .")) };
    let subwords = count(|line| line.contains("@@ ") || line.contains('\u{2581}'));
    let blank = references.iter().flat_map(|stream| stream.iter()).filter(|line| line.trim().is_empty()).count();
    [
        many(tokenised).then_some(Warning::Tokenised { lines: tokenised }),
        many(subwords).then_some(Warning::Subwords { lines: subwords }),
        (blank > 0).then_some(Warning::BlankReferences { lines: blank }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warnings(hypothesis: &str, of: usize, lines: usize, tokenizer: Tokenizer) -> Vec<Warning> {
        let hypotheses: Vec<String> =
            (0..lines).map(|n| if n < of { hypothesis.to_owned() } else { "Gut.".to_owned() }).collect();
        let references = vec!["Gut.".to_owned(); lines];
        inspect(&hypotheses, &[&references], tokenizer)
    }

    #[test]
    fn many_tokenised_hypotheses_raise_a_warning() {
        let line = "Die Katze sitzt auf der Matte .";
        assert_eq!(warnings(line, 100, 3000, Tokenizer::V13a), [Warning::Tokenised { lines: 100 }]);
        assert_eq!(warnings(line, 2, 3, Tokenizer::V13a), [Warning::Tokenised { lines: 2 }]);
        assert_eq!(warnings(line, 99, 3000, Tokenizer::V13a), []);
        assert_eq!(warnings(line, 100, 100, Tokenizer::None), []);
    }

    #[test]
    fn leftover_subwords_raise_a_warning_whatever_the_tokenizer() {
        for line in ["Die Kat@@ ze", "▁Die ▁Kat ze"] {
            assert_eq!(warnings(line, 100, 3000, Tokenizer::None), [Warning::Subwords { lines: 100 }], "{line}");
        }
    }

    #[test]
    fn blank_references_raise_a_warning() {
        let hypotheses = vec!["Gut.".to_owned(); 2];
        let references = vec!["Gut.".to_owned(), " ".to_owned()];
        assert_eq!(inspect(&hypotheses, &[&references], Tokenizer::V13a), [Warning::BlankReferences { lines: 1 }]);
    }
}
