//! `umlaut prepare`: from published archives to the vocabulary and shards that training reads.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use rayon::ThreadPoolBuilder;

use crate::prepare::{self, DownloadOptions, Voice};

/// Download and prepare the data of a recipe.
///
/// Downloads the archives that `data.toml` of the recipe's folder names, cleans the training text, takes out the
/// validation and test sets, trains the joint vocabulary and writes shards of ids, all in DATA/NAME, where NAME is that
/// of the recipe's folder. What is finished is not done again: call it once more after whatever stopped it, and the
/// result has the same bytes.
#[derive(Debug, clap::Args)]
pub(crate) struct PrepareArgs {
    /// The recipe: a folder with `data.toml`
    recipe: PathBuf,
    /// Where the data go, in a folder with the recipe's name
    #[arg(long, env = "UMLAUT_DATA", default_value = ".")]
    data: PathBuf,
    /// Where archives are looked for first: the address, or the folder here, that has them; may be given again
    #[arg(long = "mirror", value_name = "URL_PREFIX")]
    mirrors: Vec<String>,
    /// Failures in a row after which the next address is tried
    #[arg(long, value_name = "N", default_value_t = 8)]
    retries: u32,
    /// Seconds that a server may be silent
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Threads [default: one for each core]; they do not change the result
    #[arg(long)]
    threads: Option<usize>,
    /// Say nothing but warnings and errors, and the summary at the end
    #[arg(long)]
    quiet: bool,
}

pub(crate) fn run(args: &PrepareArgs) -> Result<()> {
    let recipe = args.recipe.canonicalize().with_context(|| args.recipe.display().to_string())?;
    let recipe = if recipe.is_dir() { recipe } else { recipe.join("..").canonicalize()? };
    let folder = args.data.join(recipe.file_name().context("the recipe's folder has no name")?);
    let options = DownloadOptions {
        mirrors: args.mirrors.clone(),
        retries: args.retries,
        timeout: Duration::from_secs(args.timeout),
    };
    let pool = ThreadPoolBuilder::new().num_threads(args.threads.unwrap_or(0)).build().context("--threads")?;
    let summary = pool.install(|| prepare::run(&recipe, &folder, &options, Voice::new(args.quiet)))?;
    println!("{summary}");
    Ok(())
}
