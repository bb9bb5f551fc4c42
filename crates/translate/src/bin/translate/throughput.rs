//! How much was done how fast: `--throughput`.

use std::fmt;
use std::fs;
use std::time::Duration;

use umlaut_translate::{Isa, Options, Score, Translation};

/// What has been done.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lines: u64,
    /// What the model was given: a blank line is no sentence, a line translated in pieces several.
    sentences: u64,
    /// End marks counted.
    src_tokens: u64,
    /// Of the best translations or of those that were scored, end marks counted.
    pub(crate) tgt_tokens: u64,
}

impl Counts {
    pub(crate) fn add_translation(&mut self, translation: &Translation) {
        let tgt_tokens = translation.best().map_or(0, |best| best.tokens);
        self.add(translation.pieces, translation.src_tokens, tgt_tokens);
    }

    pub(crate) fn add_score(&mut self, score: &Score) {
        let is_sentence = score.src_tokens > 0;
        let tgt_tokens = if is_sentence { score.log_probs.len() } else { 0 };
        self.add(usize::from(is_sentence), score.src_tokens, tgt_tokens);
    }

    fn add(&mut self, sentences: usize, src_tokens: usize, tgt_tokens: usize) {
        self.lines += 1;
        self.sentences += sentences as u64;
        self.src_tokens += src_tokens as u64;
        self.tgt_tokens += tgt_tokens as u64;
    }
}

/// The figures of a run. Displayed, each has a line: its name, spaces, its value.
pub(crate) struct Throughput<'a> {
    pub(crate) counts: Counts,
    /// From the program's beginning until the model was ready.
    pub(crate) start_up: Duration,
    /// From then on.
    pub(crate) elapsed: Duration,
    pub(crate) options: &'a Options,
}

impl fmt::Display for Throughput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { lines, sentences, src_tokens, tgt_tokens } = self.counts;
        let elapsed_seconds = self.elapsed.as_secs_f64();
        let per_second = |count: u64| format!("{:.1}", count as f64 / elapsed_seconds.max(1e-9));
        let mut figures = vec![
            ("lines", lines.to_string()),
            ("sentences", sentences.to_string()),
            ("src_tokens", src_tokens.to_string()),
            ("tgt_tokens", tgt_tokens.to_string()),
            ("start_up_seconds", format!("{:.4}", self.start_up.as_secs_f64())),
            ("elapsed_seconds", format!("{elapsed_seconds:.3}")),
            ("sentences_per_second", per_second(sentences)),
            ("src_tokens_per_second", per_second(src_tokens)),
            ("tgt_tokens_per_second", per_second(tgt_tokens)),
        ];
        figures.extend(peak_memory_mib().map(|mib| ("peak_memory_mib", format!("{mib:.1}"))));
        figures.push(("threads", self.options.threads.to_string()));
        figures.push(("arithmetic", format!("{:?}", self.options.precision).to_lowercase()));
        figures.push(("instruction_set", format!("{:?}", Isa::best()).to_lowercase()));
        figures.iter().try_for_each(|(name, value)| writeln!(f, "{name:<22} {value}"))
    }
}

/// The greatest memory that this process has had, where the system tells.
fn peak_memory_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.trim().strip_suffix("kB")?;
    Some(kib.trim().parse::<f64>().ok()? / 1024.0)
}
