//! Sentence pairs as ids on disk: a corpus of any size, read a pair at a time.
//!
//! A set of shards is a folder of files `00000.ids`, `00001.ids` and so on, each of which says how many there are. A
//! file holds, in little-endian order:
//!
//! | offset | bytes | what |
//! |--:|--:|---|
//! | 0 | 8 | `UMLSHARD` |
//! | 8 | 4 | version of this format: 1 |
//! | 12 | 4 | bytes of an id: 2 where the vocabulary has at most 65,536 pieces, else 4 |
//! | 16 | 4 | number of this shard, from 0 |
//! | 20 | 4 | number of shards of the set |
//! | 24 | 8 | pieces of the vocabulary |
//! | 32 | 8 | `pairs` |
//! | 40 | 8 | `ids`, of all sentences together |
//! | 48 | 32 | SHA-256 of the vocabulary's file |
//! | 80 | 32 | origin: what text and settings the set was made of, the same in all its shards |
//! | 112 | 8 * (2 * `pairs` + 1) | offsets: where source 0, target 0, source 1, target 1 ... begin among the ids, and the end |
//! | then | `ids` times 2 or 4 | the ids, without bos or eos |
//! | then | 32 | SHA-256 of everything before |
//!
//! Offsets and ids are aligned to their size, so that a file can be mapped and used as it is. [`ShardSet`] reads with
//! positioned reads instead: a mapping is `unsafe` in Rust, since another program may cut the file under it, and a read
//! of a pair that the system holds in its cache costs microseconds in an update of a second.

mod read;
mod write;

pub use read::{Kept, ShardSet};
pub use write::{ShardMark, shard_bytes, shard_name};

use crate::Vocab;
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"UMLSHARD";
const VERSION: u32 = 1;
/// Where the offsets begin.
const HEADER_BYTES: usize = 112;
/// Of a SHA-256.
const SUM_BYTES: usize = 32;
/// How the name of a shard ends.
const EXTENSION: &str = "ids";

/// A SHA-256.
pub type Sum = [u8; SUM_BYTES];

/// The checksum of a vocabulary's file.
fn vocab_sum(vocab: &Vocab) -> Sum {
    Sha256::digest(vocab.as_bytes()).into()
}

/// What stands before the offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    id_bytes: u32,
    number: u32,
    count: u32,
    pieces: u64,
    pairs: u64,
    ids: u64,
    vocab: Sum,
    origin: Sum,
}

impl Header {
    fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(MAGIC);
        for (at, number) in [(8, VERSION), (12, self.id_bytes), (16, self.number), (20, self.count)] {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        for (at, number) in [(24, self.pieces), (32, self.pairs), (40, self.ids)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        bytes[48..80].copy_from_slice(&self.vocab);
        bytes[80..].copy_from_slice(&self.origin);
        bytes
    }

    /// The header, or why these bytes are none.
    fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Result<Self, &'static str> {
        let short = |at: usize| u32::from_le_bytes(array(&bytes[at..at + 4]));
        let long = |at: usize| u64::from_le_bytes(array(&bytes[at..at + 8]));
        if &bytes[..8] != MAGIC {
            return Err("it does not begin as a shard does");
        }
        if short(8) != VERSION {
            return Err("it is of another version of the format; prepare the data again");
        }
        if !matches!(short(12), 2 | 4) {
            return Err("its ids have neither two bytes nor four");
        }
        Ok(Self {
            id_bytes: short(12),
            number: short(16),
            count: short(20),
            pieces: long(24),
            pairs: long(32),
            ids: long(40),
            vocab: array(&bytes[48..80]),
            origin: array(&bytes[80..]),
        })
    }

    /// Where the ids begin; `None` for a number of pairs that no file has.
    fn ids_start(&self) -> Option<u64> {
        self.pairs.checked_mul(2)?.checked_add(1)?.checked_mul(8)?.checked_add(HEADER_BYTES as u64)
    }

    /// The size of the file.
    fn file_bytes(&self) -> Option<u64> {
        let ids = self.ids.checked_mul(u64::from(self.id_bytes))?;
        self.ids_start()?.checked_add(ids)?.checked_add(SUM_BYTES as u64)
    }
}

/// A slice of known length as an array.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("a slice of this length")
}
