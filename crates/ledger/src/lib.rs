//! The ledger of figures: what `eval/table.toml` and `eval/testsets.toml` hold, and the README's table made of them.
//!
//! Two programs read it: `cargo xtask` writes the README's table and looks for rows and signatures that are missing,
//! `umlaut table` reaches the figures again. This room knows how figures are kept and printed; it refuses to know how
//! they are made: no model, no metric, no text.

pub mod checksum;
mod error;
mod metric;
pub mod readme;
mod row;
mod test_set;

pub use error::LedgerError;
pub use metric::Metric;
pub use row::{Ledger, PATH, Published, Row, Seeds, Study, Trained};
pub use test_set::{PATH as TEST_SETS_PATH, Side, TestSet, TestSets};
