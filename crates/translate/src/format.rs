//! How translations are written.

use std::io::{self, Write};

use crate::Translation;

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// The translation, one line for each line.
    #[default]
    Text,
    /// The score, a tab and the translation, one line for each line. A blank line scores 0.
    Scored,
    /// n-best lists as Moses writes them, one line for each alternative: `n ||| text ||| score`, where n counts input
    /// lines from 0. A blank line has one alternative, blank, with score 0.
    NBest,
}

impl Format {
    /// Writes what became of input line `line` (from 1).
    pub(crate) fn write(self, writer: &mut impl Write, line: u64, translation: &Translation) -> io::Result<()> {
        let score = translation.best().map_or(0.0, |best| best.score);
        match self {
            Self::Text => writeln!(writer, "{}", translation.text()),
            Self::Scored => writeln!(writer, "{score:.4}\t{}", translation.text()),
            Self::NBest if translation.alternatives.is_empty() => writeln!(writer, "{} |||  ||| {score:.4}", line - 1),
            Self::NBest => translation.alternatives.iter().try_for_each(|alternative| {
                writeln!(writer, "{} ||| {} ||| {:.4}", line - 1, alternative.text, alternative.score)
            }),
        }
    }
}
