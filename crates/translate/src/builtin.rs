//! The model that is part of the program, if it was there when the program was built: see `default-model/README.md`.

use umlaut_engine::Precision;

use crate::{NeuralModel, TranslateError};

/// Name and contents of each file of the built-in model, in the order of their names.
#[cfg(builtin_model)]
pub const BUILTIN_FILES: Option<[(&str, &[u8]); 3]> = Some([
    ("config.json", include_bytes!("../default-model/config.json")),
    ("model.safetensors", include_bytes!("../default-model/model.safetensors")),
    ("vocab.model", include_bytes!("../default-model/vocab.model")),
]);

/// This library was built without a model.
#[cfg(not(builtin_model))]
pub const BUILTIN_FILES: Option<[(&str, &[u8]); 3]> = None;

/// The built-in model.
pub(crate) fn model(precision: Precision) -> Result<NeuralModel, TranslateError> {
    let [(_, config), (_, weights), (_, vocab)] = BUILTIN_FILES.ok_or(TranslateError::NoBuiltinModel)?;
    NeuralModel::from_parts(config, weights, vocab, precision)
}
