//! Lexical shortlists: the target tokens that a source's tokens can become.
//!
//! A translation of a sentence is made of some hundred tokens that go with its own, of frequent ones, and of what it
//! copies; an output projection that computes those alone is many times smaller (Jean et al., ACL 2015). What goes with
//! what is learned by [`ShortlistRecipe`] from parallel text.

mod file;
mod lexicon;
mod recipe;

pub use recipe::ShortlistRecipe;

use crate::{TokenId, Vocab};

/// For each source token the target tokens it can become, and the tokens that can stand in any translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortlist {
    vocab: usize,
    /// Of the vocabulary's file.
    vocab_checksum: u32,
    /// Target tokens by frequency, the most frequent first.
    ranking: Vec<TokenId>,
    /// How many of them are in every list; the others only fill up.
    frequent: usize,
    /// `[vocab]`, each ascending.
    lists: Vec<Vec<TokenId>>,
}

impl Shortlist {
    /// The tokens that a translation of `source` may consist of, ascending: those its tokens can become, the frequent
    /// ones, and its own tokens, since names and numbers are copied, and so are the bytes of a character without a piece
    /// (all 256 bytes in every list would double its cost for characters that hardly a translation adds by itself). EOS
    /// is among them when the source ends with it.
    ///
    /// The list is filled up to a multiple of `granule` with the next most frequent tokens, as far as they are known:
    /// arithmetic that works on so many at a time computes them for nothing. It depends on the source alone.
    #[must_use]
    pub fn candidates(&self, source: &[TokenId], granule: usize) -> Vec<TokenId> {
        let mut union = Union { is_in: vec![false; self.vocab], size: 0 };
        let (frequent, rest) = self.ranking.split_at(self.frequent);
        union.extend(frequent);
        union.extend(source);
        for token in source {
            union.extend(self.lists.get(token.0 as usize).map_or(&[], Vec::as_slice));
        }
        for token in rest.iter().map(std::slice::from_ref) {
            if union.size.is_multiple_of(granule) {
                break;
            }
            union.extend(token);
        }
        (0..).map(TokenId).zip(union.is_in).filter(|&(_, is_in)| is_in).map(|(token, _)| token).collect()
    }

    /// Whether it was made with this vocabulary.
    #[must_use]
    pub fn is_of(&self, vocab: &Vocab) -> bool {
        self.vocab == vocab.len() && self.vocab_checksum == file::checksum(vocab.as_bytes())
    }

    /// Tokens in all lists of source tokens together.
    #[must_use]
    pub fn entries(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }
}

/// A set of tokens of the vocabulary.
struct Union {
    /// `[vocab]`.
    is_in: Vec<bool>,
    size: usize,
}

impl Union {
    /// Adds tokens; those outside the vocabulary are none.
    fn extend(&mut self, tokens: &[TokenId]) {
        for token in tokens {
            if let Some(is_in @ false) = self.is_in.get_mut(token.0 as usize) {
                *is_in = true;
                self.size += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(ids: &[u32]) -> Vec<TokenId> {
        ids.iter().copied().map(TokenId).collect()
    }

    fn shortlist() -> Shortlist {
        let mut lists = vec![Vec::new(); 12];
        (lists[4], lists[5]) = (ids(&[7, 8]), ids(&[8, 9]));
        Shortlist { vocab: 12, vocab_checksum: 0, ranking: ids(&[2, 7, 10, 11]), frequent: 2, lists }
    }

    #[test]
    fn a_list_is_what_the_tokens_become_themselves_and_the_frequent_ones() {
        assert_eq!(shortlist().candidates(&ids(&[4, 5, 4, 2]), 1), ids(&[2, 4, 5, 7, 8, 9]));
        assert_eq!(shortlist().candidates(&ids(&[6, 2]), 1), ids(&[2, 6, 7]));
        assert_eq!(shortlist().candidates(&ids(&[99]), 1), ids(&[2, 7]), "no token of the vocabulary");
    }

    #[test]
    fn it_is_filled_up_by_frequency_as_far_as_that_is_known() {
        assert_eq!(shortlist().candidates(&ids(&[4, 5, 2]), 4), ids(&[2, 4, 5, 7, 8, 9, 10, 11]));
        assert_eq!(shortlist().candidates(&ids(&[6, 2]), 4), ids(&[2, 6, 7, 10]));
        assert_eq!(shortlist().candidates(&ids(&[4, 5, 2]), 50).len(), 8);
    }
}
