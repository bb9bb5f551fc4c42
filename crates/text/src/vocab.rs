//! The vocabulary: SentencePiece pieces, from text to ids and back.
//!
//! Encoding is SentencePiece's own (the C++ library, version 0.2.1), after [`normalise`]. Decoding and BPE-dropout are
//! written here over the pieces of the model: decoding so that it is total and never prints a mark of the library,
//! dropout so that a seed decides it.

mod dropout;
mod pieces;
mod recipe;
mod trainer;

pub use recipe::{Normalization, VocabRecipe};

use crate::{TextError, TokenId, normalise};
use dropout::Merger;
use pieces::{Kind, ModelFile};
use sentencepiece::SentencePieceProcessor;
use std::path::Path;

/// A vocabulary. Threads share it by reference.
///
/// With the identity rule and byte fallback, `decode(&encode(line)) == normalise(line)` for every line.
#[derive(Debug)]
pub struct Vocab {
    /// The file, or a word for where the bytes came from; for messages.
    name: String,
    bytes: Vec<u8>,
    processor: SentencePieceProcessor,
    model: ModelFile,
    /// Present when BPE-dropout is possible.
    merger: Option<Merger>,
    special: Special,
}

/// The ids with a meaning of their own.
#[derive(Clone, Copy, Debug)]
struct Special {
    unk: TokenId,
    bos: TokenId,
    eos: TokenId,
    pad: TokenId,
}

