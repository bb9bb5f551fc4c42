//! Lines from a reader.
//!
//! Only LF ends a line; the last one may lack it. CR before LF is dropped, and so is a byte-order mark at the start.

use std::io::{BufRead, Read};

use umlaut_text::corpus::framing::{strip_end, strip_start};

use crate::TranslateError;

/// A longer line is no line: it would be held in memory several times over.
const MAX_LINE_BYTES: usize = 1 << 24;

/// A line of input.
#[derive(Debug, PartialEq)]
pub(crate) struct Line {
    /// Without its end. What was not UTF-8 is U+FFFD.
    pub(crate) text: String,
    pub(crate) is_utf8: bool,
}

/// Reads a reader's lines.
pub(crate) struct Lines<R> {
    reader: R,
    /// Lines read so far.
    count: u64,
    /// Whether the first line read is that of a file.
    is_whole: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, count: 0, is_whole: true }
    }

    /// Of a reader that stands at the beginning of a line in the midst of a file.
    pub(crate) fn from_the_midst(reader: R) -> Self {
        Self { is_whole: false, ..Self::new(reader) }
    }

    /// The next line; `None` at the end.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line>, TranslateError> {
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(MAX_LINE_BYTES as u64 + 1).read_until(b'\n', &mut bytes);
        match read.map_err(|source| TranslateError::Read { line: self.count, source })? {
            0 => return Ok(None),
            size if size > MAX_LINE_BYTES => {
                return Err(TranslateError::LineTooLong { line: self.count + 1, limit: MAX_LINE_BYTES });
            }
            _ => self.count += 1,
        }
        strip_end(&mut bytes);
        if self.is_whole && self.count == 1 {
            strip_start(&mut bytes).map_err(|tag| TranslateError::Markup { tag })?;
        }
        Ok(Some(Line::new(bytes)))
    }

    /// Reads on to the end and gives the number of all lines.
    pub(crate) fn count_all(&mut self) -> Result<u64, TranslateError> {
        while self.next_line()?.is_some() {}
        Ok(self.count)
    }
}

impl Line {
    fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, is_utf8: true },
            Err(error) => Self { text: String::from_utf8_lossy(error.as_bytes()).into_owned(), is_utf8: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Lines, MAX_LINE_BYTES};
    use crate::TranslateError;
    use std::io::{BufReader, Cursor, Read};

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(bytes);
        std::iter::from_fn(|| lines.next_line().expect("the bytes are text")).map(|line| line.text).collect()
    }

    #[test]
    fn a_last_line_counts_with_and_without_its_end() {
        assert_eq!(lines(b"a\nb\n"), ["a", "b"]);
        assert_eq!(lines(b"a\nb"), ["a", "b"]);
        assert_eq!(lines(b"a\n\n"), ["a", ""]);
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn only_lf_ends_a_line() {
        let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\u{1c}g\u{1d}h\u{1e}i\rj";
        assert_eq!(lines(format!("{text}\nk\n").as_bytes()), [text, "k"]);
    }

    #[test]
    fn cr_and_byte_order_mark_are_dropped() {
        assert_eq!(lines(b"\xEF\xBB\xBFHello.\r\nBye.\r\n"), ["Hello.", "Bye."]);
    }

    #[test]
    fn what_is_not_utf8_is_replaced_and_marked() {
        let mut lines = Lines::new(&b"caf\xE9 a\nb\n"[..]);
        let first = lines.next_line().unwrap().unwrap();
        assert_eq!((first.text.as_str(), first.is_utf8), ("caf\u{FFFD} a", false));
        assert!(lines.next_line().unwrap().unwrap().is_utf8);
    }

    #[test]
    fn markup_is_refused_by_name() {
        let refused = Lines::new(&b"\xEF\xBB\xBF <SrcSet setid=\"x\">\n"[..]).next_line();
        assert!(matches!(refused, Err(TranslateError::Markup { tag: "<srcset" })));
        assert_eq!(lines(b"<b>bold</b>\n"), ["<b>bold</b>"]);
    }

    #[test]
    fn in_the_midst_of_a_file_nothing_is_taken_for_its_beginning() {
        let mut lines = Lines::from_the_midst(&b"<?xml\n"[..]);
        assert_eq!(lines.next_line().unwrap().unwrap().text, "<?xml");
    }

    #[test]
    fn a_line_without_end_is_refused_before_it_fills_the_memory() {
        let endless = BufReader::new(Cursor::new(b"a\n").chain(std::io::repeat(b'x')));
        let mut lines = Lines::new(endless);
        assert!(lines.next_line().is_ok());
        let refused = lines.next_line();
        assert!(matches!(refused, Err(TranslateError::LineTooLong { line: 2, limit: MAX_LINE_BYTES })));
    }
}
