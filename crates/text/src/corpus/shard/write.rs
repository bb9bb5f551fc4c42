//! From pairs to the bytes of a shard.

use super::{EXTENSION, Header, Sum, vocab_sum};
use crate::{Vocab, corpus::PairCorpus, corpus::Sentences};
use sha2::{Digest, Sha256};

/// Which shard of which set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardMark {
    /// The number of this shard, from 0.
    pub number: u32,
    /// The number of shards of the set.
    pub count: u32,
    /// A checksum of what the set is made of: shards of different origin are not read together.
    pub origin: Sum,
}

/// The file name of a shard.
#[must_use]
pub fn shard_name(number: u32) -> String {
    format!("{number:05}.{EXTENSION}")
}

/// A shard file with the pairs of `corpus`, which are ids of `vocab`.
#[must_use]
pub fn shard_bytes(corpus: &PairCorpus, vocab: &Vocab, mark: &ShardMark) -> Vec<u8> {
    let id_bytes: u32 = if vocab.len() <= usize::from(u16::MAX) + 1 { 2 } else { 4 };
    let ids = (corpus.src.tokens() + corpus.tgt.tokens()) as u64;
    let header = Header {
        id_bytes,
        number: mark.number,
        count: mark.count,
        pieces: vocab.len() as u64,
        pairs: corpus.len() as u64,
        ids,
        vocab: vocab_sum(vocab),
        origin: mark.origin,
    };
    let mut bytes = Vec::with_capacity(header.file_bytes().unwrap_or(0) as usize);
    bytes.extend(header.to_bytes());
    push_offsets(&mut bytes, corpus);
    for pair in 0..corpus.len() {
        for sentence in [corpus.src.get(pair), corpus.tgt.get(pair)] {
            // The first two bytes of a small number in little-endian order are the number.
            bytes.extend(sentence.iter().flat_map(|id| id.0.to_le_bytes().into_iter().take(id_bytes as usize)));
        }
    }
    let sum = Sha256::digest(&bytes);
    bytes.extend(sum);
    bytes
}

fn push_offsets(bytes: &mut Vec<u8>, corpus: &PairCorpus) {
    let sides: [&Sentences; 2] = [&corpus.src, &corpus.tgt];
    let mut offset = 0u64;
    bytes.extend(offset.to_le_bytes());
    for pair in 0..corpus.len() {
        for side in sides {
            offset += side.length(pair) as u64;
            bytes.extend(offset.to_le_bytes());
        }
    }
}
