//! Sentences as ids, compactly: two bytes a token when the vocabulary allows it.

use crate::TokenId;

/// Sentences of token ids, without bos or eos, one after the other in one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentences {
    ids: Ids,
    /// `[sentences + 1]`, where each sentence begins, and the end of the last.
    offsets: Vec<usize>,
}

/// Ids in the smallest width that holds the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Ids {
    Narrow(Vec<u16>),
    Wide(Vec<u32>),
}

impl Sentences {
    /// No sentences yet, of a vocabulary of `vocab` pieces.
    #[must_use]
    pub fn new(vocab: usize) -> Self {
        let narrow = vocab <= usize::from(u16::MAX) + 1;
        Self { ids: if narrow { Ids::Narrow(Vec::new()) } else { Ids::Wide(Vec::new()) }, offsets: vec![0] }
    }

    /// Adds a sentence at the end.
    ///
    /// # Panics
    /// If an id is outside the vocabulary that [`new`](Self::new) was told of, by more than its width can hold.
    pub fn push(&mut self, sentence: &[TokenId]) {
        match &mut self.ids {
            Ids::Narrow(ids) => {
                ids.extend(sentence.iter().map(|id| u16::try_from(id.0).expect("an id within the vocabulary")));
            }
            Ids::Wide(ids) => ids.extend(sentence.iter().map(|id| id.0)),
        }
        self.offsets.push(self.tokens());
    }

    /// The number of sentences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no sentence.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The tokens of all sentences together.
    #[must_use]
    pub fn tokens(&self) -> usize {
        match &self.ids {
            Ids::Narrow(ids) => ids.len(),
            Ids::Wide(ids) => ids.len(),
        }
    }

    /// The tokens of one sentence.
    ///
    /// # Panics
    /// If there is no such sentence.
    #[must_use]
    pub fn length(&self, sentence: usize) -> usize {
        self.offsets[sentence + 1] - self.offsets[sentence]
    }

    /// The ids of one sentence.
    ///
    /// # Panics
    /// If there is no such sentence.
    #[must_use]
    pub fn get(&self, sentence: usize) -> Vec<TokenId> {
        let range = self.offsets[sentence]..self.offsets[sentence + 1];
        match &self.ids {
            Ids::Narrow(ids) => ids[range].iter().map(|&id| TokenId(u32::from(id))).collect(),
            Ids::Wide(ids) => ids[range].iter().map(|&id| TokenId(id)).collect(),
        }
    }
}

/// Sentence pairs as ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairCorpus {
    /// The source sides.
    pub src: Sentences,
    /// The target sides, in step.
    pub tgt: Sentences,
}

impl PairCorpus {
    /// No pairs yet, of a joint vocabulary of `vocab` pieces.
    #[must_use]
    pub fn new(vocab: usize) -> Self {
        Self { src: Sentences::new(vocab), tgt: Sentences::new(vocab) }
    }

    /// The number of pairs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.src.len()
    }

    /// Whether there is no pair.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.src.is_empty()
    }

    /// The (source, target) tokens of each pair, without eos.
    #[must_use]
    pub fn lengths(&self) -> Vec<(usize, usize)> {
        (0..self.len()).map(|pair| (self.src.length(pair), self.tgt.length(pair))).collect()
    }
}
