//! Storing a model's weights as int8, a quarter of the size.

use std::fs::{self, File};
use std::io::{BufWriter, Read, Seek, Write};
use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use umlaut_kernels::inference::quantise_weights;

use crate::weights::{Row, WeightFile, scale_name};
use crate::{EngineError, WEIGHTS_FILE};

/// Writes the model of `from` to the directory `to` with its matrices as int8: codes in a tensor of type I8 and, as
/// `<name>_scale`, what a code of each output counts. An engine opened with [`Precision::Int8`] on either computes the
/// same. Other files of the directory are copied.
///
/// [`Precision::Int8`]: crate::Precision::Int8
///
/// # Errors
/// [`EngineError`] says which file or tensor; a file in `to` is there only once it is whole.
pub fn quantise_model(from: &Path, to: &Path) -> Result<(), EngineError> {
    let weights = from.join(WEIGHTS_FILE);
    let mut file = WeightFile::open(File::open(&weights).map_err(EngineError::io(&weights))?)?;
    fs::create_dir_all(to).map_err(EngineError::io(to))?;
    if is_same(from, to) {
        return Err(EngineError::SameDirectory { path: to.into() });
    }
    appear(&to.join(WEIGHTS_FILE), |out| write_weights(&mut file, out))?;
    for entry in fs::read_dir(from).map_err(EngineError::io(from))? {
        let path = entry.map_err(EngineError::io(from))?.path();
        if let Some(name) = path.file_name().filter(|name| *name != WEIGHTS_FILE && path.is_file()) {
            let mut original = File::open(&path).map_err(EngineError::io(&path))?;
            appear(&to.join(name), |out| Ok(std::io::copy(&mut original, out).map(|_| ())?))?;
        }
    }
    Ok(())
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().ok().zip(b.canonicalize().ok()).is_some_and(|(a, b)| a == b)
}

/// Lets `write` fill a file that gets its name only when it is whole and on the disk.
fn appear(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<(), EngineError>) -> Result<(), EngineError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let finish = |mut out: BufWriter<File>| {
        write(&mut out)?;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error).map_err(EngineError::io(partial))?;
        file.sync_all().and_then(|()| fs::rename(partial, path)).map_err(EngineError::io(path))
    };
    let outcome = File::create(partial).map_err(EngineError::io(partial)).and_then(|file| finish(BufWriter::new(file)));
    if outcome.is_err() {
        // What is wrong has been found already; a remnant that cannot be removed either adds nothing to it.
        let _ = fs::remove_file(partial);
    }
    outcome
}

/// A tensor of the new file.
enum Part {
    /// A vector as it was.
    Vector(String, usize),
    /// The scales of a matrix.
    Scales(String, [usize; 2]),
    /// The codes of a matrix.
    Codes(String, [usize; 2]),
}

impl Part {
    fn entry(&self, start: usize) -> (String, TensorInfo) {
        let (name, dtype, shape) = match self {
            Self::Vector(name, len) => (name.clone(), Dtype::F32, vec![*len]),
            Self::Scales(name, [d_out, _]) => (scale_name(name), Dtype::F32, vec![*d_out]),
            Self::Codes(name, shape) => (name.clone(), Dtype::I8, shape.to_vec()),
        };
        let bytes = shape.iter().product::<usize>() * if dtype == Dtype::F32 { 4 } else { 1 };
        (name, TensorInfo { dtype, shape, data_offsets: (start, start + bytes) })
    }
}

fn write_weights<R: Read + Seek>(file: &mut WeightFile<R>, out: &mut impl Write) -> Result<(), EngineError> {
    let parts = parts_of(file)?;
    let (mut entries, mut end) = (Vec::new(), 0);
    for part in &parts {
        entries.push(part.entry(end));
        end = entries[entries.len() - 1].1.data_offsets.1;
    }
    let metadata = Metadata::new(None, entries).map_err(|error| EngineError::Header { reason: error.to_string() })?;
    let mut header = serde_json::to_vec(&metadata)?;
    // The format wants data to begin at a multiple of eight.
    header.resize(header.len().next_multiple_of(8), b' ');
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    parts.iter().try_for_each(|part| write_part(file, part, out))
}

/// Vectors and scales first, so that all f32 are aligned.
fn parts_of<R: Read + Seek>(file: &WeightFile<R>) -> Result<Vec<Part>, EngineError> {
    let (mut parts, mut codes) = (Vec::new(), Vec::new());
    for (name, shape) in file.tensors() {
        match *shape.as_slice() {
            [len] => parts.push(Part::Vector(name, len)),
            [d_out, d_in] => {
                parts.push(Part::Scales(name.clone(), [d_out, d_in]));
                codes.push(Part::Codes(name, [d_out, d_in]));
            }
            _ => return Err(EngineError::UnexpectedTensor { name }),
        }
    }
    parts.append(&mut codes);
    Ok(parts)
}

fn write_part<R: Read + Seek>(file: &mut WeightFile<R>, part: &Part, out: &mut impl Write) -> Result<(), EngineError> {
    match part {
        Part::Vector(name, len) => {
            let bytes: Vec<u8> = file.vector(name, *len)?.iter().flat_map(|number| number.to_le_bytes()).collect();
            out.write_all(&bytes)?;
        }
        Part::Scales(name, shape) => {
            let mut bytes = Vec::new();
            file.rows(name, *shape, |_, row| bytes.extend(codes_of(row).1.to_le_bytes()))?;
            out.write_all(&bytes)?;
        }
        Part::Codes(name, shape) => {
            let mut written = Ok(());
            file.rows(name, *shape, |_, row| {
                let bytes: Vec<u8> = codes_of(row).0.iter().map(|code| code.cast_unsigned()).collect();
                if written.is_ok() {
                    written = out.write_all(&bytes);
                }
            })?;
            written?;
        }
    }
    Ok(())
}

fn codes_of(row: Row<'_>) -> (Vec<i8>, f32) {
    match row {
        Row::F32(values) => {
            let mut codes = vec![0; values.len()];
            let scale = quantise_weights(values, &mut codes);
            (codes, scale)
        }
        Row::Int8(codes, scale) => (codes.to_vec(), scale),
    }
}
