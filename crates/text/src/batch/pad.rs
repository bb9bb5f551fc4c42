//! Rows of equal length.

use crate::{TokenId, Vocab, corpus::PairCorpus};

/// A batch of sentence pairs as flat rows of ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// `[batch, src_len]`, row-major: the source, eos, pads.
    pub src: Vec<u32>,
    /// `[batch, tgt_len]`: bos, the target, pads. What the decoder reads.
    pub tgt_in: Vec<u32>,
    /// `[batch, tgt_len]`: the target, eos, pads. What the decoder should say.
    pub tgt_out: Vec<u32>,
    /// Pairs.
    pub batch: usize,
    /// Tokens of the longest source, eos included.
    pub src_len: usize,
    /// Tokens of the longest target, eos included.
    pub tgt_len: usize,
    /// Tokens of `src` that are not pads.
    pub src_tokens: usize,
    /// Tokens of `tgt_out` that are not pads: what a loss per token divides by.
    pub tgt_tokens: usize,
}

impl Batch {
    /// Tokens of each source and of each target that are not pads, eos included.
    #[must_use]
    pub fn lengths(&self, pad: u32) -> (Vec<usize>, Vec<usize>) {
        let lengths = |ids: &[u32], len: usize| -> Vec<usize> {
            ids.chunks_exact(len).map(|row| row.iter().filter(|id| **id != pad).count()).collect()
        };
        (lengths(&self.src, self.src_len), lengths(&self.tgt_out, self.tgt_len))
    }

    /// All rows, then all of them again, `times` times in all.
    #[must_use]
    pub fn repeat(&self, times: usize) -> Self {
        Self {
            src: self.src.repeat(times),
            tgt_in: self.tgt_in.repeat(times),
            tgt_out: self.tgt_out.repeat(times),
            batch: self.batch * times,
            src_tokens: self.src_tokens * times,
            tgt_tokens: self.tgt_tokens * times,
            ..*self
        }
    }
}

/// Lays out sentence pairs as rows of equal length, with the marks of the vocabulary.
#[must_use]
pub fn pad(pairs: &[(Vec<TokenId>, Vec<TokenId>)], vocab: &Vocab) -> Batch {
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().map_or(0, |len| len + 1);
    let mut batch = Batch {
        batch: pairs.len(),
        src_len: longest(&mut pairs.iter().map(|(src, _)| src.len())),
        tgt_len: longest(&mut pairs.iter().map(|(_, tgt)| tgt.len())),
        ..Batch::default()
    };
    let (bos, eos, pad) = (vocab.bos(), vocab.eos(), vocab.pad());
    for (src, tgt) in pairs {
        push_row(&mut batch.src, src.iter().copied().chain([eos]), batch.src_len, pad);
        push_row(&mut batch.tgt_in, [bos].into_iter().chain(tgt.iter().copied()), batch.tgt_len, pad);
        push_row(&mut batch.tgt_out, tgt.iter().copied().chain([eos]), batch.tgt_len, pad);
        batch.src_tokens += src.len() + 1;
        batch.tgt_tokens += tgt.len() + 1;
    }
    batch
}

impl PairCorpus {
    /// Lays out the pairs of these indices.
    ///
    /// # Panics
    /// If there is no such pair.
    #[must_use]
    pub fn pad(&self, indices: &[u32], vocab: &Vocab) -> Batch {
        let pair = |&index: &u32| (self.src.get(index as usize), self.tgt.get(index as usize));
        pad(&indices.iter().map(pair).collect::<Vec<_>>(), vocab)
    }
}

fn push_row(rows: &mut Vec<u32>, tokens: impl Iterator<Item = TokenId>, row_len: usize, pad: TokenId) {
    let end = rows.len() + row_len;
    rows.extend(tokens.map(|token| token.0));
    rows.resize(end, pad.0);
}
