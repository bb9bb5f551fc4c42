//! A model ready to decode.

use std::fs::File;
use std::io::{Cursor, Read, Seek};
use std::path::Path;

use umlaut_kernels::inference::{Matrix, Norm, Precision};
use umlaut_search::TokenId;

use crate::config::{Config, EmbeddingKind};
use crate::decoder::Decoder;
use crate::layer::{DecoderLayer, EncoderLayer, LayerReader};
use crate::linear::read_table;
use crate::output::Output;
use crate::position::Positions;
use crate::weights::WeightFile;
use crate::{CONFIG_FILE, EngineError, WEIGHTS_FILE};

/// A model, its weights packed for the arithmetic it was opened with. Threads may share it: each makes decoders of its
/// own, and a decoder stays on the thread that uses it.
pub struct Engine {
    config: Config,
    precision: Precision,
    embeddings: Embeddings,
    encoder_layers: Vec<EncoderLayer>,
    encoder_norm: Option<Norm>,
    decoder_layers: Vec<DecoderLayer>,
    decoder_norm: Option<Norm>,
}

/// One table for everything, or one for each use; all `[vocab, d_model]`.
pub(crate) struct Embeddings {
    source: Matrix,
    others: Option<Box<[Matrix; 2]>>,
}

impl Embeddings {
    pub(crate) fn source(&self) -> &Matrix {
        &self.source
    }

    pub(crate) fn target(&self) -> &Matrix {
        self.others.as_ref().map_or(&self.source, |others| &others[0])
    }

    /// The output projection.
    pub(crate) fn output(&self) -> &Matrix {
        self.others.as_ref().map_or(&self.source, |others| &others[1])
    }
}

impl Engine {
    /// Opens a model directory: its `config.json` and `model.safetensors`. Weights of any stored type are converted to
    /// `precision`.
    ///
    /// # Errors
    /// [`EngineError`] says which file, which field or tensor, and what was expected.
    pub fn open(directory: &Path, precision: Precision) -> Result<Self, EngineError> {
        let (config_path, weights_path) = (directory.join(CONFIG_FILE), directory.join(WEIGHTS_FILE));
        let config = Config::from_json(&std::fs::read(&config_path).map_err(EngineError::io(&config_path))?)?;
        let file = File::open(&weights_path).map_err(EngineError::io(&weights_path))?;
        Self::read(config, WeightFile::open(file)?, precision)
    }

    /// Makes an engine of the contents of `config.json` and `model.safetensors`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_parts(config_json: &[u8], weights: &[u8], precision: Precision) -> Result<Self, EngineError> {
        Self::read(Config::from_json(config_json)?, WeightFile::open(Cursor::new(weights))?, precision)
    }

    fn read<R: Read + Seek>(
        config: Config,
        mut file: WeightFile<R>,
        precision: Precision,
    ) -> Result<Self, EngineError> {
        let table = |file: &mut WeightFile<R>, name| read_table(file, precision, name, [config.vocab, config.d_model]);
        let embeddings = match config.embeddings {
            EmbeddingKind::Shared => Embeddings { source: table(&mut file, "embedding.weight")?, others: None },
            EmbeddingKind::Separate => {
                let source = table(&mut file, "source_embedding.weight")?;
                let target = table(&mut file, "target_embedding.weight")?;
                Embeddings { source, others: Some(Box::new([target, table(&mut file, "output.weight")?])) }
            }
        };
        let mut reader = LayerReader { file: &mut file, config: &config, precision };
        let encoder_layers = (0..config.encoder_layers).map(|i| reader.encoder_layer(i)).collect::<Result<_, _>>()?;
        let encoder_norm = reader.final_norm("encoder")?;
        let decoder_layers = (0..config.decoder_layers).map(|i| reader.decoder_layer(i)).collect::<Result<_, _>>()?;
        let decoder_norm = reader.final_norm("decoder")?;
        file.finish()?;
        Ok(Self { config, precision, embeddings, encoder_layers, encoder_norm, decoder_layers, decoder_norm })
    }

    /// The model's shape.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The arithmetic of its products.
    #[must_use]
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Encodes `sources`, each of which ends with EOS, and gives a decoder with one row for each, in order.
    ///
    /// # Errors
    /// [`EngineError::EmptySource`] and [`EngineError::Token`].
    pub fn decoder(&self, sources: &[&[TokenId]]) -> Result<Decoder<'_>, EngineError> {
        Decoder::new(self, sources, Output::whole(self))
    }

    /// The same, except that the translation of each of `sources` may consist of the tokens of its list in `lists` alone.
    ///
    /// Log-probabilities are normalised over the list: they are those of the whole vocabulary, less the logarithm of what
    /// the list's tokens have of it together. Nothing about a sentence depends on the others or on their lists.
    ///
    /// # Errors
    /// As [`decoder`](Self::decoder).
    ///
    /// # Panics
    /// If there is not a list for each source.
    pub fn decoder_within(&self, sources: &[&[TokenId]], lists: &[Vec<TokenId>]) -> Result<Decoder<'_>, EngineError> {
        assert_eq!(sources.len(), lists.len(), "a list for each source");
        Decoder::new(self, sources, Output::within(self, lists)?)
    }

    /// Refuses tokens outside the vocabulary.
    pub(crate) fn check_tokens(&self, tokens: &[TokenId]) -> Result<(), EngineError> {
        let vocab = self.config.vocab;
        match tokens.iter().find(|token| token.0 as usize >= vocab) {
            Some(token) => Err(EngineError::Token { token: token.0, vocab }),
            None => Ok(()),
        }
    }

    /// `embedding * sqrt(d_model)`, and the sinusoid where the model uses it, of tokens at positions: `[tokens, d_model]`.
    pub(crate) fn embed(
        &self,
        table: &Matrix,
        tokens: impl Iterator<Item = (TokenId, usize)>,
        positions: &Positions,
    ) -> Vec<f32> {
        let d_model = self.config.d_model;
        let scale = (d_model as f32).sqrt();
        let mut x = Vec::new();
        for (i, (token, position)) in tokens.enumerate() {
            x.resize((i + 1) * d_model, 0.0);
            let embedding = &mut x[i * d_model..];
            table.copy_row(token.0 as usize, embedding);
            for number in embedding.iter_mut() {
                *number *= scale;
            }
            positions.add_to(position, embedding);
        }
        x
    }

    pub(crate) fn embeddings(&self) -> &Embeddings {
        &self.embeddings
    }

    pub(crate) fn encoder_layers(&self) -> &[EncoderLayer] {
        &self.encoder_layers
    }

    pub(crate) fn encoder_norm(&self) -> Option<&Norm> {
        self.encoder_norm.as_ref()
    }

    pub(crate) fn decoder_layers(&self) -> &[DecoderLayer] {
        &self.decoder_layers
    }

    pub(crate) fn decoder_norm(&self) -> Option<&Norm> {
        self.decoder_norm.as_ref()
    }
}
