//! Files read in step: a source, its translation, and perhaps the name of the corpus each pair came from.

use super::{Augment, Augmenter, FilterReport, LineReader, PairCorpus, PairFilter, filter::Dropped};
use crate::{TextError, TokenId, Vocab};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeSet, path::PathBuf};

/// Pairs handed to the threads at a time.
const CHUNK_PAIRS: usize = 1 << 14;

/// The files of a parallel corpus, line by line in step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BitextFiles {
    /// Source sentences.
    pub src: PathBuf,
    /// Their translations.
    pub tgt: PathBuf,
    /// The name of the corpus each pair came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<PathBuf>,
}

/// A sentence pair as it stands in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The source line.
    pub src: &'a str,
    /// The target line.
    pub tgt: &'a str,
    /// The corpus it came from, where there is a file of names.
    pub name: Option<&'a str>,
}

/// Reads the files of a parallel corpus in step.
#[derive(Debug)]
pub struct BitextReader {
    src: LineReader,
    tgt: LineReader,
    names: Option<LineReader>,
}

impl BitextReader {
    /// Opens the files.
    ///
    /// # Errors
    /// [`TextError::Open`] when one cannot be opened.
    pub fn open(files: &BitextFiles) -> Result<Self, TextError> {
        let names = files.names.as_ref().map(LineReader::open).transpose()?;
        Ok(Self { src: LineReader::open(&files.src)?, tgt: LineReader::open(&files.tgt)?, names })
    }

    /// The next pair, or `None` when all files end together.
    ///
    /// # Errors
    /// [`TextError::UnequalLines`] with the full count of each file when one ends before another, and whatever
    /// [`LineReader::next_line`] reports.
    pub fn next_pair(&mut self) -> Result<Option<Pair<'_>>, TextError> {
        // Whether each file has one more line is asked first, so that the lines can be borrowed afterwards.
        let mut readers = vec![&mut self.src, &mut self.tgt];
        readers.extend(self.names.as_mut());
        let mut ended = 0;
        for reader in &mut readers {
            ended += usize::from(!reader.advance()?);
        }
        if ended == readers.len() {
            return Ok(None);
        }
        if ended > 0 {
            return Err(unequal_lines(readers)?);
        }
        let name = self.names.as_ref().map(LineReader::current);
        Ok(Some(Pair { src: self.src.current(), tgt: self.tgt.current(), name }))
    }
}

/// Reads on to the end of each file, to name the full counts.
fn unequal_lines(readers: Vec<&mut LineReader>) -> Result<TextError, TextError> {
    let mut counts = Vec::new();
    for reader in readers {
        while reader.advance()? {}
        counts.push((reader.path().to_owned(), reader.line()));
    }
    Ok(TextError::UnequalLines { counts })
}

/// Reads parallel corpora one after the other into ids, and keeps what the filter lets through.
///
/// `selected` names the corpora to keep, `None` all. Encoding runs on the present rayon pool; order and result do not
/// depend on its size. Memory is that of the ids.
///
/// # Errors
/// [`TextError::NoNames`] when corpora are selected in files without names, and whatever reading reports.
pub fn load_pairs(
    files: &[BitextFiles],
    selected: Option<&BTreeSet<String>>,
    filter: &PairFilter,
    vocab: &Vocab,
) -> Result<(PairCorpus, FilterReport), TextError> {
    load_augmented(files, selected, filter, Augmenter::new(Augment::default(), 0), vocab)
}

/// [`load_pairs`], each pair followed by those that `augmenter` makes of it.
///
/// # Errors
/// As [`load_pairs`].
pub fn load_augmented(
    files: &[BitextFiles],
    selected: Option<&BTreeSet<String>>,
    filter: &PairFilter,
    mut augmenter: Augmenter,
    vocab: &Vocab,
) -> Result<(PairCorpus, FilterReport), TextError> {
    let mut corpus = PairCorpus::new(vocab.len());
    let mut report = FilterReport::default();
    for files in files {
        if selected.is_some() && files.names.is_none() {
            return Err(TextError::NoNames { path: files.src.clone() });
        }
        let mut reader = BitextReader::open(files)?;
        augmenter.begin_file();
        loop {
            let chunk = read_chunk(&mut reader, CHUNK_PAIRS, selected, &mut augmenter, &mut report)?;
            if chunk.is_empty() {
                break;
            }
            keep_chunk(&chunk, filter, vocab, &mut corpus, &mut report);
        }
    }
    Ok((corpus, report))
}

