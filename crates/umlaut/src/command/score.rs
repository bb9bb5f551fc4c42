//! `umlaut score`: BLEU, chrF and TER of a system, with intervals and paired tests.

use std::io::{Write, stdout};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use umlaut_metrics::{Averaging, Baseline, Case, Compounds, Corpus, Evaluation, Metric, Options};
use umlaut_metrics::{PairedTest, TestSet, Tokenizer};
use umlaut_text::corpus::read_lines;

/// Arguments of `umlaut score`; files are plain, gzip or Zstandard, with one segment a line.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ScoreArgs {
    /// The system's output
    hypotheses: PathBuf,
    /// The references, one or more streams
    #[arg(short, long, value_name = "REF", required = true, num_args = 1..)]
    references: Vec<PathBuf>,
    /// Some of bleu, chrf, chrf++, ter
    #[arg(short, long, value_delimiter = ',', default_value = "bleu,chrf,ter")]
    metrics: Vec<Metric>,
    /// Tokenizer of BLEU: 13a, intl, char or none
    #[arg(long, default_value_t = Tokenizer::V13a)]
    tokenize: Tokenizer,
    /// Take hyphenated compounds apart for BLEU, after tokenisation
    #[arg(long)]
    compound_split: bool,
    /// Lower-case both sides for BLEU and chrF, as TER always does
    #[arg(long)]
    lowercase: bool,
    /// Average the F-scores of all orders in chrF, as chrF++.py does
    #[arg(long)]
    chrf_eps_smoothing: bool,
    /// Test the difference to the output of this baseline
    #[arg(long, value_name = "OTHER")]
    paired: Option<PathBuf>,
    /// The paired test: bs (bootstrap) or ar (approximate randomisation)
    #[arg(long, default_value_t = PairedTest::Bootstrap, requires = "paired")]
    test: PairedTest,
    /// Add 95 % bootstrap intervals
    #[arg(long)]
    confidence: bool,
    /// Seed of the resampling
    #[arg(long, default_value_t = 12345)]
    seed: u64,
    /// Samples of the bootstrap or trials of ar [default: 1000 or 10000]
    #[arg(long)]
    samples: Option<NonZeroUsize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the scores on stdout; the references they are against, and doubts about the text, on stderr.
pub(crate) fn run(args: &ScoreArgs) -> Result<()> {
    let has_bleu = args.metrics.iter().any(|metric| matches!(metric, Metric::Bleu(_)));
    ensure!(has_bleu || !args.compound_split, "--compound-split concerns BLEU, which --metrics leaves out");
    let (hypotheses, other) = (read_lines(&args.hypotheses)?, args.paired.as_deref().map(read_lines).transpose()?);
    let references = args.references.iter().map(read_lines).collect::<Result<Vec<_>, _>>()?;
    let references: Vec<&[String]> = references.iter().map(Vec::as_slice).collect();
    let system = Corpus::new(&hypotheses, &references).with_context(|| args.hypotheses.display().to_string())?;
    for warning in system.warnings(args.tokenize) {
        eprintln!("warning: {warning}");
    }
    let other = other.as_deref().map(|lines| Corpus::new(lines, &references)).transpose().context("--paired")?;
    let resampling = |test: PairedTest| test.resampling(args.samples, args.seed);
    let baseline = other.map(|corpus| Baseline { corpus, test: args.test, resampling: resampling(args.test) });
    let interval = args.confidence.then(|| resampling(PairedTest::Bootstrap));
    let evaluation = Evaluation { system, interval, baseline };
    let scores = args.metrics.iter().map(|metric| evaluation.score(&metric.with_options(options(args))));
    let scores = scores.collect::<Result<Vec<_>, _>>()?;
    let named = args.references.iter().zip(&references);
    let sets: Vec<_> = named.map(|(path, lines)| TestSet::new(path.to_string_lossy(), lines)).collect();
    if args.json {
        return Ok(writeln!(stdout(), "{:#}", json!({ "references": sets, "scores": scores }))?);
    }
    for set in &sets {
        eprintln!("reference {set}");
    }
    scores.iter().try_for_each(|score| Ok(writeln!(stdout(), "{score}")?))
}

fn options(args: &ScoreArgs) -> Options {
    Options {
        case: if args.lowercase { Case::Lower } else { Case::Mixed },
        tokenizer: args.tokenize,
        compounds: if args.compound_split { Compounds::Split } else { Compounds::Whole },
        averaging: if args.chrf_eps_smoothing { Averaging::EveryOrder } else { Averaging::EffectiveOrder },
    }
}
