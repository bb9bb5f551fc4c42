//! `model.bin`: variables by name, little-endian.
//!
//! u32 version of the format, text name of the specification, u32 its revision; u32 number of variables, each
//! {text name, u8 rank, u32 for each dimension, u8 element type, u32 bytes, elements}; u32 number of aliases, each
//! {text alias, text name}. A text is its u16 length with a closing 0, its bytes, and the 0.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, bail, ensure};

/// Of the format.
const VERSION: u32 = 6;
const SPECIFICATION: &str = "TransformerSpec";
/// Of the specification.
const REVISION: u32 = 7;

/// The type of a variable's elements, numbered as in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dtype {
    F32,
    I8,
    I16,
    I32,
    F16,
    Bf16,
}

impl Dtype {
    const ALL: [Self; 6] = [Self::F32, Self::I8, Self::I16, Self::I32, Self::F16, Self::Bf16];

    fn width(self) -> usize {
        match self {
            Self::I8 => 1,
            Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::F32 | Self::I32 => 4,
        }
    }
}

/// A number (rank 0) or an array.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Variable<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

/// Variables by name.
pub(super) type Variables<'a> = BTreeMap<String, Variable<'a>>;
/// Names that stand for other names.
pub(super) type Aliases = BTreeMap<String, String>;

impl Variable<'_> {
    pub(super) fn floats(shape: &[usize], numbers: impl IntoIterator<Item = f32>) -> Self {
        let bytes: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
        Self { dtype: Dtype::F32, shape: shape.into(), bytes: bytes.into() }
    }

    pub(super) fn codes(shape: &[usize], codes: &[i8]) -> Self {
        let bytes: Vec<u8> = codes.iter().map(|code| code.cast_unsigned()).collect();
        Self { dtype: Dtype::I8, shape: shape.into(), bytes: bytes.into() }
    }

    pub(super) fn int8(number: i8) -> Self {
        Self::codes(&[], &[number])
    }

    pub(super) fn int16(number: i16) -> Self {
        Self { dtype: Dtype::I16, shape: Vec::new(), bytes: number.to_le_bytes().to_vec().into() }
    }

    pub(super) fn int32(number: i32) -> Self {
        Self { dtype: Dtype::I32, shape: Vec::new(), bytes: number.to_le_bytes().to_vec().into() }
    }

    pub(super) fn dtype(&self) -> Dtype {
        self.dtype
    }

    pub(super) fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, of whatever type.
    pub(super) fn numbers(&self) -> Vec<f32> {
        let pairs = || self.bytes.chunks_exact(2).map(|b| [b[0], b[1]]);
        let fours = || self.bytes.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]);
        match self.dtype {
            Dtype::F32 => fours().map(f32::from_le_bytes).collect(),
            Dtype::I8 => self.bytes.iter().map(|byte| f32::from(byte.cast_signed())).collect(),
            Dtype::I16 => pairs().map(|b| f32::from(i16::from_le_bytes(b))).collect(),
            Dtype::I32 => fours().map(|b| i32::from_le_bytes(b) as f32).collect(),
            Dtype::F16 => pairs().map(|b| half::f16::from_le_bytes(b).to_f32()).collect(),
            Dtype::Bf16 => pairs().map(|b| half::bf16::from_le_bytes(b).to_f32()).collect(),
        }
    }
}

/// Writes variables, and as aliases those that stand in `aliases`.
pub(super) fn write(variables: &Variables<'_>, aliases: &Aliases, out: &mut impl Write) -> Result<()> {
    out.write_all(&VERSION.to_le_bytes())?;
    write_text(SPECIFICATION, out)?;
    out.write_all(&REVISION.to_le_bytes())?;
    write_size(variables.len(), out)?;
    for (name, variable) in variables {
        write_text(name, out)?;
        out.write_all(&[variable.shape.len() as u8])?;
        variable.shape.iter().try_for_each(|&size| write_size(size, out))?;
        out.write_all(&[variable.dtype as u8])?;
        write_size(variable.bytes.len(), out).with_context(|| format!("`{name}`"))?;
        out.write_all(&variable.bytes)?;
    }
    write_size(aliases.len(), out)?;
    for (alias, name) in aliases {
        write_text(alias, out)?;
        write_text(name, out)?;
    }
    Ok(())
}

fn write_size(size: usize, out: &mut impl Write) -> Result<()> {
    let size = u32::try_from(size).with_context(|| format!("{size} is more than this format can say"))?;
    Ok(out.write_all(&size.to_le_bytes())?)
}

fn write_text(text: &str, out: &mut impl Write) -> Result<()> {
    out.write_all(&u16::try_from(text.len() + 1)?.to_le_bytes())?;
    out.write_all(text.as_bytes())?;
    Ok(out.write_all(&[0])?)
}

