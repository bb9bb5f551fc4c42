//! Beam search over any [`StepDecoder`], and the scoring of given tokens.
//!
//! This room knows hypotheses, length penalties and n-best lists. It refuses to know tensors and strings: a model is
//! something that, asked for the next tokens of its live rows, answers with candidates.
//!
//! The search is defined in [`beam_search`]; the score it ranks by in [`LengthPenalty`]. [`force_decode`] gives what the
//! search would have given tokens that are known already.

mod beam;
mod decoder;
mod forced;
mod hypothesis;
mod options;
mod penalty;

pub use beam::beam_search;
pub use decoder::{Candidate, ForcedDecoder, StepDecoder, TokenId};
pub use forced::force_decode;
pub use hypothesis::{Ended, Hypothesis};
pub use options::{BeamOptions, OptionsError, SearchError};
pub use penalty::LengthPenalty;
