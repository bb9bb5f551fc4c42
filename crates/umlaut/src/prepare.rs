//! Data sets, from their published archives to the vocabulary and the shards of ids that training reads.
//!
//! Below the folder of a data set:
//!
//! | file | what |
//! |---|---|
//! | `archives/` | what was downloaded, and its `SHA256SUMS`; may be deleted once all is prepared |
//! | `text/NAME.en`, `.de` | training text, cleaned, one pair of files for each corpus |
//! | `NAME.en`, `.de` | validation and test sets, as they were published |
//! | `vocab.model` | the joint vocabulary |
//! | `shards/` | ids (`umlaut_text::corpus::shard` has the format) |
//! | `manifest.json` | the finished steps |
//!
//! Every step is a function of its inputs and settings, and finished when the manifest says so: a run that was stopped
//! anywhere goes on, and ends with the same bytes as one that was not.

mod archive;
mod corpus;
mod description;
mod download;
mod encode;
mod http;
mod manifest;
mod output;
mod part;
mod progress;
mod source;
mod transfer;

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;
use umlaut_text::corpus::{CleanReport, FilterReport};

use self::corpus::{Languages, TEXT};
use self::description::{Archive, Corpus, Description, TestSet};
use self::download::Downloader;
use self::encode::{SHARDS, ShardPlan, Text};
use self::manifest::{Manifest, Step, key};
use self::output::Output;

pub(crate) use self::download::DownloadOptions;
pub(crate) use self::progress::Voice;

/// Where archives are kept.
const ARCHIVES: &str = "archives";

/// What a data set consists of once it is prepared.
#[derive(Debug)]
pub(crate) struct Summary {
    folder: PathBuf,
    cleaned: CleanReport,
    shards: u32,
    pairs: FilterReport,
    pieces: usize,
    sets: Vec<String>,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.folder.display())?;
        writeln!(f, "  text    {}", self.cleaned)?;
        writeln!(f, "  shards  {}: {}", self.shards, self.pairs)?;
        write!(f, "  vocab   {} pieces", self.pieces)?;
        self.sets.iter().try_for_each(|set| write!(f, "\n  set     {set}"))
    }
}

/// Prepares the data set that `recipe` describes in `folder`.
pub(crate) fn run(recipe: &Path, folder: &Path, options: &DownloadOptions, voice: Voice) -> Result<Summary> {
    let description = Description::open(recipe)?;
    for folder in [folder.to_owned(), folder.join(ARCHIVES), folder.join(TEXT), folder.join(SHARDS)] {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let _lock = lock(folder)?;
    let downloader = Downloader::open(&folder.join(ARCHIVES), options, voice)?;
    let manifest = Manifest::open(folder, voice)?;
    Preparation { description: &description, folder, downloader, manifest, voice }.run()
}

/// Held while data are prepared: two programs in one folder would overwrite each other.
fn lock(folder: &Path) -> Result<File> {
    let path = folder.join(".lock");
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    if file.try_lock().is_err() {
        bail!("{}: another program prepares data here", folder.display());
    }
    Ok(file)
}

struct Preparation<'a> {
    description: &'a Description,
    folder: &'a Path,
    downloader: Downloader,
    manifest: Manifest,
    voice: Voice,
}

