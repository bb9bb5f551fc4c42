//! From downloaded text to lines that vocabulary and training can use, with a count of what was left out and why.
//!
//! | what | becomes | counted as |
//! |---|---|---|
//! | a pair of which a side has more than `max_line_bytes` bytes | nothing | `too_long` |
//! | a pair of which a side is not UTF-8 | nothing | `not_utf8` |
//! | a pair of which a side is blank once normalised | nothing | `blank` |
//! | any other pair | its two [normalised](crate::normalise()) lines | `kept` |
//!
//! The first reason that holds is the one that counts, in this order. Pairs keep their order. What depends on tokens,
//! such as the ratio of the lengths, is left to [`PairFilter`](super::PairFilter).

use super::framing::{strip_end, strip_start};
use crate::{TextError, is_blank, normalise};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    io::{self, BufRead, Read},
    path::PathBuf,
};

/// What a line must satisfy to be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cleaning {
    /// Longest line in bytes, its end left out. No more of a line is ever held in memory.
    pub max_line_bytes: usize,
}

impl Default for Cleaning {
    fn default() -> Self {
        Self { max_line_bytes: 8192 }
    }
}

/// How many pairs were read, kept, and left out for which reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanReport {
    /// Pairs read.
    pub read: u64,
    /// Pairs kept.
    pub kept: u64,
    /// Left out: a side is longer than the limit.
    pub too_long: u64,
    /// Left out: a side is not UTF-8.
    pub not_utf8: u64,
    /// Left out: a side is blank.
    pub blank: u64,
}

impl CleanReport {
    /// Both counts together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            read: self.read + other.read,
            kept: self.kept + other.kept,
            too_long: self.too_long + other.too_long,
            not_utf8: self.not_utf8 + other.not_utf8,
            blank: self.blank + other.blank,
        }
    }
}

impl fmt::Display for CleanReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pairs read, {} kept", self.read, self.kept)?;
        let reasons =
            [(self.blank, "with a blank side"), (self.too_long, "with too long a line"), (self.not_utf8, "not UTF-8")];
        reasons.iter().filter(|(count, _)| *count > 0).try_for_each(|(count, reason)| write!(f, ", {count} {reason}"))
    }
}

/// Lines of one side as they come, in bounded memory.
pub struct RawLines<R> {
    name: PathBuf,
    reader: R,
    max_line_bytes: usize,
    /// The present line without its end, and one byte more where it is too long.
    bytes: Vec<u8>,
    line: u64,
}

impl<R: BufRead> RawLines<R> {
    /// The lines of `reader`, which `name` stands for in messages.
    pub fn new(reader: R, name: impl Into<PathBuf>, cleaning: Cleaning) -> Self {
        let max_line_bytes = cleaning.max_line_bytes;
        Self { name: name.into(), reader, max_line_bytes, bytes: Vec::new(), line: 0 }
    }

    /// Reads the next line; false at the end.
    fn advance(&mut self) -> Result<bool, TextError> {
        let read =
            self.read_line().map_err(|source| TextError::Read { path: self.name.clone(), line: self.line, source })?;
        if !read {
            return Ok(false);
        }
        self.line += 1;
        if self.line == 1 {
            let markup = |tag: &str| TextError::Markup { path: self.name.clone(), tag: tag.to_owned() };
            strip_start(&mut self.bytes).map_err(markup)?;
        }
        Ok(true)
    }

    fn read_line(&mut self) -> io::Result<bool> {
        self.bytes.clear();
        // CR and LF may follow the longest line.
        let limit = self.max_line_bytes as u64 + 2;
        if self.reader.by_ref().take(limit).read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(false);
        }
        if !self.bytes.ends_with(b"\n") {
            self.reader.skip_until(b'\n')?;
        }
        strip_end(&mut self.bytes);
        Ok(true)
    }

    fn is_too_long(&self) -> bool {
        self.bytes.len() > self.max_line_bytes
    }
}

/// Hands the lines of each good pair, normalised, to `keep`.
///
/// # Errors
/// [`TextError::UnequalLines`] with the full count of each side when one ends before the other, [`TextError::Read`]
/// when one breaks off, [`TextError::Markup`] when one is SGML, and what `keep` reports.
pub fn clean_pairs<S: BufRead, T: BufRead, E: From<TextError>>(
    mut src: RawLines<S>,
    mut tgt: RawLines<T>,
    mut keep: impl FnMut(&str, &str) -> Result<(), E>,
) -> Result<CleanReport, E> {
    let mut report = CleanReport::default();
    loop {
        match (src.advance()?, tgt.advance()?) {
            (false, false) => return Ok(report),
            (true, true) => {}
            _ => return Err(unequal_lines(src, tgt)?.into()),
        }
        report.read += 1;
        let texts = (str::from_utf8(&src.bytes), str::from_utf8(&tgt.bytes));
        match texts {
            _ if src.is_too_long() || tgt.is_too_long() => report.too_long += 1,
            (Ok(src), Ok(tgt)) if is_blank(src) || is_blank(tgt) => report.blank += 1,
            (Ok(src), Ok(tgt)) => {
                keep(&normalise(src), &normalise(tgt))?;
                report.kept += 1;
            }
            _ => report.not_utf8 += 1,
        }
    }
}

/// Reads on to the end of each side, to name the full counts.
fn unequal_lines<S: BufRead, T: BufRead>(mut src: RawLines<S>, mut tgt: RawLines<T>) -> Result<TextError, TextError> {
    while src.advance()? {}
    while tgt.advance()? {}
    Ok(TextError::UnequalLines { counts: vec![(src.name, src.line), (tgt.name, tgt.line)] })
}