/// Reads all variables, those behind an alias under both names.
///
/// # Errors
/// Says what is damaged and where, or which version of the format is not read. Nothing is set aside for what the file
/// only claims to hold.
pub(super) fn read(bytes: &[u8]) -> Result<Variables<'_>> {
    let mut reader = Reader { bytes, at: 0 };
    let version = reader.u32()?;
    ensure!(version == VERSION, "version {version} of the format; version {VERSION} is read: convert the model again");
    let specification = reader.text()?;
    ensure!(specification == SPECIFICATION, "it holds a {specification}; a {SPECIFICATION} is read");
    let revision = reader.u32()?;
    ensure!(revision == REVISION, "revision {revision}; revision {REVISION} is read: convert the model again");
    let mut variables = Variables::new();
    for _ in 0..reader.u32()? {
        let name = reader.text()?;
        let variable = reader.variable().with_context(|| format!("`{name}`"))?;
        ensure!(variables.insert(name.clone(), variable).is_none(), "`{name}` is there twice");
    }
    for _ in 0..reader.u32()? {
        let (alias, name) = (reader.text()?, reader.text()?);
        let variable =
            variables.get(&name).with_context(|| format!("`{alias}` stands for `{name}`, which is missing"))?;
        let variable = variable.clone();
        let scale = variables.get(&format!("{name}_scale")).cloned();
        // The scales of an array of codes go with it.
        variables.extend(scale.map(|scale| (format!("{alias}_scale"), scale)));
        ensure!(variables.insert(alias.clone(), variable).is_none(), "`{alias}` is there twice");
    }
    ensure!(reader.at == bytes.len(), "{} bytes follow its end", bytes.len() - reader.at);
    Ok(variables)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        ensure!(len <= rest.len(), "it ends at byte {}, where {len} more are due: copy it again", self.bytes.len());
        self.at += len;
        Ok(&rest[..len])
    }

    fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn u32(&mut self) -> Result<u32> {
        let b = self.take(4)?;
        Ok(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn text(&mut self) -> Result<String> {
        let at = self.at;
        let b = self.take(2)?;
        let len = u16::from_le_bytes([b[0], b[1]]);
        let text = self.take(len.into())?.strip_suffix(&[0]).and_then(|text| std::str::from_utf8(text).ok());
        text.map(Into::into).with_context(|| format!("damaged: no text at byte {at}"))
    }

    fn variable(&mut self) -> Result<Variable<'a>> {
        let rank = self.u8()?;
        let shape = (0..rank).map(|_| Ok(self.u32()? as usize)).collect::<Result<Vec<_>>>()?;
        let number = self.u8()?;
        let Some(&dtype) = Dtype::ALL.get(usize::from(number)) else { bail!("element type {number} is unknown") };
        let len = self.u32()? as usize;
        let expected = shape.iter().try_fold(dtype.width(), |product, size| product.checked_mul(*size));
        ensure!(expected == Some(len), "{len} bytes do not make {shape:?} of {dtype:?}");
        Ok(Variable { dtype, shape, bytes: self.take(len)?.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiny() -> (Vec<u8>, Variables<'static>) {
        let mut variables = Variables::from([
            ("a/weight".into(), Variable::codes(&[2, 3], &[1, -2, 3, 127, -127, 0])),
            ("a/weight_scale".into(), Variable::floats(&[2], [0.5, 2.0])),
            ("heads".into(), Variable::int16(-1)),
            ("base".into(), Variable::floats(&[], [1e4])),
            ("dim".into(), Variable::int32(70_000)),
        ]);
        let mut bytes = Vec::new();
        write(&variables, &Aliases::from([("z/weight".into(), "a/weight".into())]), &mut bytes).unwrap();
        for suffix in ["weight", "weight_scale"] {
            variables.insert(format!("z/{suffix}"), variables[&format!("a/{suffix}")].clone());
        }
        (bytes, variables)
    }

    #[test]
    fn what_was_written_is_read_and_aliases_bring_their_scales() {
        let (bytes, variables) = tiny();
        assert_eq!(read(&bytes).unwrap(), variables);
        assert_eq!(variables["heads"].numbers(), [-1.0]);
        assert_eq!(variables["dim"].numbers(), [70_000.0]);
    }

    #[test]
    fn a_file_cut_anywhere_or_too_long_is_refused() {
        let (mut bytes, _) = tiny();
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len]).is_err(), "{len} of {} bytes", bytes.len());
        }
        bytes.push(0);
        assert!(read(&bytes).unwrap_err().to_string().contains("1 bytes follow"));
    }

    #[test]
    fn flipped_bits_and_huge_counts_neither_panic_nor_ask_for_memory() {
        let (bytes, _) = tiny();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut forged = bytes.clone();
                forged[at] ^= 1 << bit;
                let _ = read(&forged);
            }
            let mut forged = bytes.clone();
            forged[at..(at + 4).min(bytes.len())].fill(0xff);
            let _ = read(&forged);
        }
    }

    #[test]
    fn other_versions_and_specifications_are_named() {
        let (bytes, _) = tiny();
        let refusal = |at: usize, byte: u8| {
            let mut forged = bytes.clone();
            forged[at] = byte;
            read(&forged).unwrap_err().to_string()
        };
        assert!(refusal(0, 5).contains("version 5"));
        assert!(refusal(6, b'W').contains("WransformerSpec"));
        assert!(refusal(22, 8).contains("revision 8"));
    }
}
