//! Hypotheses beside their references, checked once before any metric sees them.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::Tokenizer;
use crate::error::MetricError;
use crate::warning::{self, Warning};

/// What a markup file of a test set begins with, in lower case, and the format's name.
const MARKUP: [(&str, &str); 7] = [
    ("<srcset", "an SGML source set"),
    ("<refset", "an SGML reference set"),
    ("<tstset", "an SGML hypothesis set"),
    ("<mteval", "an mteval XML file"),
    ("<dataset", "a WMT XML file"),
    ("<!doctype", "an SGML or XML file"),
    ("<?xml", "an XML file"),
];

/// One system's lines and their references, line by line the same segments.
///
/// A byte-order mark at the start of a stream is not part of its first line. An empty line is a segment like any
/// other: as a hypothesis it has length 0, as a reference it is one that no word matches.
#[derive(Debug, Clone)]
pub struct Corpus<'a> {
    hypotheses: &'a [String],
    references: Vec<&'a [String]>, // [streams][lines]
}

/// One line of a corpus.
#[derive(Debug)]
pub(crate) struct Segment<'a> {
    /// Line number, from 1.
    pub(crate) line: usize,
    /// What the system wrote.
    pub(crate) hypothesis: &'a str,
    /// What people wrote, one per stream; never empty.
    pub(crate) references: Vec<&'a str>,
}

impl<'a> Corpus<'a> {
    /// Pairs `hypotheses` with one or more streams of `references`.
    ///
    /// # Errors
    /// If there is no line, no reference, a stream of another length, or a stream that is markup instead of plain lines.
    pub fn new(hypotheses: &'a [String], references: &[&'a [String]]) -> Result<Self, MetricError> {
        if references.is_empty() {
            return Err(MetricError::NoReference);
        }
        refuse_markup(hypotheses, || "hypotheses".to_owned())?;
        for (index, stream) in references.iter().enumerate() {
            refuse_markup(stream, || format!("reference {}", index + 1))?;
            if stream.len() != hypotheses.len() {
                return Err(MetricError::ReferenceLines {
                    hypotheses: hypotheses.len(),
                    references: stream.len(),
                    stream: index + 1,
                });
            }
        }
        if hypotheses.is_empty() {
            return Err(MetricError::NoLines);
        }
        Ok(Self { hypotheses, references: references.to_vec() })
    }

    /// The number of lines, at least 1.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.hypotheses.len()
    }

    /// The number of reference streams, at least 1.
    #[must_use]
    pub fn reference_streams(&self) -> usize {
        self.references.len()
    }

    /// What looks wrong with the text but does not keep it from being scored with `tokenizer`.
    #[must_use]
    pub fn warnings(&self, tokenizer: Tokenizer) -> Vec<Warning> {
        warning::inspect(self.hypotheses, &self.references, tokenizer)
    }

    /// The lines in order.
    pub(crate) fn segments(&self) -> impl Iterator<Item = Segment<'a>> {
        (0..self.lines()).map(|line| Segment {
            line: line + 1,
            hypothesis: line_of(self.hypotheses, line),
            references: self.references.iter().map(|stream| line_of(stream, line)).collect(),
        })
    }
}

/// Which references a score is against. Test sets go by the same name in several versions, newstest2014 with 2737 and
/// with 3003 lines among them, so the name alone does not tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TestSet {
    /// Where the references come from, such as a file name.
    pub name: String,
    /// How many lines they have.
    pub lines: usize,
    /// The SHA-256 of the lines, each ended by LF: that of the plain file, however it was compressed or its lines ended.
    pub sha256: String,
}

impl TestSet {
    /// Describes the stream `lines`, which comes from `name`.
    #[must_use]
    pub fn new(name: impl Into<String>, lines: &[String]) -> Self {
        let mut hash = Sha256::new();
        for line in 0..lines.len() {
            hash.update(line_of(lines, line));
            hash.update("\n");
        }
        let sha256 = hash.finalize().iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"));
        Self { name: name.into(), lines: lines.len(), sha256 }
    }
}

impl fmt::Display for TestSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} lines, sha256 {}", self.name, self.lines, self.sha256)
    }
}

/// A line of a stream, without the byte-order mark that may stand before the first.
fn line_of(stream: &[String], line: usize) -> &str {
    let text = stream[line].as_str();
    if line == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text }
}

/// Refuses a stream whose first line opens a markup file.
fn refuse_markup(stream: &[String], name: impl Fn() -> String) -> Result<(), MetricError> {
    if stream.is_empty() {
        return Ok(());
    }
    let first = line_of(stream, 0).trim_start().to_ascii_lowercase();
    match MARKUP.iter().find(|(marker, _)| first.starts_with(marker)) {
        Some(&(marker, format)) => Err(MetricError::Markup { stream: name(), format, marker }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn unequal_line_counts_are_refused_with_both_counts() {
        let refusal = Corpus::new(&lines("a\nb\nc"), &[&lines("a\nb\nc"), &lines("a\nb")]).unwrap_err();
        assert_eq!(refusal, MetricError::ReferenceLines { hypotheses: 3, references: 2, stream: 2 });
        assert!(refusal.to_string().contains('3') && refusal.to_string().contains('2'));
        assert!(Corpus::new(&lines("a"), &[&lines("a\nb\nc")]).is_err());
    }

    #[test]
    fn missing_references_and_empty_files_are_refused() {
        assert_eq!(Corpus::new(&lines("a"), &[]).unwrap_err(), MetricError::NoReference);
        assert_eq!(Corpus::new(&[], &[&[]]).unwrap_err(), MetricError::NoLines);
    }

    #[test]
    fn a_markup_file_is_refused_by_name() {
        for first in
            ["<refset trglang=\"de\" setid=\"x\">", "\u{feff}<SrcSet setid=\"x\">", "  <?xml version=\"1.0\"?>"]
        {
            let markup = lines(first);
            let refusal = Corpus::new(&lines("a"), &[&markup]).unwrap_err();
            assert!(matches!(refusal, MetricError::Markup { ref stream, .. } if stream == "reference 1"), "{first}");
        }
        assert!(Corpus::new(&lines("<b>fett</b>"), &[&lines("<p>")]).is_ok());
    }

    #[test]
    fn a_byte_order_mark_is_not_part_of_the_first_word() {
        let (hypotheses, references) = (lines("\u{feff}eins\n\u{feff}zwei"), lines("\u{feff}eins\nzwei"));
        let corpus = Corpus::new(&hypotheses, &[&references]).unwrap();
        let segments: Vec<_> = corpus.segments().collect();
        assert_eq!((segments[0].hypothesis, segments[0].references[0]), ("eins", "eins"));
        assert_eq!(segments[1].hypothesis, "\u{feff}zwei");
    }

    #[test]
    fn a_test_set_is_known_by_the_checksum_of_its_plain_file() {
        // printf 'eins\nzwei\n' | sha256sum
        let sha256 = "cea7589481795a99cc8b7989cc24706fd26d46cde9fc381d07db562de08b2e18".to_owned();
        let expected = TestSet { name: "ref.de".to_owned(), lines: 2, sha256 };
        assert_eq!(TestSet::new("ref.de", &lines("eins\nzwei")), expected);
        assert_eq!(TestSet::new("ref.de", &lines("\u{feff}eins\nzwei")), expected);
    }
}
