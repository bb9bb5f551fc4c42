//! What the reader of standard error is told: warnings by line number, and progress.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use umlaut_translate::{Answer, Scored};

use crate::throughput::Counts;

/// Lines named for each kind of warning; the others are counted.
const LINES_NAMED: u64 = 10;
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// What can be worth a warning.
#[derive(Clone, Copy)]
enum Warning {
    NotUtf8,
    InPieces,
    Cut,
    Blank,
    Whole,
}

impl Warning {
    const ALL: [Self; 5] = [Self::NotUtf8, Self::InPieces, Self::Cut, Self::Blank, Self::Whole];

    fn text(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not valid UTF-8; U+FFFD stands for what could not be read",
            Self::InPieces => "too long for one sentence; translated in pieces",
            Self::Cut => "the translation reached its length limit and was cut",
            Self::Blank => "the model found no translation; the line is blank",
            Self::Whole => "too long for one sentence; scored whole, which means little",
        }
    }

    fn applies(self, answer: &Answer<'_>) -> bool {
        let best = answer.translation.best();
        match self {
            Self::NotUtf8 => !answer.is_utf8,
            Self::InPieces => answer.translation.pieces > 1,
            Self::Cut => best.is_some_and(|best| best.is_cut),
            Self::Blank => best.is_some_and(|best| best.text.is_empty()),
            Self::Whole => false,
        }
    }
}

/// Keeps count, and says on standard error what is worth saying.
pub(crate) struct Report {
    is_quiet: bool,
    /// Progress is for a person who waits, and not in the midst of translations.
    shows_progress: bool,
    started: Instant,
    shown: Instant,
    counts: Counts,
    /// How often each of [`Warning::ALL`] applied.
    warnings: [u64; Warning::ALL.len()],
}

impl Report {
    pub(crate) fn new(is_quiet: bool, output_is_terminal: bool) -> Self {
        let shows_progress = !is_quiet && !output_is_terminal && io::stderr().is_terminal();
        let now = Instant::now();
        let warnings = [0; Warning::ALL.len()];
        Self { is_quiet, shows_progress, started: now, shown: now, counts: Counts::default(), warnings }
    }

    /// Takes note of an answer; `name` is that of its file.
    pub(crate) fn answer(&mut self, name: Option<&str>, answer: &Answer<'_>) {
        self.counts.add_translation(answer.translation);
        for warning in Warning::ALL.into_iter().filter(|warning| warning.applies(answer)) {
            self.note(warning, name, answer.line);
        }
        self.show_progress();
    }

    /// Takes note of a score; the names are those of the files of sources and targets. Sides of more than `max_len`
    /// tokens are worth a warning.
    pub(crate) fn scored(&mut self, names: [Option<&str>; 2], scored: &Scored<'_>, max_len: usize) {
        self.counts.add_score(scored.score);
        for (name, is_utf8) in names.into_iter().zip([scored.src_is_utf8, scored.tgt_is_utf8]) {
            if !is_utf8 {
                self.note(Warning::NotUtf8, name, scored.line);
            }
        }
        if scored.score.src_tokens.max(scored.score.log_probs.len()) > max_len + 1 {
            self.note(Warning::Whole, names[0], scored.line);
        }
        self.show_progress();
    }

    /// What has been done so far, and in which time.
    pub(crate) fn progress(&self) -> (Counts, Duration) {
        (self.counts, self.started.elapsed())
    }

    /// Closes with what was not named, and says whether all input could be read.
    pub(crate) fn finish(self) -> bool {
        for (warning, &count) in Warning::ALL.into_iter().zip(&self.warnings) {
            if count > LINES_NAMED {
                self.warn(&format!("{count} lines in all: {}", warning.text()));
            }
        }
        if self.shows_progress {
            say(&format!("\r{}\n", self.progress_line()));
        }
        self.is_utf8()
    }

    /// Whether all input was UTF-8 so far.
    pub(crate) fn is_utf8(&self) -> bool {
        self.warnings[Warning::NotUtf8 as usize] == 0
    }

    fn note(&mut self, warning: Warning, name: Option<&str>, line: u64) {
        self.warnings[warning as usize] += 1;
        if self.warnings[warning as usize] <= LINES_NAMED {
            let file = name.map(|name| format!("{name}, ")).unwrap_or_default();
            self.warn(&format!("{file}line {line}: {}", warning.text()));
        }
    }

    fn warn(&self, text: &str) {
        if !self.is_quiet {
            // The progress line, if there is one, is overwritten.
            let clear = if self.shows_progress { "\r\x1b[K" } else { "" };
            say(&format!("{clear}translate: warning: {text}\n"));
        }
    }

    fn show_progress(&mut self) {
        if self.shows_progress && self.shown.elapsed() >= PROGRESS_INTERVAL {
            self.shown = Instant::now();
            say(&format!("\r{}", self.progress_line()));
        }
    }

    fn progress_line(&self) -> String {
        let elapsed_seconds = self.started.elapsed().as_secs_f64();
        let per_second = |count: u64| count as f64 / elapsed_seconds.max(1e-9);
        let Counts { lines, tgt_tokens, .. } = self.counts;
        format!(
            "{lines} lines in {elapsed_seconds:.1} s: {:.1} lines/s, {:.0} tokens/s",
            per_second(lines),
            per_second(tgt_tokens)
        )
    }
}

/// Writes to standard error, which may be closed: then nobody wants to know.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
