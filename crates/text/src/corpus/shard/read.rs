//! From shards to pairs.

use super::{HEADER_BYTES, Header, SUM_BYTES, array, shard_name, vocab_sum};
use crate::{TextError, TokenId, Vocab, corpus::FilterReport, corpus::PairFilter};
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// A whole set of shards. Of a pair, nothing is in memory until it is asked for.
#[derive(Debug)]
pub struct ShardSet {
    shards: Vec<Shard>,
    /// `[shards + 1]`, the first pair of each shard, and the number of pairs.
    starts: Vec<u64>,
}

/// One file of a set.
#[derive(Debug)]
struct Shard {
    path: PathBuf,
    header: Header,
    /// The file with its one cursor.
    file: Mutex<File>,
}

/// The pairs of a set that a filter keeps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Their numbers in the set.
    pub pairs: Vec<u32>,
    /// Their (source, target) tokens, without eos.
    pub lengths: Vec<(usize, usize)>,
    /// How many there are, and why others were dropped.
    pub report: FilterReport,
}

impl ShardSet {
    /// Opens the set in a folder and reads every file through once, to hold it against its checksum.
    ///
    /// # Errors
    /// [`TextError::NotAShard`] with the file when one is missing, damaged, of another set, or of another vocabulary
    /// than `vocab`.
    pub fn open(folder: impl AsRef<Path>, vocab: &Vocab) -> Result<Self, TextError> {
        let folder = folder.as_ref();
        let mut shards = vec![Shard::open(folder.join(shard_name(0)))?];
        let first = shards[0].header;
        for number in 1..first.count {
            shards.push(Shard::open(folder.join(shard_name(number)))?);
        }
        let sum = vocab_sum(vocab);
        for (number, shard) in (0..).zip(&shards) {
            let header = shard.header;
            if (header.number, header.count, header.origin) != (number, first.count, first.origin) {
                return Err(shard.refuse("it belongs to another set than the first shard; prepare the data again"));
            }
            if header.vocab != sum || header.pieces != vocab.len() as u64 {
                return Err(shard.refuse("it was made with another vocabulary than the recipe's"));
            }
        }
        check_nothing_follows(folder, first.count)?;
        let mut starts = vec![0];
        for shard in &shards {
            starts.push(starts.last().unwrap_or(&0) + shard.header.pairs);
        }
        Ok(Self { shards, starts })
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.last().map_or(0, |&pairs| pairs as usize)
    }

    /// Whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a filter keeps, in order.
    ///
    /// # Errors
    /// [`TextError::NotAShard`] when a file cannot be read.
    pub fn kept(&self, filter: &PairFilter) -> Result<Kept, TextError> {
        let mut kept = Kept::default();
        let mut pair = 0;
        for shard in &self.shards {
            shard.each_length(|(src_len, tgt_len)| {
                let verdict = filter.reason(src_len, tgt_len);
                kept.report.count(verdict);
                if verdict.is_none() {
                    kept.pairs.push(pair);
                    kept.lengths.push((src_len, tgt_len));
                }
                pair += 1;
            })?;
        }
        Ok(kept)
    }

    /// The source and the target of a pair, without bos or eos.
    ///
    /// # Errors
    /// [`TextError::NotAShard`] when the file cannot be read.
    ///
    /// # Panics
    /// If there is no such pair.
    pub fn pair(&self, pair: usize) -> Result<(Vec<TokenId>, Vec<TokenId>), TextError> {
        assert!(pair < self.len(), "pair {pair} of {}", self.len());
        let shard = self.starts.partition_point(|&start| start <= pair as u64) - 1;
        self.shards[shard].pair(pair as u64 - self.starts[shard])
    }
}

/// A set that shrank must not leave files behind that look like its own.
fn check_nothing_follows(folder: &Path, count: u32) -> Result<(), TextError> {
    let next = folder.join(shard_name(count));
    if next.exists() {
        return Err(refuse(&next, "the set has fewer shards; prepare the data again"));
    }
    Ok(())
}

