//! From cleaned text to what training reads: the vocabulary, and shards of its ids.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use umlaut_text::Vocab;
use umlaut_text::corpus::shard::{ShardMark, Sum, shard_bytes, shard_name};
use umlaut_text::corpus::{BitextFiles, FilterReport, PairCutter, PairFilter};
use umlaut_text::vocab::VocabRecipe;

use super::manifest::{Manifest, Step, key};
use super::output::{Output, cannot_write};
use super::progress::{Progress, Unit, Voice};

/// The name of the vocabulary.
pub(crate) const VOCAB: &str = "vocab.model";
/// The folder of the shards.
pub(crate) const SHARDS: &str = "shards";

/// Cleaned training text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'a> {
    /// Its files.
    pub(crate) files: &'a [BitextFiles],
    /// Their checksums.
    pub(crate) sums: &'a [String],
    /// Its pairs.
    pub(crate) pairs: u64,
}

impl Text<'_> {
    fn sums(&self) -> Vec<&str> {
        self.sums.iter().map(String::as_str).collect()
    }
}

/// The joint vocabulary of both sides of the text, trained if it is not there.
pub(crate) fn vocabulary(
    text: Text<'_>,
    recipe: &VocabRecipe,
    folder: &Path,
    manifest: &mut Manifest,
    voice: Voice,
) -> Result<Vocab> {
    let key = key(recipe, &text.sums())?;
    if manifest.done(VOCAB, &key).is_none() {
        voice.say(format_args!("{VOCAB}: training {} pieces", recipe.size));
        let progress = Progress::new(voice, VOCAB, Unit::Pairs, None, 0);
        let files: Vec<_> = text.files.iter().flat_map(|files| [&files.src, &files.tgt]).collect();
        let bytes = recipe.train(&files)?;
        let output = Output::write(folder, VOCAB, &bytes)?;
        voice.say(format_args!("{VOCAB}: {} pieces, in {:.1} s", recipe.size, progress.seconds()));
        manifest.record(VOCAB, Step { key, outputs: vec![output], report: json!({ "pieces": recipe.size }) })?;
    }
    Ok(Vocab::open(folder.join(VOCAB))?)
}

/// What shards are made of, apart from the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardPlan<'a> {
    pub(crate) vocab: &'a Vocab,
    pub(crate) filter: &'a PairFilter,
    /// Lines of text for one shard.
    pub(crate) pairs: usize,
}

/// Makes the shards that are not there. Each holds what the filter keeps of its own range of lines, so that it can be
/// made alone.
pub(crate) fn shards(
    text: Text<'_>,
    plan: ShardPlan<'_>,
    folder: &Path,
    manifest: &mut Manifest,
    voice: Voice,
) -> Result<(u32, FilterReport)> {
    let count = (text.pairs as usize).div_ceil(plan.pairs).max(1) as u32;
    let origin = origin(text, plan)?;
    let step_names: Vec<String> = (0..count).map(|number| format!("{SHARDS}/{}", shard_name(number))).collect();
    // A set that shrank leaves nothing behind.
    manifest.retain(|name| !name.starts_with(SHARDS) || step_names.iter().any(|step| step == name))?;
    remove_others(folder, &step_names)?;
    let mut progress = Progress::new(voice, SHARDS, Unit::Pairs, Some(text.pairs), 0);
    let mut cutter = PairCutter::new(text.files, plan.filter, plan.vocab);
    let mut total = FilterReport::default();
    let mut skipped = 0;
    for (number, name) in (0..).zip(&step_names) {
        let key = key(&(number, count), &[&umlaut_ledger::checksum::hex(&origin)])?;
        if let Some(step) = manifest.done(name, &key) {
            total = total.plus(&serde_json::from_value(step.report.clone()).context("manifest.json")?);
            skipped += plan.pairs;
            continue;
        }
        cutter.skip(std::mem::take(&mut skipped))?;
        let (corpus, report) = cutter.next_piece(plan.pairs)?;
        let mark = ShardMark { number, count, origin };
        let output = Output::write(folder, name, &shard_bytes(&corpus, plan.vocab, &mark))?;
        manifest.record(name, Step { key, outputs: vec![output], report: serde_json::to_value(report)? })?;
        progress.advance(report.read);
        total = total.plus(&report);
    }
    voice.say(format_args!("{SHARDS}: {total}, in {:.1} s", progress.seconds()));
    Ok((count, total))
}

/// The checksum of all that moves an id in any shard.
fn origin(text: Text<'_>, plan: ShardPlan<'_>) -> Result<Sum> {
    let vocab = umlaut_ledger::checksum::of_bytes(plan.vocab.as_bytes());
    let key = key(&(plan.filter, plan.pairs, vocab), &text.sums())?;
    Ok(Sha256::digest(key).into())
}

fn remove_others(folder: &Path, wanted: &[String]) -> Result<()> {
    let shards = folder.join(SHARDS);
    for entry in fs::read_dir(&shards).with_context(|| shards.display().to_string())? {
        let entry = entry?;
        let name = format!("{SHARDS}/{}", entry.file_name().to_string_lossy());
        if !wanted.contains(&name) {
            fs::remove_file(entry.path()).map_err(|error| cannot_write(&entry.path(), error))?;
        }
    }
    Ok(())
}
