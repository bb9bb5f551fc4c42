//! Text out of the archives: training corpora cleaned, validation and test sets as they were published.

use std::io::{BufRead, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use umlaut_text::corpus::{BitextFiles, CleanReport, Cleaning, RawLines, clean_pairs, sgml};

use super::archive::with_member;
use super::description::{Corpus, Format, TestSet};
use super::output::{Output, WholeFile};
use super::progress::{Progress, Unit, Voice};

/// Where cleaned training text goes.
pub(crate) const TEXT: &str = "text";
/// No validation or test set has more bytes: it is held in memory.
const MAX_TEST_SET_BYTES: u64 = 1 << 28;

/// The two languages of a data set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Languages<'a> {
    pub(crate) src: &'a str,
    pub(crate) tgt: &'a str,
}

/// The files of a cleaned corpus.
pub(crate) fn files_of(corpus: &Corpus, langs: Languages<'_>, folder: &Path) -> BitextFiles {
    let [src, tgt] = names_of(corpus, langs).map(|name| folder.join(name));
    BitextFiles { src, tgt, names: None }
}

fn names_of(corpus: &Corpus, langs: Languages<'_>) -> [String; 2] {
    [langs.src, langs.tgt].map(|lang| format!("{TEXT}/{}.{lang}", corpus.name))
}

/// Cleans a training corpus out of its archive.
pub(crate) fn clean(
    corpus: &Corpus,
    archive: &Path,
    cleaning: Cleaning,
    langs: Languages<'_>,
    folder: &Path,
    voice: Voice,
) -> Result<(Vec<Output>, CleanReport)> {
    let [src_name, tgt_name] = names_of(corpus, langs);
    let mut src_file = WholeFile::create(folder, &src_name)?;
    let mut tgt_file = WholeFile::create(folder, &tgt_name)?;
    let mut progress = Progress::new(voice, &corpus.name, Unit::Pairs, None, 0);
    // Each side is a stream of its own through the archive: so no side needs to be held while the other is read.
    let report = with_member(archive, &corpus.src, |src| {
        with_member(archive, &corpus.tgt, |tgt| {
            let src = RawLines::new(src, archive.join(&corpus.src), cleaning);
            let tgt = RawLines::new(tgt, archive.join(&corpus.tgt), cleaning);
            clean_pairs(src, tgt, |src, tgt| {
                src_file.write_line(src)?;
                tgt_file.write_line(tgt)?;
                progress.advance(1);
                anyhow::Ok(())
            })
        })
    })?;
    voice.say(format_args!("{}: {report}, in {:.1} s", corpus.name, progress.seconds()));
    Ok((vec![src_file.finish()?, tgt_file.finish()?], report))
}

/// Takes a validation or test set out of its archive.
pub(crate) fn extract(set: &TestSet, archive: &Path, langs: Languages<'_>, folder: &Path) -> Result<Vec<Output>> {
    let [src, tgt] = [&set.src, &set.tgt].map(|side| with_member(archive, &side.member, read_text));
    let (src, tgt) = (src?, tgt?);
    let sides = match set.format {
        Format::Plain => [lines(&src), lines(&tgt)],
        Format::Sgml => aligned_segments(&src, &tgt, set)?,
    };
    let mut outputs = Vec::new();
    for ((side, lines), lang) in [&set.src, &set.tgt].into_iter().zip(sides).zip([langs.src, langs.tgt]) {
        ensure!(
            lines.len() == set.lines,
            "{}, {}: {} lines, {} are expected",
            archive.display(),
            side.member,
            lines.len(),
            set.lines
        );
        let mut file = WholeFile::create(folder, &format!("{}.{lang}", set.name))?;
        lines.iter().try_for_each(|line| file.write_line(line))?;
        outputs.push(file.finish()?);
    }
    Ok(outputs)
}

fn read_text(reader: &mut dyn BufRead) -> Result<String> {
    let mut bytes = Vec::new();
    reader.take(MAX_TEST_SET_BYTES).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).context("not valid UTF-8")
}

/// The lines of a plain text, without their ends and a byte-order mark.
fn lines(text: &str) -> Vec<String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines.map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned()).collect()
}

/// The segments of both sides, which must be the same ones.
fn aligned_segments(src: &str, tgt: &str, set: &TestSet) -> Result<[Vec<String>; 2]> {
    let read = |text: &str, member: &str| sgml::segments(text).with_context(|| member.to_owned());
    let (src, tgt) = (read(src, &set.src.member)?, read(tgt, &set.tgt.member)?);
    let differs = src.iter().zip(&tgt).find(|(src, tgt)| (&src.document, &src.id) != (&tgt.document, &tgt.id));
    if let Some((src, tgt)) = differs {
        bail!(
            "{}: segment {} of document {} stands beside segment {} of document {}",
            set.name,
            src.id,
            src.document,
            tgt.id,
            tgt.document
        );
    }
    Ok([src, tgt].map(|segments| segments.into_iter().map(|segment| segment.text).collect()))
}
