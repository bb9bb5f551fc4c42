//! The validation set: its loss, and BLEU of real translations.

use umlaut_metrics::{Tokenizer, corpus_bleu};
use umlaut_model::decoder::CachedDecoder;
use umlaut_model::{FusedOps, Sequences, Transformer};
use umlaut_search::{BeamOptions, beam_search};
use umlaut_text::batch::Batch;
use umlaut_text::{TokenId, Vocab};

use crate::TrainError;
use crate::data::ValidationBatch;
use crate::update::{Sums, evaluate};

/// Translations that a log shows.
const SAMPLES: usize = 8;

/// What a validation found.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The loss over all pairs.
    pub sums: Sums,
    /// BLEU of greedy translations against the references, both as the vocabulary decodes them.
    pub bleu: f64,
    /// How BLEU was computed.
    pub signature: String,
    /// Translations of the first pairs of the set.
    pub samples: Vec<String>,
}

/// A pair of the validation set as its vocabulary decodes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// The source.
    pub source: String,
    /// The reference.
    pub reference: String,
}

/// The pairs whose translations a log shows, in the order of [`Validation::samples`].
#[must_use]
pub fn examples(batches: &[ValidationBatch], vocab: &Vocab) -> Vec<Example> {
    let pairs = batches.iter().map(|batch| batch.places.len()).sum::<usize>();
    let mut examples = vec![Example::default(); pairs.min(SAMPLES)];
    for ValidationBatch { places, batch } in batches {
        let rows = batch.src.chunks_exact(batch.src_len).zip(batch.tgt_out.chunks_exact(batch.tgt_len));
        for (place, (src, tgt)) in places.iter().zip(rows).filter(|(place, _)| **place < SAMPLES) {
            let [source, reference] = [src, tgt].map(|row| vocab.decode(&real(row, vocab)));
            examples[*place] = Example { source, reference };
        }
    }
    examples
}

/// Looks at a model.
///
/// # Errors
/// If BLEU cannot be computed.
pub fn validate<B: FusedOps>(
    model: &Transformer<B>,
    batches: &[ValidationBatch],
    vocab: &Vocab,
    smoothing: f32,
) -> Result<Validation, TrainError> {
    let mut sums = Sums::default();
    let pairs = batches.iter().map(|batch| batch.places.len()).sum();
    let (mut hypotheses, mut references) = (vec![String::new(); pairs], vec![String::new(); pairs]);
    for ValidationBatch { places, batch } in batches {
        sums.add(evaluate(model, batch, smoothing));
        let rows = batch.tgt_out.chunks_exact(batch.tgt_len);
        for ((place, hypothesis), row) in places.iter().zip(translate(model, batch, vocab)?).zip(rows) {
            hypotheses[*place] = hypothesis;
            references[*place] = vocab.decode(&real(row, vocab));
        }
    }
    let bleu = corpus_bleu(&hypotheses, &references, Tokenizer::default())
        .map_err(|error| TrainError::Validation(error.to_string()))?;
    hypotheses.truncate(SAMPLES);
    Ok(Validation { sums, bleu: bleu.score, signature: bleu.signature.to_string(), samples: hypotheses })
}

/// The tokens of a row before its end.
fn real(row: &[u32], vocab: &Vocab) -> Vec<TokenId> {
    row.iter().map(|id| TokenId(*id)).take_while(|id| *id != vocab.eos() && *id != vocab.pad()).collect()
}

fn translate<B: FusedOps>(model: &Transformer<B>, batch: &Batch, vocab: &Vocab) -> Result<Vec<String>, TrainError> {
    let lengths: Vec<usize> = batch.src.chunks_exact(batch.src_len).map(|row| real(row, vocab).len() + 1).collect();
    let mut decoder = CachedDecoder::new(model, Sequences { ids: &batch.src, lengths: &lengths });
    let options = BeamOptions {
        width: 1,
        forbidden: vec![vocab.bos(), vocab.pad(), vocab.unk()],
        ..BeamOptions::new(vocab.bos(), vocab.eos())
    };
    let limits: Vec<usize> = lengths.iter().map(|len| len * 2 + 10).collect();
    let found = beam_search(&mut decoder, &limits, &options);
    let found = found.map_err(|error| TrainError::Validation(error.to_string()))?;
    Ok(found.iter().map(|hypotheses| vocab.decode(&hypotheses[0].tokens)).collect())
}
