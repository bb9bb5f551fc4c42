//! What can be wrong with the ledger's files.

use std::io;
use std::path::PathBuf;

/// A file of the ledger that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path}")]
    Format {
        /// The file, from the root.
        path: &'static str,
        /// Line and reason.
        source: Box<toml::de::Error>,
    },
    /// The README has no place for its table.
    #[error("README.md lacks the lines `{begin}` and `{end}`, between which its table stands")]
    NoMarks {
        /// The line before the table.
        begin: &'static str,
        /// The line after it.
        end: &'static str,
    },
}
