//! `eval/testsets.toml`: the test sets by name, length and checksum. Their text is not in the repository; a data
//! directory holds it, plain or gzipped.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::checksum;
use crate::error::LedgerError;
use crate::metric::Metric;

/// Where the list lies.
pub const PATH: &str = "eval/testsets.toml";

/// The list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSets {
    /// In the order of the README's tables.
    pub set: Vec<TestSet>,
}

/// A source text and its reference translation, line by line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSet {
    /// The name used by the ledger.
    pub name: String,
    /// The name printed.
    pub title: String,
    /// Lines of either side.
    pub lines: u64,
    /// What our rows are scored with.
    pub metrics: Vec<Metric>,
    /// English.
    pub source: Side,
    /// German.
    pub reference: Side,
}

/// One side of a test set.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Its place in the data directory, without `.gz`.
    pub file: PathBuf,
    /// SHA-256 of the text, uncompressed, each line ended by LF.
    pub sha256: String,
}

impl TestSets {
    /// Reads the list of the checkout at `root`.
    ///
    /// # Errors
    /// When it is missing or not what the types above say.
    pub fn read(root: &Path) -> Result<Self, LedgerError> {
        let path = root.join(PATH);
        let text = fs::read_to_string(&path).map_err(|source| LedgerError::Read { path, source })?;
        Self::parse(&text)
    }

    /// Reads a list's text.
    ///
    /// # Errors
    /// Where the text departs from the types above.
    pub fn parse(text: &str) -> Result<Self, LedgerError> {
        toml::from_str(text).map_err(|source| LedgerError::Format { path: PATH, source: Box::new(source) })
    }

    /// The names, in order.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.set.iter().map(|set| set.name.as_str()).collect()
    }

    /// What is wrong with the list in itself; one line each.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, set) in self.set.iter().enumerate() {
            if self.set[..index].iter().any(|other| other.name == set.name) {
                faults.push(format!("`{}` stands there twice", set.name));
            }
            for side in [&set.source, &set.reference] {
                if !checksum::is_well_formed(&side.sha256) {
                    faults.push(format!("`{}`: no checksum: {}", set.name, side.sha256));
                }
            }
        }
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_once_and_a_checksum_is_a_checksum() {
        let set = "[[set]]\nname = 'n'\ntitle = 'N'\nlines = 1\nmetrics = ['bleu-13a']\n\
                   source = { file = 'a', sha256 = 'x' }\nreference = { file = 'b', sha256 = 'y' }\n";
        let faults = TestSets::parse(&set.repeat(2)).unwrap().faults();
        assert_eq!(faults.iter().filter(|fault| fault.contains("twice")).count(), 1);
        assert_eq!(faults.iter().filter(|fault| fault.contains("no checksum")).count(), 4);
    }
}
