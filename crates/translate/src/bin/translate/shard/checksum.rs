//! SHA-256 of what passes by, of files and of a model.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use umlaut_translate::BUILTIN_FILES;

/// The files that make a translation; a model directory may hold others.
const MODEL_FILES: [&str; 3] = ["config.json", "model.safetensors", "vocab.model"];

/// A reader or writer, and the checksum and number of the bytes that went through.
pub(crate) struct Tally<T> {
    inner: T,
    hasher: Sha256,
    pub(crate) bytes: u64,
    /// Lines that ended.
    pub(crate) ends: u64,
    ends_a_line: bool,
}

impl<T> Tally<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, hasher: Sha256::new(), bytes: 0, ends: 0, ends_a_line: true }
    }

    /// Lines, the last with or without its end.
    pub(crate) fn lines(&self) -> u64 {
        self.ends + u64::from(!self.ends_a_line)
    }

    /// What it stood around, and the checksum: 64 hexadecimal digits.
    pub(crate) fn finish(self) -> (T, String) {
        (self.inner, digits(self.hasher))
    }

    fn see(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        self.ends += bytes.split(|&byte| byte == b'\n').skip(1).count() as u64;
        self.ends_a_line = bytes.last().map_or(self.ends_a_line, |&last| last == b'\n');
    }
}

impl<R: Read> Read for Tally<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.inner.read(buffer)?;
        self.see(&buffer[..size]);
        Ok(size)
    }
}

impl<W: Write> Write for Tally<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let size = self.inner.write(bytes)?;
        self.see(&bytes[..size]);
        Ok(size)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The checksum of all that a reader gives.
pub(crate) fn of_reader(reader: impl Read) -> io::Result<String> {
    let mut tally = Tally::new(reader);
    io::copy(&mut tally, &mut io::sink())?;
    Ok(tally.finish().1)
}

/// The checksum of a file.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    of_reader(file).with_context(|| format!("cannot read {}", path.display()))
}

/// The checksum of a model's checksums: that of the output of `sha256sum config.json model.safetensors vocab.model`.
pub(crate) fn of_model(folder: Option<&Path>) -> Result<String> {
    let mut list = String::new();
    let mut add = |name: &str, checksum: String| writeln!(list, "{checksum}  {name}");
    match folder {
        Some(folder) => {
            for name in MODEL_FILES {
                add(name, of_file(&folder.join(name))?)?;
            }
        }
        None => {
            for (name, bytes) in BUILTIN_FILES.into_iter().flatten() {
                add(name, of_reader(bytes)?)?;
            }
        }
    }
    Ok(of_reader(list.as_bytes())?)
}

fn digits(hasher: Sha256) -> String {
    hasher.finalize().iter().fold(String::with_capacity(64), |mut digits, byte| {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::{Tally, of_reader};
    use std::io::Write;

    #[test]
    fn the_checksum_of_abc_is_the_one_in_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_reader(&b"abc"[..]).unwrap(), abc);
    }

    #[test]
    fn a_last_line_counts_with_and_without_its_end() {
        for (text, lines) in [("", 0), ("\n", 1), ("a\nb", 2), ("a\nb\n", 2)] {
            let mut tally = Tally::new(Vec::new());
            text.chars().for_each(|letter| write!(tally, "{letter}").unwrap());
            assert_eq!((tally.lines(), tally.bytes), (lines, text.len() as u64), "{text:?}");
        }
    }
}
