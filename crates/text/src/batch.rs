//! Batches of sentence pairs for training, of lines for translating.
//!
//! A plan is a list of batches, each a list of indices; [`pad`] turns one batch into rows of equal length.

mod pad;
mod plan;

pub use pad::{Batch, pad};
pub use plan::{plan_batches, plan_lines};