impl Preparation<'_> {
    fn run(mut self) -> Result<Summary> {
        let (description, folder, voice) = (self.description, self.folder, self.voice);
        self.forget_strangers()?;
        // All of them before the long work: a source that fails is known at once.
        for archive in &description.archives {
            if self.is_needed(archive)? {
                self.downloader.fetch(archive)?;
            }
        }
        let mut cleaned = CleanReport::default();
        let mut sums = Vec::new();
        for corpus in &description.train {
            let step = self.clean(corpus)?;
            cleaned = cleaned.plus(&serde_json::from_value(step.report).context("manifest.json")?);
            sums.extend(step.outputs.into_iter().map(|output| output.sha256));
        }
        let sets = description.evaluation.iter().map(|set| self.extract(set)).collect::<Result<_>>()?;
        let files: Vec<_> =
            description.train.iter().map(|corpus| corpus::files_of(corpus, self.languages(), folder)).collect();
        let text = Text { files: &files, sums: &sums, pairs: cleaned.kept };
        let vocab = encode::vocabulary(text, &description.vocab, folder, &mut self.manifest, voice)?;
        let plan = ShardPlan { vocab: &vocab, filter: &description.filter, pairs: description.shard_pairs };
        let (shards, pairs) = encode::shards(text, plan, folder, &mut self.manifest, voice)?;
        Ok(Summary { folder: folder.to_owned(), cleaned, shards, pairs, pieces: vocab.len(), sets })
    }

    fn languages(&self) -> Languages<'_> {
        Languages { src: &self.description.src_lang, tgt: &self.description.tgt_lang }
    }

    /// The manifest tells of this description and of no earlier one.
    fn forget_strangers(&mut self) -> Result<()> {
        let corpora = self.description.train.iter().map(|corpus| step_of_corpus(&corpus.name));
        let sets = self.description.evaluation.iter().map(|set| step_of_set(&set.name));
        let named: BTreeSet<String> = corpora.chain(sets).chain([encode::VOCAB.to_owned()]).collect();
        self.manifest.retain(|step| named.contains(step) || step.starts_with(SHARDS))
    }

    /// Whether a step that reads this archive is not done.
    fn is_needed(&self, archive: &Archive) -> Result<bool> {
        let Some(sum) = self.downloader.sum(archive) else { return Ok(true) };
        for corpus in self.description.train.iter().filter(|corpus| corpus.archive == archive.file) {
            if self.manifest.done(&step_of_corpus(&corpus.name), &self.key(corpus, sum)?).is_none() {
                return Ok(true);
            }
        }
        for set in self.description.evaluation.iter().filter(|set| set.archive == archive.file) {
            if self.manifest.done(&step_of_set(&set.name), &self.key(set, sum)?).is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The key of a step that reads an archive with this checksum.
    fn key(&self, settings: &impl Serialize, sum: &str) -> Result<String> {
        let Description { src_lang, tgt_lang, cleaning, .. } = self.description;
        key(&(settings, src_lang, tgt_lang, cleaning), &[sum])
    }

    /// The file of an archive that was fetched or is not needed, and its checksum.
    fn archive(&self, name: &str) -> Result<(PathBuf, String)> {
        let archive =
            self.description.archives.iter().find(|archive| archive.file == name).context("no such archive")?;
        let sum = self.downloader.sum(archive).context("an archive without checksum")?;
        Ok((self.downloader.path(archive), sum.to_owned()))
    }

    fn clean(&mut self, corpus: &Corpus) -> Result<Step> {
        let (path, sum) = self.archive(&corpus.archive)?;
        let (name, key) = (step_of_corpus(&corpus.name), self.key(corpus, &sum)?);
        if let Some(step) = self.manifest.done(&name, &key) {
            return Ok(step.clone());
        }
        let cleaning = self.description.cleaning;
        let (outputs, report) = corpus::clean(corpus, &path, cleaning, self.languages(), self.folder, self.voice)?;
        let step = Step { key, outputs, report: serde_json::to_value(report)? };
        self.manifest.record(&name, step.clone())?;
        Ok(step)
    }

    /// Says what a set is.
    fn extract(&mut self, set: &TestSet) -> Result<String> {
        let (path, sum) = self.archive(&set.archive)?;
        let (name, key) = (step_of_set(&set.name), self.key(set, &sum)?);
        let done = self.manifest.done(&name, &key).map(|step| step.outputs.clone());
        let outputs = if let Some(outputs) = done {
            outputs
        } else {
            let outputs = corpus::extract(set, &path, self.languages(), self.folder)?;
            let step = Step { key, outputs: outputs.clone(), report: json!({ "lines": set.lines }) };
            self.manifest.record(&name, step)?;
            outputs
        };
        for (side, output) in [&set.src, &set.tgt].into_iter().zip(&outputs) {
            if let Some(expected) = side.sha256.as_ref().filter(|expected| **expected != output.sha256) {
                let Output { file, sha256, .. } = output;
                self.voice.warn(format_args!(
                    "{file} has SHA-256 {sha256}, expected is {expected}: look at the difference before you compare \
                     scores on it with others"
                ));
            }
        }
        Ok(format!("{}: {} lines", set.name, set.lines))
    }
}

fn step_of_corpus(name: &str) -> String {
    format!("{TEXT}/{name}")
}

fn step_of_set(name: &str) -> String {
    format!("set/{name}")
}
