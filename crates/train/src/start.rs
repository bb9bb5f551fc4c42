//! The parameters that a run begins with: fresh ones, or those of another model.

use std::fs;
use std::path::Path;

use burn::tensor::backend::AutodiffBackend;
use umlaut_model::{FusedOps, Transformer, TransformerConfig, directory};

use crate::checkpoint::VOCAB;
use crate::recipe::FILE;
use crate::trainer::Folders;
use crate::{Recipe, TrainError};

/// The model of update 0.
///
/// # Errors
/// If the model that the recipe begins with cannot be read, has another shape than the recipe's or another vocabulary.
pub(crate) fn model<B>(recipe: &Recipe, folders: &Folders, device: &B::Device) -> Result<Transformer<B>, TrainError>
where
    B: AutodiffBackend + FusedOps,
{
    let Some(init) = &recipe.init else { return Ok(recipe.model.init(recipe.seed, device)?) };
    let dir = folders.recipe.join(init);
    let refuse = |what: String| {
        let reason = format!("init = {}: {what}", init.display());
        TrainError::Recipe { path: folders.recipe.join(FILE), reason }
    };
    let with_shape = |config| Recipe { model: shape(config), ..recipe.clone() };
    let fields = with_shape(&recipe.model).differences(&with_shape(&directory::read_config(&dir)?));
    if !fields.is_empty() {
        let names: Vec<&str> = fields.iter().filter_map(|field| field.split(' ').next()).collect();
        return Err(refuse(format!("that model differs in {}", names.join(", "))));
    }
    if read(&dir.join(VOCAB))? != read(&folders.vocab(recipe))? {
        return Err(refuse("that model has another vocabulary".to_owned()));
    }
    Ok(directory::read_as(&dir, &recipe.model, device)?)
}

/// What must be the same: all but how it is trained.
fn shape(config: &TransformerConfig) -> TransformerConfig {
    let precision = umlaut_model::Precision::F32;
    TransformerConfig { dropout: 0.0, attention_dropout: 0.0, activation_dropout: 0.0, precision, ..config.clone() }
}

fn read(path: &Path) -> Result<Vec<u8>, TrainError> {
    fs::read(path).map_err(|source| TrainError::Io { path: path.to_owned(), source })
}
