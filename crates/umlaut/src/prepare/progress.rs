//! What a person sees while data are prepared: on standard error, one line that changes on a terminal, a line now and
//! then elsewhere.

use std::fmt::Display;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crate::command::train::duration;

/// Whether and how to speak.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Voice {
    quiet: bool,
    is_terminal: bool,
}

impl Voice {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Says something in a line of its own.
    pub(crate) fn say(self, line: impl Display) {
        if !self.quiet {
            eprintln!("{}{line}", if self.is_terminal { "\r\x1b[K" } else { "" });
        }
    }

    /// Says it in spite of --quiet.
    pub(crate) fn warn(self, line: impl Display) {
        Self { quiet: false, ..self }.say(format_args!("warning: {line}"));
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Pairs,
}

impl Unit {
    fn amount(self, count: u64) -> String {
        match self {
            Self::Bytes => format!("{:.1}", count as f64 / 1e6),
            Self::Pairs => count.to_string(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "MB",
            Self::Pairs => "pairs",
        }
    }
}

/// How far a piece of work is.
#[derive(Debug)]
pub(crate) struct Progress<'a> {
    voice: Voice,
    label: &'a str,
    unit: Unit,
    total: Option<u64>,
    /// What was done before this start.
    before: u64,
    done: u64,
    started: Instant,
    shown: Instant,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(voice: Voice, label: &'a str, unit: Unit, total: Option<u64>, before: u64) -> Self {
        let now = Instant::now();
        Self { voice, label, unit, total, before, done: before, started: now, shown: now }
    }

    /// Counts what was just done.
    pub(crate) fn advance(&mut self, count: u64) {
        self.done += count;
        let pause = Duration::from_millis(if self.voice.is_terminal { 200 } else { 10_000 });
        if !self.voice.quiet && self.shown.elapsed() >= pause {
            self.shown = Instant::now();
            let (start, end) = if self.voice.is_terminal { ("\r\x1b[K", "") } else { ("", "\n") };
            eprint!("{start}{}{end}", self.line(self.started.elapsed().as_secs_f64()));
        }
    }

    /// Seconds since the start.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    fn line(&self, seconds: f64) -> String {
        let per_second = (self.done - self.before) as f64 / seconds.max(1e-3);
        let of = self.total.map_or(String::new(), |total| format!(" of {}", self.unit.amount(total)));
        let left = self.total.filter(|_| per_second > 0.0).map_or(String::new(), |total| {
            format!(", {} left", duration(total.saturating_sub(self.done) as f64 / per_second))
        });
        let (done, rate) = (self.unit.amount(self.done), self.unit.amount(per_second as u64));
        format!("{}: {done}{of} {name}, {rate} {name}/s{left}", self.label, name = self.unit.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_how_far_how_fast_and_how_long() {
        let voice = Voice { quiet: true, is_terminal: false };
        let mut progress = Progress::new(voice, "dev.tgz", Unit::Bytes, Some(38_600_000), 8_600_000);
        progress.advance(10_000_000);
        assert_eq!(progress.line(5.0), "dev.tgz: 18.6 of 38.6 MB, 2.0 MB/s, 10 s left");
        let mut progress = Progress::new(voice, "news", Unit::Pairs, None, 0);
        progress.advance(3000);
        assert_eq!(progress.line(1.5), "news: 3000 pairs, 2000 pairs/s");
    }
}
