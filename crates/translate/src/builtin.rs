//! The model that is part of the program, if it was there when the program was built: see `default-model/README.md`.

use umlaut_engine::Precision;

use crate::{NeuralModel, TranslateError};

/// The built-in model.
#[cfg(builtin_model)]
pub(crate) fn model(precision: Precision) -> Result<NeuralModel, TranslateError> {
    let config = include_bytes!("../default-model/config.json");
    let weights = include_bytes!("../default-model/model.safetensors");
    let vocab = include_bytes!("../default-model/vocab.model");
    NeuralModel::from_parts(config, weights, vocab, precision)
}

/// Says that there is none.
#[cfg(not(builtin_model))]
pub(crate) fn model(_: Precision) -> Result<NeuralModel, TranslateError> {
    Err(TranslateError::NoBuiltinModel)
}
