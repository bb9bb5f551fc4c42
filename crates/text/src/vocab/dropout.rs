//! Byte-pair merges over the pieces of a model, with dropout (Provilkov et al., ACL 2020, arXiv 1910.13267).
//!
//! Starting from characters, the best pair of neighbours that makes a piece is merged, until none is left; best means
//! the highest score, then the leftmost. With dropout a pair whose turn comes is passed over with probability p, and
//! comes back only if one of its sides changes. With p = 0 this is SentencePiece's own segmentation.

use super::pieces::{Kind, ModelFile};
use crate::{TokenId, rng::SplitMix64};
use std::{
    cmp::{Ordering, Reverse},
    collections::{BinaryHeap, HashMap},
};

/// The merges of a vocabulary.
#[derive(Debug)]
pub(super) struct Merger {
    /// Text of a piece -> id, of the pieces that text can become.
    ids: HashMap<String, u32>,
    /// Id of the piece of each byte, when the model falls back to bytes.
    bytes: Option<Vec<u32>>,
    unk: TokenId,
}

/// A stretch of the text that is one token so far.
struct Symbol {
    begin: usize,
    end: usize,
    /// The neighbours; `NONE` at either end.
    left: usize,
    right: usize,
    /// A token that takes no part in merges: a byte, or an unknown piece.
    fixed: Option<TokenId>,
}

const NONE: usize = usize::MAX;

/// Two neighbours that would make a piece.
#[derive(PartialEq)]
struct Pair {
    score: f32,
    left: usize,
    right: usize,
    /// Bytes of the two together: an old pair, of which a side has changed since, is known by it.
    size: usize,
}

impl Eq for Pair {}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(Reverse(self.left).cmp(&Reverse(other.left)))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A sentence while it is being merged.
struct Sentence<'a> {
    merger: &'a Merger,
    model: &'a ModelFile,
    text: String,
    symbols: Vec<Symbol>,
    agenda: BinaryHeap<Pair>,
}

impl Merger {
    /// The merges of a BPE model; `None` for another, or when pieces need the library's own treatment.
    pub(super) fn new(model: &ModelFile, unk: TokenId) -> Option<Self> {
        let plain = |kind| !matches!(kind, Kind::UserDefined | Kind::Unused);
        if !model.is_bpe || !model.pieces.iter().all(|piece| plain(piece.kind)) {
            return None;
        }
        let mut ids = HashMap::new();
        let mut bytes = vec![unk.0; 256];
        for (id, piece) in model.pieces.iter().enumerate() {
            match piece.kind {
                Kind::Normal => drop(ids.insert(piece.text.clone(), id as u32)),
                Kind::Byte(byte) => bytes[usize::from(byte)] = id as u32,
                _ => {}
            }
        }
        Some(Self { ids, bytes: model.byte_fallback.then_some(bytes), unk })
    }

    /// Segments anew the text that `ids` spell.
    pub(super) fn segment(&self, model: &ModelFile, ids: &[TokenId], probability: f64, seed: u64) -> Vec<TokenId> {
        let mut sentence = Sentence::new(self, model, ids);
        sentence.merge(probability, &mut SplitMix64::new(seed));
        sentence.tokens()
    }
}

impl<'a> Sentence<'a> {
    /// The characters of the pieces; bytes and unknown pieces stay what they are.
    fn new(merger: &'a Merger, model: &'a ModelFile, ids: &[TokenId]) -> Self {
        let mut sentence = Self { merger, model, text: String::new(), symbols: Vec::new(), agenda: BinaryHeap::new() };
        for &id in ids {
            match model.pieces.get(id.0 as usize) {
                Some(piece) if piece.kind == Kind::Normal => piece.text.chars().for_each(|c| sentence.push(c, None)),
                _ => sentence.push('\0', Some(id)),
            }
        }
        for right in 1..sentence.symbols.len() {
            sentence.consider(right - 1, right);
        }
        sentence
    }

    fn push(&mut self, c: char, fixed: Option<TokenId>) {
        let begin = self.text.len();
        self.text.push(c);
        let at = self.symbols.len();
        if let Some(last) = self.symbols.last_mut() {
            last.right = at;
        }
        let left = at.checked_sub(1).unwrap_or(NONE);
        self.symbols.push(Symbol { begin, end: self.text.len(), left, right: NONE, fixed });
    }

    /// Puts a pair on the agenda if it makes a piece.
    fn consider(&mut self, left: usize, right: usize) {
        if left == NONE || right == NONE {
            return;
        }
        let (first, second) = (&self.symbols[left], &self.symbols[right]);
        if first.fixed.is_some() || second.fixed.is_some() {
            return;
        }
        if let Some(&id) = self.merger.ids.get(&self.text[first.begin..second.end]) {
            let score = self.model.pieces[id as usize].score;
            self.agenda.push(Pair { score, left, right, size: second.end - first.begin });
        }
    }

    fn merge(&mut self, probability: f64, random: &mut SplitMix64) {
        while let Some(pair) = self.agenda.pop() {
            let (left, right) = (&self.symbols[pair.left], &self.symbols[pair.right]);
            // A symbol that was merged into its left neighbour is empty.
            let (left_size, right_size) = (left.end - left.begin, right.end - right.begin);
            if left_size == 0 || right_size == 0 || left_size + right_size != pair.size {
                continue;
            }
            if probability > 0.0 && random.next_f64() < probability {
                continue;
            }
            self.join(pair.left, pair.right);
        }
    }

    fn join(&mut self, left: usize, right: usize) {
        let after = self.symbols[right].right;
        self.symbols[left].end = self.symbols[right].end;
        self.symbols[left].right = after;
        self.symbols[right].end = self.symbols[right].begin;
        if after != NONE {
            self.symbols[after].left = left;
        }
        self.consider(self.symbols[left].left, left);
        self.consider(left, after);
    }

    /// The token of each symbol; of one that is no piece, its bytes or one unknown token.
    fn tokens(&self) -> Vec<TokenId> {
        let mut tokens = Vec::with_capacity(self.symbols.len());
        for symbol in self.symbols.iter().filter(|symbol| symbol.begin < symbol.end) {
            let text = &self.text[symbol.begin..symbol.end];
            match (symbol.fixed, self.merger.ids.get(text), &self.merger.bytes) {
                (Some(token), ..) => tokens.push(token),
                (_, Some(&id), _) => tokens.push(TokenId(id)),
                (_, _, Some(bytes)) => tokens.extend(text.bytes().map(|byte| TokenId(bytes[usize::from(byte)]))),
                // Like the library, one unknown token for a run of unknown characters.
                _ if tokens.last() == Some(&self.merger.unk) => {}
                _ => tokens.push(self.merger.unk),
            }
        }
        tokens
    }
}
