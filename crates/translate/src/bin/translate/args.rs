//! The command line.

use std::env;
use std::path::PathBuf;

use clap::Parser;
use umlaut_translate::{DecodeArgs, Format, Options, ScoreFormat};

use crate::shard::Shard;

const EXAMPLES: &str = "\
Examples:
  echo 'Hello world.' | translate
  translate news.en -o news.de
  translate --nbest 4 news.en                # n ||| translation ||| score
  translate --beam 1 --threads 2 < news.en   # faster, a little worse
  translate --score news.de news.en          # how probable is this translation?

Each input line gives one output line, in the same order; a blank line stays
blank. Input is UTF-8, one sentence a line, as people write it: no tokenisation,
no sub-words. What is not UTF-8 is read as U+FFFD and reported. A line of more
than 512 tokens is translated in pieces. A translation is cut at twice its
source's tokens and 32 more, or at --max-len.

With --score each line gives `score<TAB>log-probability<TAB>tokens` of the line
of TARGETS: nats, the end mark counted, and the score as --scores has it. With
--per-word there follow, each after a tab, the words with a space and their
log-probability; the last is </s>, the end mark. A blank translation of a blank
line has 0, another translation of it -inf, and a blank translation of another
line that of the end mark alone.

With --shard any number of machines share a file:
  translate --shard 3/8 big.en -o parts      # on each machine, or in a job array
  translate --join parts big.en -o big.de    # names the parts to make again
A part has the lines that begin in the K-th of N equal stretches of the file. It
is there when its manifest is: PARTS/shard-3-of-8.json. A part that is there is
not translated again unless input, model or options are others. Lines in
warnings are counted from the beginning of the part.

Exit status: 0 done; 1 some input could not be handled; 2 could not run.";

/// Translate text, one sentence a line, from English to German unless --model says otherwise.
#[derive(Debug, Parser)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
#[command(name = "translate", version, after_help = EXAMPLES, max_term_width = 120)]
pub(crate) struct Args {
    /// Files to translate, one after the other [default: standard input, as is -]
    #[arg(value_name = "FILE")]
    pub(crate) inputs: Vec<PathBuf>,

    /// Write to OUT, with --shard a folder; it appears when it is complete, until then the work is in OUT.part [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,

    /// Model directory [default: the built-in model]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) model: Option<PathBuf>,

    #[command(flatten)]
    decode: DecodeArgs,

    /// Write the N best translations of each line, at most the beam width: n ||| translation ||| score, n from 0
    #[arg(long, value_name = "N", help_heading = "Output")]
    nbest: Option<usize>,

    /// Score the lines of TARGETS, one for each line of one FILE, instead of translating
    #[arg(long, value_name = "TARGETS", conflicts_with_all = ["nbest", "scores", "max_len", "shortlist"], help_heading = "Output")]
    pub(crate) score: Option<PathBuf>,

    /// Score each word, too
    #[arg(long, requires = "score", help_heading = "Output")]
    per_word: bool,

    /// Translate only part K of N of one FILE, into the folder OUT, with a manifest: for as many machines
    #[arg(long, value_name = "K/N", requires = "output", conflicts_with = "score", help_heading = "Many machines")]
    pub(crate) shard: Option<Shard>,

    /// Join the parts in DIR, if all are there and belong together; with FILE also check that they are made of it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["shard", "score", "model", "beam", "length_penalty", "penalty",
        "max_len", "nbest", "scores", "precision", "shortlist", "throughput"], help_heading = "Many machines")]
    pub(crate) join: Option<PathBuf>,

    /// Write the score and a tab before each translation; n-best lists have scores without it
    #[arg(long, help_heading = "Output")]
    scores: bool,

    /// Answer each line before the next is read, at some cost in speed; the default at a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) line_buffered: bool,

    /// No warnings and no progress on standard error
    #[arg(short, long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Say on standard error at the end what was done, how fast, and in how much memory: a name and a value a line
    #[arg(long, help_heading = "Speed")]
    pub(crate) throughput: bool,
}

impl Args {
    /// The translator's options; `interactive` input is answered line by line.
    pub(crate) fn options(&self, interactive: bool) -> Options {
        let options = Options { n_best: self.nbest.unwrap_or(1), ..Options::from(&self.decode) };
        if self.line_buffered || interactive { Options { window_lines: 1, ..options } } else { options }
    }

    /// The form of the output.
    pub(crate) fn format(&self) -> Format {
        match (self.nbest, self.scores) {
            (Some(_), _) => Format::NBest,
            (None, true) => Format::Scored,
            (None, false) => Format::Text,
        }
    }

    /// The words of this command but for its name and the shard.
    pub(crate) fn command_without_shard(&self) -> Vec<String> {
        let mut words = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
        let mut kept = Vec::new();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--shard" => drop(words.next()),
                _ if self.shard.is_some() && word.starts_with("--shard=") => {}
                _ => kept.push(word),
            }
        }
        kept
    }

    /// The form of scores.
    pub(crate) fn score_format(&self) -> ScoreFormat {
        if self.per_word { ScoreFormat::Words } else { ScoreFormat::Lines }
    }
}
