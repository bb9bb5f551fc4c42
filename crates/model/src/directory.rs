//! The model directory: `config.json` and `model.safetensors`, readable with public tools.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, View, serialize};

use crate::ModelError;
use crate::config::TransformerConfig;
use crate::ops::FusedOps;
use crate::parameters::{self, Array, Arrays};
use crate::transformer::Transformer;

/// Name of the configuration.
pub const CONFIG: &str = "config.json";
/// Name of the weights.
pub const WEIGHTS: &str = "model.safetensors";
/// What the name of a matrix stored as int8 is followed by in the name of its scales.
const SCALE: &str = "_scale";

/// How weights are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Four bytes a weight, exactly.
    #[default]
    F32,
    /// Two bytes a weight, rounded to eleven bits.
    F16,
}

/// Reads `config.json`.
///
/// # Errors
/// If it cannot be read or describes no model; the file is named.
pub fn read_config(dir: &Path) -> Result<TransformerConfig, ModelError> {
    let path = dir.join(CONFIG);
    let bytes = fs::read(&path).map_err(io(&path))?;
    let config: TransformerConfig = serde_json::from_slice(&bytes)
        .map_err(|error| ModelError::Format { path: path.clone(), reason: error.to_string() })?;
    config.validate().map_err(|error| ModelError::Format { path, reason: error.to_string() })?;
    Ok(config)
}

/// Reads a model.
///
/// # Errors
/// If a file cannot be read or the weights are not those that the configuration asks for.
pub fn read<B: FusedOps>(dir: &Path, device: &B::Device) -> Result<Transformer<B>, ModelError> {
    read_as(dir, &read_config(dir)?, device)
}

/// Reads a directory's weights into a model of `config`, which may be trained otherwise than the directory's own.
///
/// # Errors
/// If the file cannot be read or the weights are not those that `config` asks for.
pub fn read_as<B: FusedOps>(
    dir: &Path,
    config: &TransformerConfig,
    device: &B::Device,
) -> Result<Transformer<B>, ModelError> {
    parameters::load(config.init(0, device)?, read_arrays(&dir.join(WEIGHTS))?)
}

/// Writes a model's two files.
///
/// # Errors
/// If a file cannot be written.
pub fn write<B: FusedOps>(model: &Transformer<B>, dir: &Path, storage: Storage) -> Result<(), ModelError> {
    write_config(model.config(), dir)?;
    write_arrays(&parameters::arrays(model), &dir.join(WEIGHTS), storage)
}

/// Writes `config.json`.
///
/// # Errors
/// If it cannot be written.
///
/// # Panics
/// Never: every configuration is JSON.
pub fn write_config(config: &TransformerConfig, dir: &Path) -> Result<(), ModelError> {
    let mut json = serde_json::to_vec_pretty(config).expect("a configuration is JSON");
    json.push(b'\n');
    write_whole(&dir.join(CONFIG), &json)
}

/// Reads every array of a safetensors file as f32. A matrix of int8 codes is multiplied by the `<name>_scale` of its
/// rows, which is no array of its own.
///
/// # Errors
/// If the file cannot be read or holds something else than f32, f16, bf16 or int8 with its scales.
pub fn read_arrays(path: &Path) -> Result<Arrays, ModelError> {
    let bytes = fs::read(path).map_err(io(path))?;
    let refuse = |reason| ModelError::Format { path: path.into(), reason };
    let file = SafeTensors::deserialize(&bytes).map_err(|error| refuse(error.to_string()))?;
    let mut arrays = Arrays::new();
    for (name, view) in file.tensors() {
        let data = if view.dtype() == Dtype::I8 {
            let scales = file.tensor(&format!("{name}{SCALE}")).ok();
            let data = scales.and_then(|scales| dequantised(&view, &scales));
            data.ok_or_else(|| refuse(format!("`{name}` holds int8 without a `{name}{SCALE}` for its rows")))?
        } else {
            floats(&view).ok_or_else(|| refuse(format!("`{name}` holds {:?}", view.dtype())))?
        };
        arrays.insert(name, Array { shape: view.shape().to_vec(), data });
    }
    arrays.retain(|name, _| !is_scale(name, |matrix| file.tensor(matrix).ok().map(|view| view.dtype())));
    Ok(arrays)
}