/// Cuts parallel corpora, one after the other, into pieces of so many lines: a corpus of any size in the memory of one
/// piece.
#[derive(Debug)]
pub struct PairCutter<'a> {
    /// Those that have not been opened yet.
    files: &'a [BitextFiles],
    reader: Option<BitextReader>,
    filter: PairFilter,
    vocab: &'a Vocab,
}

impl<'a> PairCutter<'a> {
    /// Begins before the first line of the first files.
    #[must_use]
    pub fn new(files: &'a [BitextFiles], filter: &PairFilter, vocab: &'a Vocab) -> Self {
        Self { files, reader: None, filter: *filter, vocab }
    }

    /// What the filter keeps of the next `lines` pairs, as ids. Fewer are read only at the end.
    ///
    /// # Errors
    /// What reading reports.
    pub fn next_piece(&mut self, lines: usize) -> Result<(PairCorpus, FilterReport), TextError> {
        let mut corpus = PairCorpus::new(self.vocab.len());
        let mut report = FilterReport::default();
        let mut nothing_made = Augmenter::new(Augment::default(), 0);
        while (report.read as usize) < lines {
            let Some(reader) = self.reader()? else { break };
            let wanted = (lines - report.read as usize).min(CHUNK_PAIRS);
            let chunk = read_chunk(reader, wanted, None, &mut nothing_made, &mut report)?;
            if chunk.is_empty() {
                self.reader = None;
            }
            keep_chunk(&chunk, &self.filter, self.vocab, &mut corpus, &mut report);
        }
        Ok((corpus, report))
    }

    /// Passes over the next `lines` pairs.
    ///
    /// # Errors
    /// What reading reports.
    pub fn skip(&mut self, lines: usize) -> Result<(), TextError> {
        let mut left = lines;
        while left > 0 {
            let Some(reader) = self.reader()? else { break };
            match reader.next_pair()? {
                Some(_) => left -= 1,
                None => self.reader = None,
            }
        }
        Ok(())
    }

    /// The reader of the present files, `None` after the last.
    fn reader(&mut self) -> Result<Option<&mut BitextReader>, TextError> {
        if self.reader.is_none() {
            let Some((first, rest)) = self.files.split_first() else { return Ok(None) };
            self.reader = Some(BitextReader::open(first)?);
            self.files = rest;
        }
        Ok(self.reader.as_mut())
    }
}

/// The next selected pairs and what is made of them, about `wanted`; none at the end.
fn read_chunk(
    reader: &mut BitextReader,
    wanted: usize,
    selected: Option<&BTreeSet<String>>,
    augmenter: &mut Augmenter,
    report: &mut FilterReport,
) -> Result<Vec<(String, String)>, TextError> {
    let mut chunk = Vec::new();
    while chunk.len() < wanted {
        let Some(pair) = reader.next_pair()? else { break };
        let is_selected = selected.is_none_or(|names| pair.name.is_some_and(|name| names.contains(name)));
        if is_selected {
            chunk.push((pair.src.to_owned(), pair.tgt.to_owned()));
            let made = augmenter.made(pair.src, pair.tgt);
            report.made += made.len() as u64;
            chunk.extend(made);
        } else {
            report.count(Some(Dropped::NotSelected));
        }
    }
    Ok(chunk)
}

/// Adds to the corpus what the filter keeps of a chunk.
fn keep_chunk(
    chunk: &[(String, String)],
    filter: &PairFilter,
    vocab: &Vocab,
    corpus: &mut PairCorpus,
    report: &mut FilterReport,
) {
    for (src, tgt) in encode_chunk(chunk, vocab) {
        let verdict = filter.reason(src.len(), tgt.len());
        report.count(verdict);
        if verdict.is_none() {
            corpus.src.push(&src);
            corpus.tgt.push(&tgt);
        }
    }
}

fn encode_chunk(chunk: &[(String, String)], vocab: &Vocab) -> Vec<(Vec<TokenId>, Vec<TokenId>)> {
    chunk.par_iter().map(|(src, tgt)| (vocab.encode(src), vocab.encode(tgt))).collect()
}
