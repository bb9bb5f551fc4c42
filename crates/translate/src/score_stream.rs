//! Scoring of files of any size: a window of pairs at a time.

use std::io::{self, BufRead, Write};

use crate::line::{Line, Lines};
use crate::stream::WINDOW_BYTES;
use crate::{Model, Score, TranslateError, Translator};

/// The form in which scores are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoreFormat {
    /// `score<TAB>log-probability<TAB>tokens`, one line for each pair; tokens count the end mark.
    #[default]
    Lines,
    /// The same and, for each word, a tab, the word, a space and its log-probability. The last word is `</s>`, the end
    /// mark. No word holds a space or a tab.
    Words,
}

/// What became of a pair, for whoever watches.
#[derive(Clone, Copy, Debug)]
pub struct Scored<'a> {
    /// The number of both lines, from 1.
    pub line: u64,
    /// Whether the source was UTF-8. Otherwise U+FFFD stood for what was not.
    pub src_is_utf8: bool,
    /// Whether the given translation was.
    pub tgt_is_utf8: bool,
    /// The score.
    pub score: &'a Score,
}

/// Lines and the translations given for them.
#[derive(Default)]
struct Window {
    sources: Vec<Line>,
    targets: Vec<Line>,
    is_last: bool,
}

impl<M: Model> Translator<M> {
    /// Scores the lines of `targets` as translations of those of `sources` and writes the scores, in order.
    ///
    /// Pairs are read, scored and written a window ([`Options::window_lines`](crate::Options)) at a time: memory is
    /// bounded. Nothing is written of a window in which there is an error. `watch` sees each score when it has been
    /// written.
    ///
    /// # Errors
    /// [`TranslateError::UnequalLines`] with both numbers, [`TranslateError::Targets`] for what is wrong with `targets`,
    /// and those of [`score_lines`](Self::score_lines).
    pub fn score_stream(
        &self,
        sources: impl BufRead,
        targets: impl BufRead,
        mut writer: impl Write,
        format: ScoreFormat,
        mut watch: impl FnMut(Scored<'_>),
    ) -> Result<(), TranslateError> {
        let (mut sources, mut targets) = (Lines::new(sources), Lines::new(targets));
        let mut before = 0;
        loop {
            let window = self.read_pairs(&mut sources, &mut targets)?;
            let texts = window.sources.iter().zip(&window.targets);
            let pairs: Vec<_> = texts.map(|(source, target)| (source.text.as_str(), target.text.as_str())).collect();
            let scores = self.score_lines(&pairs).map_err(|error| error.after_lines(before))?;
            for ((_, target), score) in pairs.iter().zip(&scores) {
                self.write_score(&mut writer, format, target, score).map_err(TranslateError::Write)?;
            }
            writer.flush().map_err(TranslateError::Write)?;
            for ((source, target), score) in window.sources.iter().zip(&window.targets).zip(&scores) {
                before += 1;
                watch(Scored { line: before, src_is_utf8: source.is_utf8, tgt_is_utf8: target.is_utf8, score });
            }
            if window.is_last {
                return Ok(());
            }
        }
    }

    fn read_pairs<S: BufRead, T: BufRead>(
        &self,
        sources: &mut Lines<S>,
        targets: &mut Lines<T>,
    ) -> Result<Window, TranslateError> {
        let (mut window, mut bytes) = (Window::default(), 0);
        while window.sources.len() < self.options().window_lines && bytes < WINDOW_BYTES {
            let target = targets.next_line().map_err(|error| TranslateError::Targets(Box::new(error)));
            match (sources.next_line()?, target?) {
                (Some(source), Some(target)) => {
                    bytes += source.text.len() + target.text.len();
                    window.sources.push(source);
                    window.targets.push(target);
                }
                (None, None) => {
                    window.is_last = true;
                    break;
                }
                _ => return Err(unequal_lines(sources, targets)),
            }
        }
        Ok(window)
    }

    fn write_score(&self, writer: &mut impl Write, format: ScoreFormat, target: &str, score: &Score) -> io::Result<()> {
        write!(writer, "{:.4}\t{:.4}\t{}", score.score, score.log_prob, score.log_probs.len())?;
        if format == ScoreFormat::Words {
            for word in self.word_scores(target, score) {
                write!(writer, "\t{} {:.4}", word.word, word.log_prob)?;
            }
        }
        writeln!(writer)
    }
}

/// Reads on to the end of both, to name the full counts.
fn unequal_lines<S: BufRead, T: BufRead>(sources: &mut Lines<S>, targets: &mut Lines<T>) -> TranslateError {
    let counts = sources.count_all().and_then(|sources| {
        let targets = targets.count_all().map_err(|error| TranslateError::Targets(Box::new(error)))?;
        Ok(TranslateError::UnequalLines { sources, targets })
    });
    counts.unwrap_or_else(|error| error)
}

#[cfg(test)]
mod tests {
    use crate::toy::{copy, one_thread};
    use crate::{Options, ScoreFormat, TranslateError};

