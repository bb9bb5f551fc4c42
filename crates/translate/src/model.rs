//! What translation needs of vocabulary and network, and the pair that has it.

use std::error::Error;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use umlaut_engine::{Config, Decoder, Engine, EngineError, Precision, TOKENS_AT_A_TIME};
use umlaut_search::{ForcedDecoder, TokenId};
use umlaut_text::{Shortlist, Vocab};

use crate::TranslateError;

/// A vocabulary and a network that belong together. Threads share it by reference.
pub trait Model: Sync {
    /// What can go wrong when a batch is taken in.
    type Error: Error + Send + Sync + 'static;
    /// A batch in the making.
    type Decoder<'a>: ForcedDecoder
    where
        Self: 'a;

    /// The tokens with a meaning of their own.
    fn special(&self) -> Special;

    /// The tokens of a line, without BOS and EOS; none for a line in which there is nothing to translate.
    fn encode(&self, line: &str) -> Vec<TokenId>;

    /// The text of tokens, without a line end.
    fn decode(&self, tokens: &[TokenId]) -> String;

    /// Whether a token begins a word of the text it is part of, rather than going on with one.
    fn begins_word(&self, token: TokenId) -> bool;

    /// Reads source sentences, each ending with EOS, and holds one row for each.
    ///
    /// # Errors
    /// Whatever the network reports.
    fn decoder(&self, sources: &[&[TokenId]]) -> Result<Self::Decoder<'_>, Self::Error>;
}

/// The ids of a vocabulary that are no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Special {
    /// Unknown.
    pub unk: TokenId,
    /// Fed to the decoder first.
    pub bos: TokenId,
    /// Ends a sentence.
    pub eos: TokenId,
    /// Fills a row up.
    pub pad: TokenId,
}

/// The vocabulary and the network of a model directory.
pub struct NeuralModel {
    vocab: Vocab,
    engine: Engine,
    shortlist: Option<Shortlist>,
}

impl NeuralModel {
    /// Opens a model directory: `config.json`, `model.safetensors` and `vocab.model`.
    ///
    /// # Errors
    /// [`TranslateError`] says which file is at fault; vocabulary and network must belong together.
    pub fn open(folder: &Path, precision: Precision) -> Result<Self, TranslateError> {
        let vocab = || Vocab::open(folder.join("vocab.model"));
        let (engine, vocab) = at_once(|| Engine::open(folder, precision), vocab);
        let (engine, vocab) = (engine.map_err(TranslateError::Network)?, vocab.map_err(TranslateError::Vocab)?);
        Self::new(vocab, engine, &folder.join("config.json"))
    }

    /// Makes a model of the contents of the three files.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_parts(
        config: &[u8],
        weights: &[u8],
        vocab: &[u8],
        precision: Precision,
    ) -> Result<Self, TranslateError> {
        let vocab = || Vocab::from_bytes(vocab);
        let (engine, vocab) = at_once(|| Engine::from_parts(config, weights, precision), vocab);
        let (engine, vocab) = (engine.map_err(TranslateError::Network)?, vocab.map_err(TranslateError::Vocab)?);
        Self::new(vocab, engine, Path::new("config.json"))
    }

    /// Restricts translations to what `shortlist` gives for their sources, each by itself.
    ///
    /// # Errors
    /// [`TranslateError::ShortlistVocab`] if it was made with another vocabulary.
    pub fn with_shortlist(self, shortlist: Shortlist) -> Result<Self, TranslateError> {
        if shortlist.is_of(&self.vocab) {
            Ok(Self { shortlist: Some(shortlist), ..self })
        } else {
            Err(TranslateError::ShortlistVocab)
        }
    }

    /// Refuses a vocabulary and a network that do not belong together; `config_path` is for the message.
    fn new(vocab: Vocab, engine: Engine, config_path: &Path) -> Result<Self, TranslateError> {
        let &Config { vocab: size, unk_id, bos_id, eos_id, pad_id, .. } = engine.config();
        vocab.check_len(size, config_path).map_err(TranslateError::Vocab)?;
        let ids = [
            ("unk", unk_id, vocab.unk()),
            ("bos", bos_id, vocab.bos()),
            ("eos", eos_id, vocab.eos()),
            ("pad", pad_id, vocab.pad()),
        ];
        match ids.into_iter().find(|&(_, config, vocab)| config != vocab.0) {
            Some((piece, config, TokenId(vocab))) => Err(TranslateError::SpecialId { piece, config, vocab }),
            None => Ok(Self { vocab, engine, shortlist: None }),
        }
    }
}

/// Does both on a thread of its own: a program is ready sooner.
fn at_once<A, B: Send>(a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|scope| {
        let b = scope.spawn(b);
        let a = a();
        (a, b.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

impl Model for NeuralModel {
    type Error = EngineError;
    type Decoder<'a> = Decoder<'a>;

    fn special(&self) -> Special {
        let Self { vocab, .. } = self;
        Special { unk: vocab.unk(), bos: vocab.bos(), eos: vocab.eos(), pad: vocab.pad() }
    }

    fn encode(&self, line: &str) -> Vec<TokenId> {
        self.vocab.encode(line)
    }

    fn decode(&self, tokens: &[TokenId]) -> String {
        self.vocab.decode(tokens)
    }

    fn begins_word(&self, token: TokenId) -> bool {
        self.vocab.piece(token).is_some_and(|piece| piece.starts_with('\u{2581}'))
    }

    fn decoder(&self, sources: &[&[TokenId]]) -> Result<Decoder<'_>, EngineError> {
        match &self.shortlist {
            None => self.engine.decoder(sources),
            Some(shortlist) => {
                let list = |source: &&[TokenId]| shortlist.candidates(source, TOKENS_AT_A_TIME);
                self.engine.decoder_within(sources, &sources.iter().map(list).collect::<Vec<_>>())
            }
        }
    }
}