impl Shard {
    fn open(path: PathBuf) -> Result<Self, TextError> {
        let opened = File::open(&path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (size, mut file) = opened.map_err(|source| TextError::Open { path: path.clone(), source })?;
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact(&mut bytes).map_err(|_| refuse(&path, "it ends before its header does"))?;
        let header = Header::from_bytes(&bytes).map_err(|reason| refuse(&path, reason))?;
        if header.file_bytes() != Some(size) {
            return Err(refuse(&path, "its size is not the one its header tells; prepare the data again"));
        }
        let shard = Self { path, header, file: Mutex::new(file) };
        shard.check_sum(size).map_err(|error| shard.broken(&error))?;
        Ok(shard)
    }

    fn check_sum(&self, size: u64) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(0))?;
        let mut sum = Sha256::new();
        let mut left = size - SUM_BYTES as u64;
        let mut buffer = vec![0; 1 << 16];
        while left > 0 {
            let part = &mut buffer[..left.min(1 << 16) as usize];
            file.read_exact(part)?;
            sum.update(&*part);
            left -= part.len() as u64;
        }
        let mut stored = [0; SUM_BYTES];
        file.read_exact(&mut stored)?;
        if stored == <[u8; SUM_BYTES]>::from(sum.finalize()) {
            Ok(())
        } else {
            Err(io::Error::other("its checksum is another; prepare the data again"))
        }
    }

    /// The lengths of each pair, in order.
    fn each_length(&self, mut hear: impl FnMut((usize, usize))) -> Result<(), TextError> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut walk = || -> io::Result<()> {
            file.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
            let mut reader = BufReader::with_capacity(1 << 16, &mut *file);
            let mut bytes = [0; 8];
            reader.read_exact(&mut bytes)?;
            let mut last = u64::from_le_bytes(bytes);
            for _ in 0..self.header.pairs {
                let mut lengths = [0; 2];
                for length in &mut lengths {
                    reader.read_exact(&mut bytes)?;
                    let next = u64::from_le_bytes(bytes);
                    let known = next.checked_sub(last).filter(|_| next <= self.header.ids);
                    *length = known.ok_or_else(|| io::Error::other("its offsets are out of order"))? as usize;
                    last = next;
                }
                hear((lengths[0], lengths[1]));
            }
            Ok(())
        };
        walk().map_err(|error| self.broken(&error))
    }

    fn pair(&self, pair: u64) -> Result<(Vec<TokenId>, Vec<TokenId>), TextError> {
        self.read_pair(pair).map_err(|error| self.broken(&error))
    }

    fn read_pair(&self, pair: u64) -> io::Result<(Vec<TokenId>, Vec<TokenId>)> {
        let offsets = self.read_at(HEADER_BYTES as u64 + pair * 16, 24)?;
        let [src, tgt, end] = [0, 8, 16].map(|at| u64::from_le_bytes(array(&offsets[at..at + 8])));
        if src > tgt || tgt > end || end > self.header.ids {
            return Err(io::Error::other("its offsets are out of order"));
        }
        Ok((self.read_ids(src..tgt)?, self.read_ids(tgt..end)?))
    }

    fn read_ids(&self, range: Range<u64>) -> io::Result<Vec<TokenId>> {
        let width = u64::from(self.header.id_bytes);
        let start = self.header.ids_start().unwrap_or(u64::MAX) + range.start * width;
        let bytes = self.read_at(start, ((range.end - range.start) * width) as usize)?;
        let ids: Vec<TokenId> = if width == 2 {
            bytes.chunks_exact(2).map(|id| TokenId(u32::from(u16::from_le_bytes(array(id))))).collect()
        } else {
            bytes.chunks_exact(4).map(|id| TokenId(u32::from_le_bytes(array(id)))).collect()
        };
        if ids.iter().any(|id| u64::from(id.0) >= self.header.pieces) {
            return Err(io::Error::other("it has ids outside the vocabulary"));
        }
        Ok(ids)
    }

    fn read_at(&self, start: u64, size: usize) -> io::Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = vec![0; size];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn broken(&self, error: &io::Error) -> TextError {
        self.refuse(error.to_string())
    }

    fn refuse(&self, reason: impl Into<String>) -> TextError {
        refuse(&self.path, reason)
    }
}

fn refuse(path: &Path, reason: impl Into<String>) -> TextError {
    TextError::NotAShard { path: path.to_owned(), reason: reason.into() }
}