    fn score(
        sources: &[u8],
        targets: &[u8],
        format: ScoreFormat,
        window_lines: usize,
    ) -> Result<String, TranslateError> {
        let mut output = Vec::new();
        let translator = copy(Options { window_lines, ..one_thread() });
        translator.score_stream(sources, targets, &mut output, format, |_| ())?;
        Ok(String::from_utf8(output).expect("scores are UTF-8"))
    }

    #[test]
    fn each_pair_has_a_line_whatever_the_window() {
        // Three tokens of -0.1 nats each, over 3^0.6.
        let expected = "-0.1552\t-0.3000\t3\n0.0000\t0.0000\t0\n-inf\t-inf\t2\n-0.1320\t-0.2000\t2\n";
        for window in [1, 2, 3, 4, 5, 100] {
            let scored = score(b"\xEF\xBB\xBFab\r\n\n\nc", b"ab\n \nd\nc\r\n", ScoreFormat::Lines, window);
            assert_eq!(scored.unwrap(), expected);
        }
        assert_eq!(score(b"", b"", ScoreFormat::Lines, 10).unwrap(), "");
    }

    #[test]
    fn words_follow_with_theirs() {
        let scored = score(b"ab c\n\n", b"ab c\n\n", ScoreFormat::Words, 10).unwrap();
        assert_eq!(scored, "-0.1904\t-0.5000\t5\tab -0.2000\tc -0.2000\t</s> -0.1000\n0.0000\t0.0000\t0\n");
    }

    #[test]
    fn unequal_counts_are_an_error_with_both() {
        for (sources, targets) in [("a\nb\nc\n", "a\n"), ("a\n", "a\nb\nc"), ("", "x\n")] {
            let counts = [sources, targets].map(|text| text.lines().count() as u64);
            for window in [1, 2, 100] {
                let refused = score(sources.as_bytes(), targets.as_bytes(), ScoreFormat::Lines, window).unwrap_err();
                assert!(
                    matches!(refused, TranslateError::UnequalLines { sources, targets } if [sources, targets] == counts)
                );
                assert!(refused.is_about_input());
            }
        }
    }

    #[test]
    fn what_is_wrong_with_the_targets_says_so() {
        let refused = score(b"a\n", b"<refset>\n", ScoreFormat::Lines, 10).unwrap_err();
        assert!(refused.is_about_input() && refused.to_string().contains("given translations"), "{refused}");
        let refused = score(b"<srcset>\n", b"a\n", ScoreFormat::Lines, 10).unwrap_err();
        assert!(matches!(refused, TranslateError::Markup { .. }));
    }

    #[test]
    fn a_pair_that_is_no_sentence_is_named_by_its_line_in_the_file() {
        let long = format!("a\nb\nc\n{}\n", "x".repeat(17));
        let translator = copy(Options { window_lines: 2, max_src_len: 2, ..one_thread() });
        let refused = translator.score_stream(long.as_bytes(), long.as_bytes(), Vec::new(), ScoreFormat::Lines, |_| ());
        assert!(matches!(refused, Err(TranslateError::PairTooLong { line: 4, .. })));
    }
}
