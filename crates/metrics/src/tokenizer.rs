//! The tokenizers BLEU is reported with, as a closed set.

use std::fmt;
use std::str::FromStr;

use sacrebleu_rs::{tokenize_13a, tokenize_char, tokenize_intl};
use serde::Serialize;

use crate::error::MetricError;
use crate::whitespace::plain_spaces;

/// How a line becomes words before BLEU counts n-grams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokenizer {
    /// `13a`, the tokenizer of mteval-v13a, WMT's and sacreBLEU's default.
    #[default]
    #[serde(rename = "13a")]
    V13a,
    /// `intl`, the international one of mteval-v14: splits all Unicode punctuation and symbols, hyphens included.
    Intl,
    /// `char`, one token per Unicode scalar value.
    Char,
    /// `none`, for text that is already tokenised.
    None,
}

impl Tokenizer {
    /// The name in the signature and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::V13a => "13a",
            Self::Intl => "intl",
            Self::Char => "char",
            Self::None => "none",
        }
    }

    /// The tokens of `line`, separated by white space.
    pub(crate) fn apply(self, line: &str) -> String {
        let line = plain_spaces(line);
        let line = line.trim_end();
        match self {
            Self::V13a => tokenize_13a(line),
            Self::Intl => tokenize_intl(line),
            Self::Char => tokenize_char(line),
            Self::None => line.to_owned(),
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Tokenizer {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self, MetricError> {
        [Self::V13a, Self::Intl, Self::Char, Self::None]
            .into_iter()
            .find(|tokenizer| tokenizer.name() == name)
            .ok_or_else(|| MetricError::UnknownTokenizer(name.to_owned()))
    }
}

/// Whether letter case counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Text is compared as it stands.
    Mixed,
    /// Both sides are lower-cased first.
    Lower,
}

impl Case {
    /// The value of `case` in the signature.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mixed => "mixed",
            Self::Lower => "lc",
        }
    }

    /// `line` in this case.
    pub(crate) fn apply(self, line: &str) -> String {
        match self {
            Self::Mixed => line.to_owned(),
            Self::Lower => line.to_lowercase(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_tokenizer_is_refused_by_name() {
        assert_eq!("intl".parse(), Ok(Tokenizer::Intl));
        let refusal = "13A".parse::<Tokenizer>().unwrap_err();
        assert_eq!(refusal.to_string(), "unknown tokenizer `13A`: choose one of 13a, intl, char, none");
    }
}
