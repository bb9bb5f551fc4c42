//! Files of any size: a window of lines at a time.

use std::io::{BufRead, Write};

use crate::line::{Line, Lines};
use crate::{Format, Model, TranslateError, Translation, Translator};

/// A window ends early when its lines are this long together, so that memory stays bounded for lines of any length.
pub(crate) const WINDOW_BYTES: usize = 1 << 23;

/// What became of a line, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The line's number, from 1.
    pub line: u64,
    /// Whether the line was UTF-8. Otherwise U+FFFD stood for what was not.
    pub is_utf8: bool,
    /// Its translation.
    pub translation: &'a Translation,
}

impl<M: Model> Translator<M> {
    /// Translates a reader's lines and writes them, in order. Only LF ends a line.
    ///
    /// Lines are read, translated and written a window ([`Options::window_lines`](crate::Options)) at a time, and
    /// flushed after each: memory is bounded, and what has been written is a correct beginning of the whole at every
    /// moment. `watch` sees each answer when it has been written.
    ///
    /// # Errors
    /// See [`TranslateError`]; what could be read before an error in the input is translated and written.
    pub fn translate_stream(
        &self,
        reader: impl BufRead,
        writer: impl Write,
        format: Format,
        watch: impl FnMut(Answer<'_>),
    ) -> Result<(), TranslateError> {
        self.translate_rest_of(Lines::new(reader), writer, format, watch)
    }

    /// The same for a reader that stands at the beginning of a line in the midst of a file: what would be a byte-order
    /// mark or a sign of SGML in a file's first line is text. Lines are counted from there.
    ///
    /// # Errors
    /// As [`translate_stream`](Self::translate_stream).
    pub fn translate_from_the_midst(
        &self,
        reader: impl BufRead,
        writer: impl Write,
        format: Format,
        watch: impl FnMut(Answer<'_>),
    ) -> Result<(), TranslateError> {
        self.translate_rest_of(Lines::from_the_midst(reader), writer, format, watch)
    }

    fn translate_rest_of(
        &self,
        mut lines: Lines<impl BufRead>,
        mut writer: impl Write,
        format: Format,
        mut watch: impl FnMut(Answer<'_>),
    ) -> Result<(), TranslateError> {
        let mut line = 0;
        loop {
            let (window, end) = self.read_window(&mut lines);
            let texts: Vec<&str> = window.iter().map(|line| line.text.as_str()).collect();
            let translations = self.translate_lines(&texts)?;
            for translation in &translations {
                line += 1;
                format.write(&mut writer, line, translation).map_err(TranslateError::Write)?;
            }
            writer.flush().map_err(TranslateError::Write)?;
            let first = line + 1 - window.len() as u64;
            for ((line, Line { is_utf8, .. }), translation) in (first..).zip(&window).zip(&translations) {
                watch(Answer { line, is_utf8: *is_utf8, translation });
            }
            if let Some(end) = end {
                return end;
            }
        }
    }

    /// The next lines, and how the input ended if it did.
    fn read_window<R: BufRead>(&self, lines: &mut Lines<R>) -> (Vec<Line>, Option<Result<(), TranslateError>>) {
        let mut window = Vec::new();
        let mut bytes = 0;
        while window.len() < self.options().window_lines && bytes < WINDOW_BYTES {
            match lines.next_line() {
                Ok(Some(line)) => {
                    bytes += line.text.len();
                    window.push(line);
                }
                Ok(None) => return (window, Some(Ok(()))),
                Err(error) => return (window, Some(Err(error))),
            }
        }
        (window, None)
    }
}

#[cfg(test)]
mod tests {
    use crate::toy::{copy, one_thread};
    use crate::{Format, Options, TranslateError};
    use std::cell::RefCell;
    use std::io::{self, BufRead, BufReader, Read, Write};
    use std::num::NonZero;
    use std::rc::Rc;

    fn translate(input: &[u8], options: Options, format: Format) -> String {
        let mut output = Vec::new();
        copy(options).translate_stream(input, &mut output, format, |_| ()).expect("the input is good");
        String::from_utf8(output).expect("text is UTF-8")
    }

    #[test]
    fn each_line_has_its_line() {
        assert_eq!(translate(b"a b\n\nc", one_thread(), Format::Text), "a b\n\nc\n");
        assert_eq!(translate(b"\n\n\n", one_thread(), Format::Text), "\n\n\n");
        assert_eq!(translate(b"", one_thread(), Format::Text), "");
    }

    #[test]
    fn neither_the_window_nor_threads_change_the_output() {
        let input: String = (0..97).map(|line| "word ".repeat(line * 31 % 17).trim().to_owned() + "\n").collect();
        for window_lines in [1, 2, 32, 96, 97, 98, 1000] {
            for threads in [1, 3] {
                let options = one_thread().with_threads(NonZero::new(threads).unwrap());
                let options = Options { window_lines, batch_tokens: 40, ..options };
                assert_eq!(translate(input.as_bytes(), options, Format::Text), input);
            }
        }
    }

    #[test]
    fn scores_stand_in_a_column_before_the_text() {
        let scored = translate(b"ab\n\n", one_thread(), Format::Scored);
        // Three tokens of -0.1 nats each, over 3^0.6.
        assert_eq!(scored, "-0.1552\tab\n0.0000\t\n");
    }

    #[test]
    fn n_best_lists_are_those_of_moses() {
        let lists = translate(b"\na\n", Options { n_best: 2, ..one_thread() }, Format::NBest);
        let lines: Vec<Vec<&str>> = lists.lines().map(|line| line.split(" ||| ").collect()).collect();
        assert_eq!(lines[0], ["0", "", "0.0000"]);
        assert_eq!(lines[1], ["1", "a", "-0.1320"]);
        assert_eq!((lines.len(), lines[2][0]), (3, "1"));
    }

    #[test]
    fn watchers_hear_of_each_line_by_its_number() {
        let mut heard = Vec::new();
        let options = Options { window_lines: 2, ..one_thread() };
        copy(options)
            .translate_stream(&b"a\n\xFF\nb\n"[..], Vec::new(), Format::Text, |answer| {
                heard.push((answer.line, answer.is_utf8, answer.translation.text().to_owned()));
            })
            .unwrap();
        let expected = [(1, true, "a"), (2, false, "\u{FFFD}"), (3, true, "b")];
        assert_eq!(heard, expected.map(|(line, is_utf8, text)| (line, is_utf8, text.to_owned())));
    }

    /// Notes reads and flushes in the order they happen.
    struct Conversation<T> {
        inner: T,
        diary: Rc<RefCell<Vec<&'static str>>>,
    }

    impl Read for Conversation<&[u8]> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.diary.borrow_mut().push("read");
            let line = self.inner.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            (&mut self.inner).take(line as u64).read(buffer)
        }
    }

    impl Write for Conversation<Vec<u8>> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.inner.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            self.diary.borrow_mut().push("answer");
            Ok(())
        }
    }

    #[test]
    fn a_window_of_one_answers_each_line_before_the_next_is_read() {
        let diary = Rc::new(RefCell::new(Vec::new()));
        let reader = BufReader::new(Conversation { inner: &b"a\nb\nc\n"[..], diary: Rc::clone(&diary) });
        let writer = Conversation { inner: Vec::new(), diary: Rc::clone(&diary) };
        let options = Options { window_lines: 1, ..one_thread() };
        copy(options).translate_stream(reader, writer, Format::Text, |_| ()).unwrap();
        assert_eq!(diary.borrow()[..6], ["read", "answer", "read", "answer", "read", "answer"]);
    }

    #[test]
    fn what_was_read_before_an_error_is_written() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        let mut output = Vec::new();
        let reader = (&b"a\nb\n"[..]).chain(BufReader::new(Broken));
        let failed = copy(one_thread()).translate_stream(reader, &mut output, Format::Text, |_| ());
        assert!(matches!(failed, Err(TranslateError::Read { line: 2, .. })));
        assert_eq!(output, b"a\nb\n");
    }

    #[test]
    fn a_closed_pipe_is_told_from_other_failures() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let failed = copy(one_thread()).translate_stream(&b"a\n"[..], Closed, Format::Text, |_| ()).unwrap_err();
        assert!(failed.is_closed_pipe() && !failed.is_about_input());
    }

    #[test]
    fn memory_is_bounded_for_endless_input() {
        struct Endless(u64);
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0 += buffer.len() as u64;
                buffer.fill(b'\n');
                Ok(buffer.len())
            }
        }
        let mut reader = BufReader::with_capacity(100, Endless(0));
        let options = Options { window_lines: 1000, ..one_thread() };
        let full = io::Cursor::new([0u8; 2000]);
        let mut room = full;
        let failed =
            copy(options).translate_stream(reader.by_ref(), room.get_mut().as_mut_slice(), Format::Text, |_| ());
        assert!(matches!(failed, Err(TranslateError::Write(_))));
        assert!(reader.get_ref().0 <= 3100, "read {} bytes ahead", reader.get_ref().0);
        assert!(reader.fill_buf().is_ok());
    }
}
