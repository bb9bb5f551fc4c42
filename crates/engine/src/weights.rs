//! Reading `model.safetensors` a few rows at a time.
//!
//! The file is read and not mapped: each tensor is needed once, to be packed, and a mapping would keep the whole file in
//! the process's memory while that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek, SeekFrom};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};

use crate::EngineError;

/// Bytes before the header: its length.
const PREFIX: u64 = 8;
/// The longest header that the format allows.
const GREATEST_HEADER: u64 = 100_000_000;
/// What the name of a matrix stored as codes is followed by in the name of its scales.
const SCALE: &str = "_scale";
/// Rows read at a time.
const CHUNK: usize = 64;

/// One row of a matrix as the file holds it.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    /// Numbers.
    F32(&'a [f32]),
    /// Codes of -127..=127 and what they count.
    Int8(&'a [i8], f32),
}

/// An open file of weights.
pub(crate) struct WeightFile<R> {
    reader: R,
    metadata: Metadata,
    data_start: u64,
    /// Tensors that nobody has asked for yet.
    unread: BTreeSet<String>,
}

impl<R: Read + Seek> WeightFile<R> {
    /// Reads the header.
    pub(crate) fn open(mut reader: R) -> Result<Self, EngineError> {
        let damaged = |reason: String| EngineError::Header { reason };
        let found = reader.seek(SeekFrom::End(0))?;
        if found < PREFIX {
            return Err(damaged(format!("the file has {found} bytes")));
        }
        reader.rewind()?;
        let mut prefix = [0; PREFIX as usize];
        reader.read_exact(&mut prefix)?;
        let header_len = u64::from_le_bytes(prefix);
        if header_len > GREATEST_HEADER.min(found - PREFIX) {
            return Err(damaged(format!("it claims {header_len} bytes of a file of {found}")));
        }
        let mut header = vec![0; header_len as usize];
        reader.read_exact(&mut header)?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|error| damaged(error.to_string()))?;
        let data_start = PREFIX + header_len;
        let expected = data_start + metadata.data_len() as u64;
        if expected != found {
            return Err(EngineError::Length { expected, found });
        }
        let unread = metadata.tensors().into_keys().collect();
        Ok(Self { reader, metadata, data_start, unread })
    }

    /// The names and shapes of all tensors but the scales of matrices, in the order of names.
    pub(crate) fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let infos: BTreeMap<String, &TensorInfo> = self.metadata.tensors().into_iter().collect();
        let is_code = |name: &str| infos.get(name).is_some_and(|info| info.dtype == Dtype::I8);
        let is_scale = |name: &str| name.strip_suffix(SCALE).is_some_and(is_code);
        infos
            .iter()
            .filter(|(name, _)| !is_scale(name))
            .map(|(name, info)| (name.clone(), info.shape.clone()))
            .collect()
    }

    /// Refuses a file with tensors that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), EngineError> {
        match self.unread.into_iter().next() {
            Some(name) => Err(EngineError::UnexpectedTensor { name }),
            None => Ok(()),
        }
    }

    /// Refuses a tensor that is absent or of another shape: to be asked before memory is set aside for it.
    pub(crate) fn expect(&self, name: &str, shape: &[usize]) -> Result<(), EngineError> {
        self.info(name, shape).map(|_| ())
    }

    fn info(&self, name: &str, shape: &[usize]) -> Result<&TensorInfo, EngineError> {
        let info = self.metadata.info(name).ok_or_else(|| EngineError::MissingTensor { name: name.into() })?;
        if info.shape != shape {
            let (expected, found) = (shape.to_vec(), info.shape.clone());
            return Err(EngineError::Shape { name: name.into(), expected, found });
        }
        Ok(info)
    }

    /// Reads a vector.
    pub(crate) fn vector(&mut self, name: &str, len: usize) -> Result<Vec<f32>, EngineError> {
        let info = self.info(name, &[len])?;
        let (dtype, start) = (info.dtype, info.data_offsets.0);
        let width = width_of(name, dtype)?;
        let mut bytes = vec![0; len * width];
        self.read_at(start, &mut bytes)?;
        self.unread.remove(name);
        let values = decode(dtype, &bytes);
        check_finite(name, &values)?;
        Ok(values)
    }

    /// Reads a matrix `[d_out, d_in]` and gives its rows in order.
    pub(crate) fn rows(
        &mut self,
        name: &str,
        [d_out, d_in]: [usize; 2],
        mut take: impl FnMut(usize, Row<'_>),
    ) -> Result<(), EngineError> {
        let info = self.info(name, &[d_out, d_in])?;
        let (dtype, start) = (info.dtype, info.data_offsets.0);
        let scales = if dtype == Dtype::I8 { self.vector(&scale_name(name), d_out)? } else { Vec::new() };
        let width = if dtype == Dtype::I8 { 1 } else { width_of(name, dtype)? };
        let mut bytes = vec![0; CHUNK.min(d_out) * d_in * width];
        for first in (0..d_out).step_by(CHUNK) {
            let count = CHUNK.min(d_out - first);
            let bytes = &mut bytes[..count * d_in * width];
            self.read_at(start + first * d_in * width, bytes)?;
            if dtype == Dtype::I8 {
                let codes: Vec<i8> = bytes.iter().map(|byte| byte.cast_signed()).collect();
                check_codes(name, &codes)?;
                let rows = codes.chunks_exact(d_in).zip(&scales[first..]).enumerate();
                rows.for_each(|(i, (codes, &scale))| take(first + i, Row::Int8(codes, scale)));
            } else {
                let values = decode(dtype, bytes);
                check_finite(name, &values)?;
                values.chunks_exact(d_in).enumerate().for_each(|(i, row)| take(first + i, Row::F32(row)));
            }
        }
        self.unread.remove(name);
        Ok(())
    }

    fn read_at(&mut self, offset: usize, bytes: &mut [u8]) -> Result<(), EngineError> {
        self.reader.seek(SeekFrom::Start(self.data_start + offset as u64))?;
        Ok(self.reader.read_exact(bytes)?)
    }
}

