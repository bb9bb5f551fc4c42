//! `eval/testsets.toml`: the test sets by name, length and checksum. Their text is not in the repository; a data
//! directory holds it, plain or gzipped.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::checksum;
use crate::ledger::Metric;

/// Where the list lies.
pub(crate) const PATH: &str = "eval/testsets.toml";

/// The list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestSets {
    /// In the order of the README's tables.
    pub(crate) set: Vec<TestSet>,
}

/// A source text and its reference translation, line by line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestSet {
    /// The name used by the ledger.
    pub(crate) name: String,
    /// The name printed.
    pub(crate) title: String,
    /// Lines of either side.
    pub(crate) lines: u64,
    /// What our rows are scored with.
    pub(crate) metrics: Vec<Metric>,
    /// English.
    pub(crate) source: Side,
    /// German.
    pub(crate) reference: Side,
}

/// One side of a test set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    /// Its place in the data directory, without `.gz`.
    pub(crate) file: PathBuf,
    /// SHA-256 of the text, uncompressed.
    pub(crate) sha256: String,
}

/// The data directory named by the environment variable `UMLAUT_DATA`.
pub(crate) fn data_from_environment() -> Option<PathBuf> {
    std::env::var_os("UMLAUT_DATA").map(PathBuf::from)
}

impl TestSets {
    /// Reads the list of the checkout at `root`.
    ///
    /// # Errors
    /// When it is missing or not what the types above say.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let text = fs::read_to_string(root.join(PATH)).with_context(|| format!("cannot read {PATH}"))?;
        Self::parse(&text).context(PATH)
    }

    /// Reads a list's text.
    ///
    /// # Errors
    /// Where the text departs from the types above.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(toml::from_str(text)?)
    }

    /// The names, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.set.iter().map(|set| set.name.as_str()).collect()
    }

    /// What is wrong with the list in itself; one line each.
    pub(crate) fn faults(&self) -> Vec<String> {
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

impl Side {
    /// The text as found in `data`, or `None` when it is not there.
    ///
    /// # Errors
    /// When it is there and is not the text that was scored: wrong checksum, wrong number of lines, unreadable.
    pub(crate) fn read(&self, data: &Path, lines: u64) -> Result<Option<Vec<u8>>> {
        let Some(text) = self.bytes(data)? else { return Ok(None) };
        let name = self.file.display();
        let sum = checksum::of_reader(&text[..])?;
        ensure!(sum == self.sha256, "{name}: SHA-256 is {sum}, not {}", self.sha256);
        let found = text.split_inclusive(|byte| *byte == b'\n').count() as u64;
        ensure!(found == lines, "{name}: {found} lines, not {lines}");
        Ok(Some(text))
    }

    fn bytes(&self, data: &Path) -> Result<Option<Vec<u8>>> {
        let plain = data.join(&self.file);
        if plain.is_file() {
            return fs::read(&plain).map(Some).with_context(|| format!("cannot read {}", plain.display()));
        }
        let mut packed = plain.into_os_string();
        packed.push(".gz");
        let packed = PathBuf::from(packed);
        packed.is_file().then(|| gunzip(&packed)).transpose()
    }
}

/// Unpacks with the system's `gzip`: a dependency saved for each task's build.
fn gunzip(path: &Path) -> Result<Vec<u8>> {
    let mut child =
        Command::new("gzip").arg("-dc").arg(path).stdout(Stdio::piped()).spawn().context("cannot start gzip")?;
    let mut text = Vec::new();
    child.stdout.take().context("gzip has no output")?.read_to_end(&mut text)?;
    ensure!(child.wait()?.success(), "gzip cannot unpack {}", path.display());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(text: &str) -> Side {
        Side { file: "news.en".into(), sha256: checksum::of_reader(text.as_bytes()).unwrap() }
    }

    #[test]
    fn a_side_that_is_absent_is_no_fault() {
        let data = tempfile::tempdir().unwrap();
        assert!(side("a\n").read(data.path(), 1).unwrap().is_none());
    }

    #[test]
    fn a_side_is_read_plain_or_gzipped() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("news.en"), "a\nb\n").unwrap();
        assert_eq!(side("a\nb\n").read(data.path(), 2).unwrap().unwrap(), b"a\nb\n");
        let packed = Command::new("gzip").arg(data.path().join("news.en")).status().unwrap();
        assert!(packed.success() && !data.path().join("news.en").exists());
        assert_eq!(side("a\nb\n").read(data.path(), 2).unwrap().unwrap(), b"a\nb\n");
    }

    #[test]
    fn another_text_or_length_is_refused() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("news.en"), "a\nb\n").unwrap();
        let error = side("a\n").read(data.path(), 2).unwrap_err().to_string();
        assert!(error.contains("SHA-256"), "{error}");
        let error = side("a\nb\n").read(data.path(), 3).unwrap_err().to_string();
        assert_eq!(error, "news.en: 2 lines, not 3");
    }

    #[test]
    fn a_name_stands_once_and_a_checksum_is_a_checksum() {
        let set = "[[set]]\nname = 'n'\ntitle = 'N'\nlines = 1\nmetrics = ['bleu-13a']\n\
                   source = { file = 'a', sha256 = 'x' }\nreference = { file = 'b', sha256 = 'y' }\n";
        let faults = TestSets::parse(&set.repeat(2)).unwrap().faults();
        assert_eq!(faults.iter().filter(|fault| fault.contains("twice")).count(), 1);
        assert_eq!(faults.iter().filter(|fault| fault.contains("no checksum")).count(), 4);
    }
}
