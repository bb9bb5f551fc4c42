//! Lines of a plain, gzip or Zstandard file.
//!
//! Only LF ends a line. CR before it is dropped, and so is a byte-order mark at the beginning of the file. Compression
//! is told by the file's first bytes, not by its name.

use super::framing::{strip_end, strip_start};
use crate::TextError;
use flate2::bufread::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 1 << 16;

/// Reads the lines of one file.
pub struct LineReader {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    text: String,
    line: u64,
}

impl std::fmt::Debug for LineReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").field("path", &self.path).field("line", &self.line).finish_non_exhaustive()
    }
}

impl LineReader {
    /// Opens a plain, gzip (of one or more members) or Zstandard file.
    ///
    /// # Errors
    /// [`TextError::Open`] when it cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TextError> {
        let path = path.as_ref().to_owned();
        match File::open(&path).and_then(decompress) {
            Ok(reader) => Ok(Self { path, reader, text: String::new(), line: 0 }),
            Err(source) => Err(TextError::Open { path, source }),
        }
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines have been read: the number of the last one, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The next line without its end, or `None` at the end of the file.
    ///
    /// # Errors
    /// [`TextError::Read`] when the file breaks off, [`TextError::NotUtf8`] for a line in another encoding,
    /// [`TextError::Markup`] when the first line is that of an SGML or XML file.
    pub fn next_line(&mut self) -> Result<Option<&str>, TextError> {
        Ok(if self.advance()? { Some(self.current()) } else { None })
    }

    /// The line that [`advance`](Self::advance) read last.
    pub(super) fn current(&self) -> &str {
        &self.text
    }

    /// Reads the next line; false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool, TextError> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        let size = self.reader.read_until(b'\n', &mut bytes);
        let size = size.map_err(|source| TextError::Read { path: self.path.clone(), line: self.line, source })?;
        if size == 0 {
            return Ok(false);
        }
        self.line += 1;
        strip_end(&mut bytes);
        if self.line == 1 {
            strip_start(&mut bytes)
                .map_err(|tag| TextError::Markup { path: self.path.clone(), tag: tag.to_owned() })?;
        }
        let text = String::from_utf8(bytes);
        self.text = text.map_err(|_| TextError::NotUtf8 { path: self.path.clone(), line: self.line })?;
        Ok(true)
    }
}

/// All lines of a plain, gzip or Zstandard file.
///
/// # Errors
/// As [`LineReader`].
pub fn read_lines(path: impl AsRef<Path>) -> Result<Vec<String>, TextError> {
    let mut reader = LineReader::open(path)?;
    std::iter::from_fn(|| Some(reader.next_line().transpose()?.map(str::to_owned))).collect()
}

/// Chooses the decoder by the first bytes.
fn decompress(mut file: File) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::new();
    file.by_ref().take(ZSTD.len() as u64).read_to_end(&mut head)?;
    let file = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(head.clone()).chain(file));
    Ok(if head.starts_with(&GZIP) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(file)))
    } else if head.starts_with(&ZSTD) {
        Box::new(BufReader::with_capacity(BUFFER_BYTES, zstd::Decoder::with_buffer(file)?))
    } else {
        Box::new(file)
    })
}
