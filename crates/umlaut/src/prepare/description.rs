//! `data.toml`: what a data set is made of, and how.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use umlaut_text::corpus::{Cleaning, PairFilter};
use umlaut_text::vocab::VocabRecipe;

use umlaut_ledger::checksum;

/// The name of a description in its folder.
pub(crate) const FILE: &str = "data.toml";

/// A data set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    /// How the names of source files end.
    pub(crate) src_lang: String,
    /// How the names of target files end.
    pub(crate) tgt_lang: String,
    /// Sentence pairs of cleaned text that one shard is made of.
    pub(crate) shard_pairs: usize,
    /// What is downloaded.
    pub(crate) archives: Vec<Archive>,
    /// Training text, in this order.
    pub(crate) train: Vec<Corpus>,
    /// Validation and test sets.
    #[serde(default)]
    pub(crate) evaluation: Vec<TestSet>,
    /// How training text is cleaned.
    #[serde(default)]
    pub(crate) cleaning: Cleaning,
    /// The joint vocabulary of the cleaned training text.
    pub(crate) vocab: VocabRecipe,
    /// Which pairs of ids go into the shards.
    #[serde(default)]
    pub(crate) filter: PairFilter,
}

/// A gzipped tar file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Archive {
    /// Its name here and on a mirror.
    pub(crate) file: String,
    /// Where it is, the best place first.
    pub(crate) urls: Vec<String>,
    /// Its size, where it is known.
    pub(crate) bytes: Option<u64>,
    /// Its checksum, where it is known.
    pub(crate) sha256: Option<String>,
}

/// Two members of an archive that are lines in step.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Corpus {
    /// What its files here are called.
    pub(crate) name: String,
    /// The `file` of its archive.
    pub(crate) archive: String,
    /// The member with the source sentences.
    pub(crate) src: String,
    /// The member with their translations.
    pub(crate) tgt: String,
}

/// A validation or test set.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestSet {
    /// What its files here are called.
    pub(crate) name: String,
    /// The `file` of its archive.
    pub(crate) archive: String,
    /// How its members are written.
    #[serde(default)]
    pub(crate) format: Format,
    /// Lines of either side.
    pub(crate) lines: usize,
    /// The source.
    pub(crate) src: Side,
    /// The reference.
    pub(crate) tgt: Side,
}

/// One side of a validation or test set.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Side {
    /// The member of the archive.
    pub(crate) member: String,
    /// The checksum of its plain text, where it is known.
    pub(crate) sha256: Option<String>,
}

/// How the members of a test set are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Format {
    /// One sentence a line.
    #[default]
    Plain,
    /// `<seg id="1">` in `<doc docid="...">`.
    Sgml,
}

impl Description {
    /// Reads `data.toml` of a folder, or the file itself.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let file = if path.is_dir() { path.join(FILE) } else { path.to_owned() };
        let text = fs::read_to_string(&file).with_context(|| {
            format!("cannot read {}: a recipe that can be prepared describes its data there", file.display())
        })?;
        let description = toml::from_str::<Self>(&text).map_err(anyhow::Error::from).and_then(|description| {
            description.check()?;
            Ok(description)
        });
        description.with_context(|| file.display().to_string())
    }

    fn check(&self) -> Result<()> {
        ensure!(self.shard_pairs > 0, "shard_pairs must be at least 1");
        ensure!(!self.train.is_empty(), "there is no [[train]]");
        let mut names = BTreeSet::new();
        let sets = self.evaluation.iter().map(|set| (&set.name, &set.archive));
        for (name, archive) in self.train.iter().map(|corpus| (&corpus.name, &corpus.archive)).chain(sets) {
            check_name(name)?;
            ensure!(names.insert(name), "two sets are named `{name}`");
            let is_listed = self.archives.iter().any(|listed| listed.file == *archive);
            ensure!(is_listed, "`{name}` is in `{archive}`, which is none of [[archives]]");
        }
        [&self.src_lang, &self.tgt_lang].into_iter().try_for_each(|lang| check_name(lang))?;
        ensure!(self.src_lang != self.tgt_lang, "src_lang and tgt_lang are the same");
        self.archives.iter().try_for_each(Archive::check)
    }
}

impl Archive {
    fn check(&self) -> Result<()> {
        check_name(&self.file)?;
        match &self.sha256 {
            Some(sum) if !checksum::is_well_formed(sum) => {
                bail!("{}: sha256 is not 64 lower-case hexadecimal digits", self.file)
            }
            _ => Ok(()),
        }
    }
}

/// A name becomes a file in a folder of ours and nowhere else.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    ensure!(
        !name.is_empty() && !name.starts_with('.') && name.chars().all(is_plain),
        "`{name}` is no name for a file: letters, digits, `-`, `_` and `.`, and no `.` in front"
    );
    Ok(())
}
