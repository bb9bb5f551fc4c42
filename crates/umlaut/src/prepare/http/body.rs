//! The body of an answer: where it ends, and an error where the connection ends before.

use std::io::{self, BufReader, Read};

use super::connection::Stream;
use super::{broken, read_line};

/// What tells the end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes are left.
    Length(u64),
    /// Pieces that tell their own length; so many bytes of the present one are left.
    Chunks(u64),
    /// The end of the connection.
    Close,
    /// It has been read.
    End,
}

impl Framing {
    /// By the headers.
    pub(super) fn of<'a>(header: impl Fn(&str) -> Option<&'a str>) -> io::Result<Self> {
        match header("Transfer-Encoding") {
            Some(coding) if coding.eq_ignore_ascii_case("chunked") => return Ok(Self::Chunks(0)),
            Some(_) => return Err(broken("the body is coded in a way that is not known here")),
            None => {}
        }
        match header("Content-Length") {
            Some(length) => length.parse().map(Self::Length).map_err(|_| broken("the length of the body is no number")),
            None => Ok(Self::Close),
        }
    }
}

/// A body on its way.
#[derive(Debug)]
pub(crate) struct Body<R = BufReader<Stream>> {
    reader: R,
    framing: Framing,
    is_first: bool,
}

impl<R: io::BufRead> Body<R> {
    pub(super) fn new(reader: R, framing: Framing) -> Self {
        Self { reader, framing, is_first: true }
    }

    /// Reads what stands before a piece; false after the last.
    fn begin_chunk(&mut self) -> io::Result<bool> {
        if !std::mem::take(&mut self.is_first) && !read_line(&mut self.reader)?.is_empty() {
            return Err(broken("a piece of the body has another length than it says"));
        }
        let line = read_line(&mut self.reader)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let left = u64::from_str_radix(digits, 16).map_err(|_| broken("a piece of the body has no length"))?;
        if left == 0 {
            while !read_line(&mut self.reader)?.is_empty() {}
            self.framing = Framing::End;
            return Ok(false);
        }
        self.framing = Framing::Chunks(left);
        Ok(true)
    }

    /// Reads at most `left` bytes, of which at least one must come.
    fn read_some(&mut self, buffer: &mut [u8], left: u64) -> io::Result<u64> {
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        match self.reader.read(&mut buffer[..wanted])? {
            0 if wanted > 0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")),
            length => Ok(length as u64),
        }
    }
}

impl<R: io::BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.framing == Framing::Chunks(0) && !self.begin_chunk()? {
            return Ok(0);
        }
        let length = match self.framing {
            Framing::End | Framing::Length(0) => 0,
            Framing::Close => return self.reader.read(buffer),
            Framing::Length(left) => {
                let length = self.read_some(buffer, left)?;
                self.framing = Framing::Length(left - length);
                length
            }
            Framing::Chunks(left) => {
                let length = self.read_some(buffer, left)?;
                self.framing = Framing::Chunks(left - length);
                length
            }
        };
        Ok(length as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], framing: Framing) -> io::Result<String> {
        let mut text = String::new();
        // Small reads, so that pieces do not fall together with them.
        let mut body = Body::new(BufReader::with_capacity(3, bytes), framing);
        body.read_to_string(&mut text).map(|_| text)
    }

    #[test]
    fn a_body_ends_where_its_head_said() {
        assert_eq!(read(b"abcdef", Framing::Length(4)).unwrap(), "abcd");
        assert_eq!(read(b"abcdef", Framing::Close).unwrap(), "abcdef");
        assert_eq!(
            read(b"4;x=1\r\nabcd\r\nA\r\n0123456789\r\n0\r\nTrailer: 1\r\n\r\n", Framing::Chunks(0)).unwrap(),
            { "abcd0123456789" }
        );
    }

    #[test]
    fn a_body_that_breaks_off_is_an_error() {
        assert_eq!(read(b"abc", Framing::Length(4)).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        for bytes in [&b"4\r\nabc"[..], b"4\r\nabcd\r\n", b"4\r\nabcd", b"4\r\nabcdef\r\n0\r\n\r\n", b"x\r\n", b""] {
            assert!(read(bytes, Framing::Chunks(0)).is_err(), "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn the_headers_tell_the_framing() {
        let framing =
            |name: &'static str, value: &'static str| Framing::of(move |asked| (asked == name).then_some(value));
        assert_eq!(framing("Content-Length", "12").unwrap(), Framing::Length(12));
        assert_eq!(framing("Transfer-Encoding", "Chunked").unwrap(), Framing::Chunks(0));
        assert_eq!(framing("Server", "x").unwrap(), Framing::Close);
        assert!(framing("Content-Length", "12, 12").is_err() && framing("Transfer-Encoding", "gzip").is_err());
    }
}
