//! What is known of a shard that was translated: what went in, what came out, and what made it.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use umlaut_translate::{Format, Isa, LengthPenalty, Options, Precision};

use super::{Shard, checksum};
use crate::output::Output;

/// The manifest of a shard, a JSON file beside its translation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manifest {
    /// Its number, from 1.
    pub(crate) shard: u64,
    /// How many there are.
    pub(crate) of: u64,
    /// The part of the input that was translated.
    pub(crate) source: Source,
    /// The translation.
    pub(crate) output: Bytes,
    /// Whether all of the source was UTF-8.
    pub(crate) is_utf8: bool,
    /// All that can change a translation, and its form.
    pub(crate) made_with: BTreeMap<String, Value>,
    /// The words of the command, but for the shard.
    pub(crate) command: Vec<String>,
}

/// A part of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    /// The file as the command named it.
    pub(crate) file: String,
    /// The size of the whole file.
    pub(crate) file_bytes: u64,
    /// The first byte of the part.
    pub(crate) from_byte: u64,
    /// Lines of the part.
    pub(crate) lines: u64,
    #[serde(flatten)]
    pub(crate) part: Bytes,
}

/// A number of bytes with their checksum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bytes {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&bytes).with_context(|| format!("{} is no manifest", path.display()))
    }

    /// Writes it into the folder of its shard.
    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let path = self.shard().manifest(folder);
        let mut output = Output::create_among_others(path.clone())?;
        let mut json = serde_json::to_vec_pretty(self)?;
        json.push(b'\n');
        output.write_all(&json).with_context(|| format!("cannot write {}", path.display()))?;
        output.finish()
    }

    pub(crate) fn shard(&self) -> Shard {
        Shard { number: self.shard, count: self.of }
    }

    /// The byte after the last of its source.
    pub(crate) fn end(&self) -> u64 {
        self.source.from_byte + self.source.part.bytes
    }

    /// Whether the translation is of n-best lists, which number their lines.
    pub(crate) fn is_n_best(&self) -> bool {
        self.made_with.get("format") == Some(&json!(name_of(Format::NBest)))
    }

    /// Whether the translation in `folder` is the one that was written.
    pub(crate) fn has_its_output(&self, folder: &Path) -> bool {
        checksum::of_file(&self.shard().output(folder)).is_ok_and(|found| found == self.output.sha256)
    }

    /// The command that makes it again.
    pub(crate) fn redo(&self, shard: Shard) -> String {
        let words = ["translate", "--shard", &shard.to_string()].map(str::to_owned);
        words.iter().chain(&self.command).map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

/// All that can change a translation, and its form.
pub(crate) fn made_with(model: &str, options: &Options, format: Format) -> Result<BTreeMap<String, Value>> {
    let Options { beam, length_penalty, n_best, max_len, shortlist, max_src_len, precision, .. } = options;
    let (penalty, alpha) = match length_penalty {
        LengthPenalty::Length { alpha } => ("length", alpha),
        LengthPenalty::Gnmt { alpha } => ("gnmt", alpha),
    };
    let arithmetic = match precision {
        Precision::F32 => "f32",
        Precision::Int8 => "int8",
    };
    let shortlist = shortlist.as_deref().map(checksum::of_file).transpose()?;
    let fields = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("model_sha256", json!(model)),
        ("beam", json!(beam)),
        ("penalty", json!(penalty)),
        ("length_penalty", json!(alpha)),
        ("nbest", json!(n_best)),
        ("max_len", json!(max_len)),
        ("max_src_len", json!(max_src_len)),
        ("shortlist_sha256", json!(shortlist)),
        ("precision", json!(arithmetic)),
        // Processors that fuse them agree to the bit; the others round once more.
        ("fused_multiply_add", json!(Isa::best() != Isa::Portable)),
        ("format", json!(name_of(format))),
    ];
    Ok(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn name_of(format: Format) -> &'static str {
    match format {
        Format::Text => "text",
        Format::Scored => "scored",
        Format::NBest => "n-best",
    }
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |char: char| char.is_alphanumeric() || "-_./=:,+%@".contains(char);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_something_else() {
        assert_eq!(quoted("out/big.de"), "out/big.de");
        assert_eq!(quoted("my file"), "'my file'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
