//! The options of a command line that decodes: those of `translate` that can change a translation, and those that change
//! its speed.

use std::num::NonZero;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::{LengthPenalty, Options, Precision};

/// The part of the command line of `translate` that says how to decode. Other programs flatten it into theirs, or parse
/// the options of a `translate` that was called before.
#[derive(Clone, Debug, clap::Args)]
pub struct DecodeArgs {
    /// Beam width; 1 is greedy search
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Search")]
    beam: usize,

    /// Exponent of the length penalty: larger = longer translations, 0 = none
    #[arg(long, value_name = "A", default_value_t = 0.6, allow_negative_numbers = true, help_heading = "Search")]
    length_penalty: f64,

    /// Its formula, L being the tokens of a translation with its end mark
    #[arg(long, value_name = "KIND", default_value = "length", help_heading = "Search")]
    penalty: Penalty,

    /// Cut translations at N tokens, the end mark counted, and report it
    #[arg(long, value_name = "N", help_heading = "Search")]
    max_len: Option<usize>,

    /// Threads [default: one for each processor]
    #[arg(long, value_name = "N", help_heading = "Speed")]
    threads: Option<NonZero<usize>>,

    /// Arithmetic; int8 is faster, and a few translations in a hundred differ
    #[arg(long, value_name = "KIND", default_value = "f32", help_heading = "Speed")]
    precision: Arithmetic,

    /// Compute the words that FILE, made by `umlaut shortlist`, gives for a line alone: less work, but translations can differ
    #[arg(long, value_name = "FILE", help_heading = "Speed")]
    shortlist: Option<PathBuf>,

    /// Size of a batch: its sentences times the tokens of the longest; it changes speed and memory, no translation
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = "Speed")]
    batch_tokens: usize,
}

/// The formula of the length penalty.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Penalty {
    /// log p / L^A, as in fairseq and Marian
    Length,
    /// log p / ((5 + L) / 6)^A, as in GNMT and tensor2tensor
    Gnmt,
}

/// The network's arithmetic.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Arithmetic {
    /// 32-bit floating point
    F32,
    /// 8-bit integers
    Int8,
}

impl From<&DecodeArgs> for Options {
    fn from(args: &DecodeArgs) -> Self {
        let alpha = args.length_penalty;
        let defaults = Self::default();
        let threads = args.threads.unwrap_or(defaults.threads);
        Self {
            beam: args.beam,
            length_penalty: match args.penalty {
                Penalty::Length => LengthPenalty::Length { alpha },
                Penalty::Gnmt => LengthPenalty::Gnmt { alpha },
            },
            max_len: args.max_len,
            precision: match args.precision {
                Arithmetic::F32 => Precision::F32,
                Arithmetic::Int8 => Precision::Int8,
            },
            shortlist: args.shortlist.clone(),
            batch_tokens: args.batch_tokens,
            ..defaults.with_threads(threads)
        }
    }
}