/// Where the scales of a matrix stored as codes are.
pub(crate) fn scale_name(name: &str) -> String {
    format!("{name}{SCALE}")
}

fn width_of(name: &str, dtype: Dtype) -> Result<usize, EngineError> {
    match dtype {
        Dtype::F32 => Ok(4),
        Dtype::F16 | Dtype::BF16 => Ok(2),
        _ => Err(EngineError::Dtype { name: name.into(), found: format!("{dtype:?}") }),
    }
}

fn decode(dtype: Dtype, bytes: &[u8]) -> Vec<f32> {
    let halves = bytes.as_chunks::<2>().0.iter().map(|&half| u16::from_le_bytes(half));
    match dtype {
        Dtype::BF16 => halves.map(|bits| f32::from_bits(u32::from(bits) << 16)).collect(),
        Dtype::F16 => halves.map(f16_to_f32).collect(),
        _ => bytes.as_chunks::<4>().0.iter().map(|&word| f32::from_le_bytes(word)).collect(),
    }
}

/// IEEE 754 half precision, exactly. Without a branch, so that it is done for whole vectors: a model opens sooner.
fn f16_to_f32(bits: u16) -> f32 {
    const INFINITY: u32 = 0x7f80_0000;
    /// 2^112, by which the two types' exponents of equal bits differ.
    const REBIAS: f32 = f32::from_bits((127 + 112) << 23);
    let sign = u32::from(bits & 0x8000) << 16;
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let is_none = if magnitude >= 0x7c00 << 13 { INFINITY } else { 0 };
    f32::from_bits(sign | (f32::from_bits(magnitude) * REBIAS).to_bits() | is_none)
}

fn check_finite(name: &str, values: &[f32]) -> Result<(), EngineError> {
    let is_none = |value: &f32| value.to_bits() & 0x7f80_0000 == 0x7f80_0000;
    // To the end in any case: a search that may stop looks at one number at a time.
    let finite = !values.iter().fold(false, |found, value| found | is_none(value));
    if finite { Ok(()) } else { Err(EngineError::NotANumber { name: name.into() }) }
}

fn check_codes(name: &str, codes: &[i8]) -> Result<(), EngineError> {
    if codes.contains(&i8::MIN) { Err(EngineError::NotANumber { name: name.into() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_exact() {
        for bits in 0..=u16::MAX {
            // Its definition: subnormal numbers count 2^-24, the others have a leading 1.
            let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f32::from(bits & 0x3ff));
            let magnitude = match exponent {
                31 => continue,
                0 => fraction * 2.0_f32.powi(-24),
                _ => (1.0 + fraction / 1024.0) * 2.0_f32.powi(exponent - 15),
            };
            let want = if bits >= 0x8000 { -magnitude } else { magnitude };
            assert_eq!(f16_to_f32(bits).to_bits(), want.to_bits(), "{bits:#x}");
        }
        assert!(f16_to_f32(0x7c00).is_infinite() && f16_to_f32(0x7e00).is_nan());
    }

    #[test]
    fn what_is_no_number_is_found() {
        assert!(check_finite("x", &[1.0, -3e38]).is_ok());
        assert!(check_finite("x", &[1.0, f32::NAN]).is_err() && check_finite("x", &[f32::NEG_INFINITY]).is_err());
    }
}
