//! `umlaut vocab`: trains a joint vocabulary on files of lines.

use anyhow::{Result, bail};
use std::{path::PathBuf, time::Instant};
use umlaut_model::directory::write_whole;
use umlaut_text::{
    Vocab,
    vocab::{Normalization, VocabRecipe},
};

use umlaut_ledger::checksum;

/// Train a joint vocabulary (SentencePiece BPE) on files of lines
#[derive(Debug, clap::Args)]
pub(crate) struct VocabArgs {
    /// Text of both languages, one sentence a line; plain, gzip or Zstandard
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where the vocabulary goes
    #[arg(short, long, value_name = "NAME.model")]
    output: PathBuf,
    /// Pieces, the special ones and the 256 bytes included
    #[arg(long, default_value_t = 8000)]
    size: usize,
    /// The rule that the vocabulary applies after Unicode NFC: identity, nfkc, nfkc_cf, nmt_nfkc or nmt_nfkc_cf
    #[arg(long, value_name = "RULE", default_value_t)]
    normalization: Normalization,
    /// Share of all characters that get a piece, 0.98 to 1
    #[arg(long, default_value_t = 0.9995)]
    character_coverage: f64,
    /// Make other characters unknown instead of spelling them as bytes
    #[arg(long)]
    no_byte_fallback: bool,
    /// Train on this many lines, drawn at random, instead of all
    #[arg(long, value_name = "LINES")]
    sample: Option<u64>,
    /// Decides the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A further piece that text never yields, such as <2de>; may be given again
    #[arg(long = "control", value_name = "PIECE")]
    control_symbols: Vec<String>,
}

pub(crate) fn run(args: &VocabArgs) -> Result<()> {
    if args.output.is_dir() {
        bail!("{} is a folder; name the file", args.output.display());
    }
    let start = Instant::now();
    let bytes = recipe(args).train(&args.files)?;
    let vocab = Vocab::from_bytes(&bytes)?;
    write_whole(&args.output, &bytes)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("{}: {} pieces in {seconds:.1} s", args.output.display(), vocab.len());
    println!("sha256 {}", checksum::of_bytes(&bytes));
    Ok(())
}

fn recipe(args: &VocabArgs) -> VocabRecipe {
    VocabRecipe {
        size: args.size,
        character_coverage: args.character_coverage,
        byte_fallback: !args.no_byte_fallback,
        normalization: args.normalization,
        sample: args.sample,
        seed: args.seed,
        control_symbols: args.control_symbols.clone(),
        ..VocabRecipe::default()
    }
}
