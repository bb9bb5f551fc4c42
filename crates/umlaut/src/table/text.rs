//! The two sides of a test set, found below the data directory and held against their checksums.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use umlaut_ledger::{Side, TEST_SETS_PATH, TestSet};
use umlaut_text::corpus::read_lines;

/// A test set, or which part of it is not there.
pub(crate) enum Found {
    Texts(Texts),
    Missing(String),
}

impl Found {
    /// The test set, if it is there.
    pub(crate) fn texts(&self) -> Option<&Texts> {
        match self {
            Self::Texts(texts) => Some(texts),
            Self::Missing(_) => None,
        }
    }

    /// What is not there.
    pub(crate) fn missing(&self) -> Option<&str> {
        match self {
            Self::Texts(_) => None,
            Self::Missing(what) => Some(what),
        }
    }
}

/// A test set, line by line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Texts {
    pub(crate) source: Vec<String>,
    pub(crate) reference: Vec<String>,
}

impl Texts {
    /// With every `lines` neighbouring lines joined by a space on both sides. A rest of fewer lines is left out.
    pub(crate) fn join(&self, lines: usize) -> Self {
        let join = |side: &[String]| side.chunks_exact(lines).map(|lines| lines.join(" ")).collect();
        Self { source: join(&self.source), reference: join(&self.reference) }
    }
}

/// Looks for `set` below `data`, plain or compressed as `FILE.gz`.
///
/// # Errors
/// If a file is there and is not the text that the list means: another checksum or number of lines, unreadable.
pub(crate) fn find(set: &TestSet, data: Option<&Path>) -> Result<Found> {
    let Some(data) = data else { return Ok(Found::Missing("no test sets: name their folder by --data".to_owned())) };
    let side = |side: &Side| place(side, data).map(|path| read_checked(side, &path, set.lines)).transpose();
    let missing = |side: &Side| Found::Missing(format!("test set: no {}", side.file.display()));
    Ok(match (side(&set.source)?, side(&set.reference)?) {
        (Some(source), Some(reference)) => Found::Texts(Texts { source, reference }),
        (None, _) => missing(&set.source),
        (_, None) => missing(&set.reference),
    })
}

fn place(side: &Side, data: &Path) -> Option<PathBuf> {
    let plain = data.join(&side.file);
    let mut packed = plain.clone().into_os_string();
    packed.push(".gz");
    [plain, packed.into()].into_iter().find(|path| path.is_file())
}

fn read_checked(side: &Side, path: &Path, lines: u64) -> Result<Vec<String>> {
    let text = read_lines(path)?;
    let (name, sum, listed) = (path.display(), sha256(&text), &side.sha256);
    ensure!(
        sum == *listed,
        "{name}: SHA-256 is {sum}, and {TEST_SETS_PATH} lists {listed}: this is another text, whose figures are others"
    );
    ensure!(text.len() as u64 == lines, "{name}: {} lines, and {TEST_SETS_PATH} lists {lines}", text.len());
    Ok(text)
}

/// The checksum of the plain file of these lines.
pub(crate) fn sha256(lines: &[String]) -> String {
    umlaut_metrics::TestSet::new("", lines).sha256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_lines_are_joined_on_both_sides_and_a_rest_is_left_out() {
        let side = |name: &str| (1..=5).map(|line| format!("{name}{line}")).collect();
        let texts = Texts { source: side("s"), reference: side("r") };
        let expected = Texts {
            source: vec!["s1 s2".to_owned(), "s3 s4".to_owned()],
            reference: vec!["r1 r2".to_owned(), "r3 r4".to_owned()],
        };
        assert_eq!(texts.join(2), expected);
        assert_eq!(texts.join(1), texts);
        assert!(texts.join(6).source.is_empty());
    }
}
