//! `umlaut shortlist`: learns from parallel text which target tokens a source token can become.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use rayon::ThreadPoolBuilder;
use umlaut_model::directory::write_whole;
use umlaut_text::Vocab;
use umlaut_text::corpus::{BitextFiles, PairFilter, load_pairs};
use umlaut_text::shortlist::ShortlistRecipe;

/// Learn from parallel text which target tokens a source token can become, for `translate --shortlist`
#[derive(Debug, clap::Args)]
pub(crate) struct ShortlistArgs {
    /// Source sentences, one a line; plain, gzip or Zstandard
    src: PathBuf,
    /// Their translations
    tgt: PathBuf,
    /// The vocabulary of the model that it is for
    #[arg(long, value_name = "NAME.model")]
    vocab: PathBuf,
    /// Where the shortlist goes
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Target tokens for a source token, at most
    #[arg(long, default_value_t = ShortlistRecipe::default().per_token)]
    per_token: usize,
    /// The least probability of a target token, given the source token
    #[arg(long, default_value_t = ShortlistRecipe::default().threshold)]
    threshold: f32,
    /// The most frequent target tokens, which are in every list
    #[arg(long, default_value_t = ShortlistRecipe::default().frequent)]
    frequent: usize,
    /// Iterations of IBM model 1
    #[arg(long, default_value_t = ShortlistRecipe::default().iterations)]
    iterations: usize,
    /// Pairs with a longer side, in tokens, are left out
    #[arg(long, default_value_t = 200)]
    max_tokens: usize,
    /// Threads [default: one for each processor]; they do not change the result
    #[arg(long)]
    threads: Option<usize>,
}

pub(crate) fn run(args: &ShortlistArgs) -> Result<()> {
    if args.output.is_dir() {
        bail!("{} is a folder; name the file", args.output.display());
    }
    ensure!(args.iterations > 0, "--iterations must be at least 1");
    let start = Instant::now();
    let vocab = Vocab::open(&args.vocab)?;
    let files = BitextFiles { src: args.src.clone(), tgt: args.tgt.clone(), names: None };
    let filter = PairFilter { max_tokens: Some(args.max_tokens), ..PairFilter::default() };
    let recipe = ShortlistRecipe {
        iterations: args.iterations,
        per_token: args.per_token,
        threshold: args.threshold,
        frequent: args.frequent,
    };
    let pool = ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build().context("--threads")?;
    let (shortlist, report) = pool.install(|| -> Result<_> {
        let (corpus, report) = load_pairs(&[files], None, &filter, &vocab)?;
        Ok((recipe.train(&corpus, &vocab), report))
    })?;
    ensure!(report.kept > 0, "no pair is left to learn from: {report}");
    let bytes = shortlist.to_bytes();
    write_whole(&args.output, &bytes)?;
    let (entries, seconds) = (shortlist.entries(), start.elapsed().as_secs_f64());
    println!("{report}");
    println!("{}: {entries} entries, {} bytes, in {seconds:.1} s", args.output.display(), bytes.len());
    Ok(())
}