/// Whether a tensor is the scales of a matrix of int8 codes, and so no array of its own.
pub(crate) fn is_scale(name: &str, dtype_of: impl Fn(&str) -> Option<Dtype>) -> bool {
    name.strip_suffix(SCALE).is_some_and(|matrix| dtype_of(matrix) == Some(Dtype::I8))
}

/// The numbers of a matrix of codes `[d_out, d_in]` with scales `[d_out]`.
fn dequantised(codes: &TensorView<'_>, scales: &TensorView<'_>) -> Option<Vec<f32>> {
    let &[d_out, d_in] = codes.shape() else { return None };
    let scales = floats(scales).filter(|numbers| numbers.len() == d_out)?;
    let code = |index: usize| f32::from(codes.data()[index].cast_signed());
    Some((0..d_out * d_in).map(|index| code(index) * scales[index / d_in]).collect())
}

fn floats(view: &TensorView<'_>) -> Option<Vec<f32>> {
    let pairs = || view.data().chunks_exact(2).map(|b| [b[0], b[1]]);
    Some(match view.dtype() {
        Dtype::F32 => view.data().chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
        Dtype::F16 => pairs().map(|b| half::f16::from_le_bytes(b).to_f32()).collect(),
        Dtype::BF16 => pairs().map(|b| half::bf16::from_le_bytes(b).to_f32()).collect(),
        _ => return None,
    })
}

/// Writes arrays as a safetensors file, in the order of their names.
///
/// # Errors
/// If the file cannot be written.
pub fn write_arrays(arrays: &Arrays, path: &Path, storage: Storage) -> Result<(), ModelError> {
    let stored = arrays.iter().map(|(name, array)| (name, Stored { array, storage }));
    let metadata = HashMap::from([("format".into(), "pt".into())]);
    let bytes = serialize(stored, Some(metadata))
        .map_err(|error| ModelError::Format { path: path.into(), reason: error.to_string() })?;
    write_whole(path, &bytes)
}

/// An array on its way into a file.
struct Stored<'a> {
    array: &'a Array,
    storage: Storage,
}

impl View for Stored<'_> {
    fn dtype(&self) -> Dtype {
        match self.storage {
            Storage::F32 => Dtype::F32,
            Storage::F16 => Dtype::F16,
        }
    }
    fn shape(&self) -> &[usize] {
        &self.array.shape
    }
    fn data(&self) -> Cow<'_, [u8]> {
        let data = self.array.data.iter();
        Cow::Owned(match self.storage {
            Storage::F32 => data.flat_map(|x| x.to_le_bytes()).collect(),
            Storage::F16 => data.flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect(),
        })
    }
    fn data_len(&self) -> usize {
        self.array.data.len() * if self.storage == Storage::F32 { 4 } else { 2 }
    }
}

/// Writes a file under its final name only when it is whole and on the disk.
///
/// # Errors
/// If it cannot be written; nothing is left behind.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ModelError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let attempt = File::create(&part)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, path));
    attempt.map_err(|source| {
        // The error that matters is the first one: a part that cannot be removed either changes nothing.
        let _ = fs::remove_file(&part);
        ModelError::Io { path: path.into(), source }
    })
}

/// Fills a folder and gives it its final name only when it is whole and on the disk; until then it is called
/// `.NAME.part`.
///
/// # Errors
/// What `fill` reports, or if the folder cannot be made or renamed; nothing is left behind.
pub fn write_whole_folder<E: From<ModelError>>(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
    let part = folder.with_file_name(format!(".{name}.part"));
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let attempt = || -> Result<(), E> {
        if part.exists() {
            fs::remove_dir_all(&part).map_err(io(&part))?;
        }
        fs::create_dir_all(&part).map_err(io(&part))?;
        fill(&part)?;
        sync_folder(&part)?;
        fs::rename(&part, folder).map_err(io(folder))?;
        Ok(sync_folder(parent)?)
    };
    attempt().inspect_err(|_| {
        // The error that matters is the first one.
        let _ = fs::remove_dir_all(&part);
    })
}

/// Makes a rename or new file in a folder last through a crash.
fn sync_folder(folder: &Path) -> Result<(), ModelError> {
    File::open(folder).and_then(|file| file.sync_all()).map_err(io(folder))
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ModelError + '_ {
    move |source| ModelError::Io { path: path.into(), source }
}
