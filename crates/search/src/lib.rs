//! Beam search over any [`StepDecoder`].
//!
//! This room knows hypotheses, length penalties and n-best lists. It refuses to know tensors and strings: a model is
//! something that, asked for the next tokens of its live rows, answers with candidates.
//!
//! The search is defined in [`beam_search`]; the score it ranks by in [`LengthPenalty`].

mod beam;
mod decoder;
mod hypothesis;
mod options;
mod penalty;

pub use beam::beam_search;
pub use decoder::{Candidate, StepDecoder, TokenId};
pub use hypothesis::{Ended, Hypothesis};
pub use options::{BeamOptions, OptionsError, SearchError};
pub use penalty::LengthPenalty;
