//! Text: from lines to token ids and back, and from token ids to batches.
//!
//! A line is [normalised](normalise()), [encoded](Vocab::encode) by a SentencePiece vocabulary, [read in step with its
//! translation](corpus), and [laid out in batches](batch); what goes with what in a corpus makes a [`Shortlist`]. This
//! room refuses to know tensors: a batch leaves it as flat rows of ids.

pub mod batch;
pub mod corpus;
mod error;
mod normalise;
pub mod rng;
pub mod shortlist;
pub mod vocab;

pub use error::TextError;
pub use normalise::{is_blank, normalise};
pub use shortlist::Shortlist;
pub use umlaut_search::TokenId;
pub use vocab::Vocab;