impl Vocab {
    /// Opens a SentencePiece model file.
    ///
    /// # Errors
    /// [`TextError::Open`] when the file cannot be read, [`TextError::NotAVocab`] when it is not a SentencePiece model
    /// with the pieces unk, bos, eos and pad.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TextError> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| TextError::Open { path: path.to_owned(), source })?;
        Self::parse(bytes, &path.display().to_string())
    }

    /// A vocabulary from the bytes of a model file.
    ///
    /// # Errors
    /// [`TextError::NotAVocab`], as for [`Vocab::open`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TextError> {
        Self::parse(bytes.to_vec(), "the vocabulary in memory")
    }

    fn parse(bytes: Vec<u8>, name: &str) -> Result<Self, TextError> {
        let refuse = |reason: String| TextError::NotAVocab { name: name.to_owned(), reason };
        // Ours first: it is strict, and the library prints on stderr what it cannot parse.
        let model = ModelFile::parse(&bytes).map_err(|reason| refuse(reason.to_owned()))?;
        let processor = SentencePieceProcessor::from_serialized_proto(&bytes).map_err(|e| refuse(e.to_string()))?;
        if processor.len() != model.pieces.len() {
            return Err(refuse(format!("{} pieces, of which {} load", model.pieces.len(), processor.len())));
        }
        let need = |id: Option<u32>, piece| id.map(TokenId).ok_or_else(|| refuse(format!("it has no {piece} piece")));
        let special = Special {
            unk: TokenId(processor.unk_id()),
            bos: need(processor.bos_id(), "<s>")?,
            eos: need(processor.eos_id(), "</s>")?,
            pad: need(processor.pad_id(), "<pad>")?,
        };
        let merger = Merger::new(&model, special.unk);
        Ok(Self { name: name.to_owned(), bytes, processor, model, merger, special })
    }

    /// The model file, byte for byte.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of pieces, the special ones included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a vocabulary has at least its special pieces")]
    pub fn len(&self) -> usize {
        self.model.pieces.len()
    }

    /// Checks that a model configuration means this vocabulary.
    ///
    /// # Errors
    /// [`TextError::VocabLen`], with both sizes and both files.
    pub fn check_len(&self, expected: usize, config: impl AsRef<Path>) -> Result<(), TextError> {
        if self.len() == expected {
            return Ok(());
        }
        let config = config.as_ref().display().to_string();
        Err(TextError::VocabLen { vocab: self.name.clone(), config, expected, found: self.len() })
    }

    /// The id of pieces outside the vocabulary. With byte fallback no text needs it.
    #[must_use]
    pub fn unk(&self) -> TokenId {
        self.special.unk
    }

    /// The id that begins a decoder's input.
    #[must_use]
    pub fn bos(&self) -> TokenId {
        self.special.bos
    }

    /// The id that ends a sentence.
    #[must_use]
    pub fn eos(&self) -> TokenId {
        self.special.eos
    }

    /// The id that fills a row up.
    #[must_use]
    pub fn pad(&self) -> TokenId {
        self.special.pad
    }

    /// The piece as the model file spells it, with U+2581 for a space; `None` outside the vocabulary.
    #[must_use]
    pub fn piece(&self, id: TokenId) -> Option<&str> {
        self.model.pieces.get(id.0 as usize).map(|piece| piece.text.as_str())
    }

    /// The id of a piece, control pieces such as `<2de>` included: the only way to one, since text never yields it.
    #[must_use]
    pub fn id(&self, piece: &str) -> Option<TokenId> {
        let at = self.model.pieces.iter().position(|candidate| candidate.text == piece)?;
        Some(TokenId(at as u32))
    }

    /// The ids of a line, without bos or eos. A blank line has none.
    ///
    /// A control piece in the text (`</s>`, `<unk>`, `<0x41>`) is text.
    #[must_use]
    pub fn encode(&self, line: &str) -> Vec<TokenId> {
        match self.processor.encode(&normalise(line)) {
            Ok(pieces) => pieces.iter().map(|piece| TokenId(piece.id)).collect(),
            // The library refuses no UTF-8 text; should it ever, the line is one unknown word rather than a panic.
            Err(_) => vec![self.special.unk],
        }
    }

    /// The ids of a line with BPE-dropout (Provilkov et al., ACL 2020, arXiv 1910.13267): each merge is skipped with
    /// `probability` when its turn comes. 0 gives [`encode`](Self::encode)'s ids, 1 gives characters.
    ///
    /// SentencePiece's own sampling draws from a generator that each thread seeds once, so its result depends on which
    /// thread met which sentence. Here the merges are made over the pieces of the model, and `seed` alone decides.
    ///
    /// # Errors
    /// [`TextError::NoDropout`] when the vocabulary is not plain BPE.
    pub fn encode_with_dropout(&self, line: &str, probability: f64, seed: u64) -> Result<Vec<TokenId>, TextError> {
        self.resegment(&self.encode(line), probability, seed)
    }

    /// [`encode_with_dropout`](Self::encode_with_dropout) of a line that is at hand as ids, whatever its present
    /// segmentation: what a corpus held as ids needs in each epoch.
    ///
    /// # Errors
    /// [`TextError::NoDropout`] when the vocabulary is not plain BPE.
    pub fn resegment(&self, ids: &[TokenId], probability: f64, seed: u64) -> Result<Vec<TokenId>, TextError> {
        let merger = self.merger.as_ref().ok_or_else(|| TextError::NoDropout { name: self.name.clone() })?;
        Ok(merger.segment(&self.model, ids, probability, seed))
    }

    /// The text of ids: one line in normal form, see [`normalise`].
    ///
    /// Control pieces, unknown pieces, ids outside the vocabulary, and byte pieces that are not UTF-8 together leave no
    /// trace; a byte piece never ends the line.
    #[must_use]
    pub fn decode(&self, ids: &[TokenId]) -> String {
        let mut bytes = Vec::new();
        for piece in ids.iter().filter_map(|id| self.model.pieces.get(id.0 as usize)) {
            match piece.kind {
                Kind::Control | Kind::Unknown => {}
                Kind::Byte(byte) => bytes.push(byte),
                Kind::Normal | Kind::UserDefined | Kind::Unused => bytes.extend(piece.text.as_bytes()),
            }
        }
        // The marks become spaces with the rest.
        let text: String = bytes.utf8_chunks().map(|chunk| chunk.valid()).collect();
        normalise(&text).into_owned()
    }
}
