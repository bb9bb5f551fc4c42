//! Averages of checkpoints, element by element (arXiv 1706.03762, section 6.1).

use std::fs;
use std::path::{Path, PathBuf};

use safetensors::SafeTensors;

use crate::ModelError;
use crate::directory::{self, WEIGHTS, is_scale};
use crate::parameters::{Array, Arrays};

/// The mean of the models in `dirs`, summed in f64 one model at a time, so that the memory is that of one model plus the
/// sum. The mean of copies of one model is that model, to the bit.
///
/// # Errors
/// [`ModelError::Average`] if there are none, or names the one whose configuration or shapes differ from the first's.
pub fn average(dirs: &[PathBuf]) -> Result<Arrays, ModelError> {
    let Some((first, rest)) = dirs.split_first() else {
        return Err(ModelError::Average { reason: "no checkpoint was named".into() });
    };
    let config = directory::read_config(first)?;
    let mut sums: Vec<(String, Vec<usize>, Vec<f64>)> = directory::read_arrays(&first.join(WEIGHTS))?
        .into_iter()
        .map(|(name, array)| (name, array.shape, array.data.into_iter().map(f64::from).collect()))
        .collect();
    for dir in rest {
        if directory::read_config(dir)? != config {
            let reason = format!("{} and {} have different configurations", first.display(), dir.display());
            return Err(ModelError::Average { reason });
        }
        add(&mut sums, directory::read_arrays(&dir.join(WEIGHTS))?, first, dir)?;
    }
    let count = dirs.len() as f64;
    let mean = |sum: Vec<f64>| sum.into_iter().map(|x| (x / count) as f32).collect();
    Ok(sums.into_iter().map(|(name, shape, sum)| (name, Array { shape, data: mean(sum) })).collect())
}

fn add(
    sums: &mut [(String, Vec<usize>, Vec<f64>)],
    mut arrays: Arrays,
    first: &Path,
    dir: &Path,
) -> Result<(), ModelError> {
    let refuse = |reason: String| Err(ModelError::Average { reason });
    for (name, shape, sum) in sums {
        match arrays.remove(name) {
            Some(array) if array.shape == *shape => {
                for (sum, x) in sum.iter_mut().zip(array.data) {
                    *sum += f64::from(x);
                }
            }
            Some(array) => {
                let (a, b) = (first.display(), dir.display());
                return refuse(format!("`{name}` is {shape:?} in {a} and {:?} in {b}", array.shape));
            }
            None => return refuse(format!("`{name}` is missing in {}", dir.display())),
        }
    }
    match arrays.into_keys().next() {
        Some(name) => refuse(format!("`{name}` is in {} but not in {}", dir.display(), first.display())),
        None => Ok(()),
    }
}

/// Number of parameters in a model directory, from the shapes in the weights' header. The scales of int8 codes are none.
///
/// # Errors
/// If the weights cannot be read.
pub fn count_parameters(dir: &Path) -> Result<usize, ModelError> {
    let path = dir.join(WEIGHTS);
    let bytes = fs::read(&path).map_err(|source| ModelError::Io { path: path.clone(), source })?;
    let (_, metadata) =
        SafeTensors::read_metadata(&bytes).map_err(|error| ModelError::Format { path, reason: error.to_string() })?;
    let tensors = metadata.tensors();
    let dtype_of = |name: &str| tensors.get(name).map(|tensor| tensor.dtype);
    let parameters = tensors.iter().filter(|(name, _)| !is_scale(name, dtype_of));
    Ok(parameters.map(|(_, tensor)| tensor.shape.iter().product::<usize>()).sum())
}
