//! What a caller can ask of the search, and what the search refuses.

use std::error::Error;
use std::fmt;

use crate::{LengthPenalty, TokenId};

/// The settings of [`beam_search`](crate::beam_search).
#[derive(Clone, Debug, PartialEq)]
pub struct BeamOptions {
    /// Live prefixes kept for each sentence, at least 1. 1 is greedy search.
    pub width: usize,
    /// How hypotheses of different lengths are compared.
    pub length_penalty: LengthPenalty,
    /// Hypotheses returned for each sentence, from 1 to `width`. It changes how many are seen, not which is first.
    pub n_best: usize,
    /// Tokens that must come before EOS.
    pub min_len: usize,
    /// Tokens never generated, such as padding and BOS; without repetitions.
    pub forbidden: Vec<TokenId>,
    /// The token fed first.
    pub bos: TokenId,
    /// The token that ends a hypothesis.
    pub eos: TokenId,
}

impl BeamOptions {
    /// Beam 4, `length^0.6`, the single best, at least one token before EOS, nothing forbidden but BOS.
    #[must_use]
    pub fn new(bos: TokenId, eos: TokenId) -> Self {
        Self {
            width: 4,
            length_penalty: LengthPenalty::default(),
            n_best: 1,
            min_len: 1,
            forbidden: vec![bos],
            bos,
            eos,
        }
    }

    /// Refuses what no search can honour.
    ///
    /// # Errors
    /// [`OptionsError`] names the setting and the value found.
    pub fn check(&self) -> Result<(), OptionsError> {
        let alpha = self.length_penalty.alpha();
        if self.width == 0 {
            Err(OptionsError::Width)
        } else if self.n_best == 0 || self.n_best > self.width {
            Err(OptionsError::NBest { n_best: self.n_best, width: self.width })
        } else if !(alpha >= 0.0 && alpha.is_finite()) {
            Err(OptionsError::LengthPenalty { alpha })
        } else {
            Ok(())
        }
    }

    /// Candidates wanted of each row: enough that one row alone can fill the whole beam when every forbidden token, and
    /// an EOS that comes too soon, rank first.
    pub(crate) fn candidates_per_row(&self) -> usize {
        self.width + 1 + self.forbidden.len()
    }
}

/// A setting that no search can honour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionsError {
    /// The width is 0.
    Width,
    /// `n_best` is 0 or exceeds the width.
    NBest {
        /// The number asked for.
        n_best: usize,
        /// The beam width.
        width: usize,
    },
    /// The exponent is negative or not finite.
    LengthPenalty {
        /// The exponent found.
        alpha: f64,
    },
    /// A sentence may have no token at all.
    Limit {
        /// Its place in the batch.
        sentence: usize,
    },
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Width => write!(f, "the beam width must be at least 1"),
            Self::NBest { n_best, width } => {
                write!(f, "{n_best} best hypotheses cannot come from a beam of width {width}: ask for 1 to {width}")
            }
            Self::LengthPenalty { alpha } => {
                write!(f, "the length penalty must be a finite number of at least 0, found {alpha}")
            }
            Self::Limit { sentence } => write!(f, "the length limit of sentence {sentence} of the batch is 0 tokens"),
        }
    }
}

impl Error for OptionsError {}

/// Why a search stopped without an answer; `E` is the decoder's own error.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchError<E> {
    /// The settings contradict themselves.
    Options(OptionsError),
    /// The decoder failed.
    Decoder(E),
    /// The decoder gave a log-probability that is not a number.
    NotANumber {
        /// The sentence's place in the batch.
        sentence: usize,
        /// How many tokens it had.
        length: usize,
    },
}

impl<E> From<OptionsError> for SearchError<E> {
    fn from(error: OptionsError) -> Self {
        Self::Options(error)
    }
}

impl<E> fmt::Display for SearchError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Options(_) => write!(f, "bad search settings"),
            Self::Decoder(_) => write!(f, "the model failed in a decoding step"),
            Self::NotANumber { sentence, length } => {
                write!(
                    f,
                    "the model gave NaN as a probability (sentence {sentence} of the batch, after {length} tokens)"
                )
            }
        }
    }
}

impl<E: Error + 'static> Error for SearchError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Options(error) => Some(error),
            Self::Decoder(error) => Some(error),
            Self::NotANumber { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BeamOptions, OptionsError};
    use crate::{LengthPenalty, TokenId};

    fn options() -> BeamOptions {
        BeamOptions::new(TokenId(1), TokenId(2))
    }

    #[test]
    fn the_defaults_are_accepted() {
        assert_eq!(options().check(), Ok(()));
    }

    #[test]
    fn an_empty_beam_is_refused() {
        assert_eq!(BeamOptions { width: 0, ..options() }.check(), Err(OptionsError::Width));
    }

    #[test]
    fn more_hypotheses_than_the_beam_holds_are_refused() {
        let refused = |n_best| BeamOptions { width: 4, n_best, ..options() }.check();
        assert_eq!(refused(0), Err(OptionsError::NBest { n_best: 0, width: 4 }));
        assert_eq!(refused(4), Ok(()));
        assert_eq!(refused(5), Err(OptionsError::NBest { n_best: 5, width: 4 }));
    }

    #[test]
    fn an_exponent_that_is_negative_or_not_finite_is_refused() {
        for alpha in [-0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for length_penalty in [LengthPenalty::Length { alpha }, LengthPenalty::Gnmt { alpha }] {
                let checked = BeamOptions { length_penalty, ..options() }.check();
                assert!(matches!(checked, Err(OptionsError::LengthPenalty { .. })), "{alpha} was accepted");
            }
        }
    }
}
