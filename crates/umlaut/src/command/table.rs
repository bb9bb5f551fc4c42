//! `umlaut table`: reaches the figures of `eval/table.toml` again and writes them as Markdown, JSON and a page.

use std::fmt;
use std::fs;
use std::io::{Write, stdout};
use std::num::{NonZero, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use umlaut_metrics::PairedTest;

use crate::table::{Judge, Workplace, build};

const DETAILS: &str = "\
Call it in the root of the checkout. A row is scored if its model or output is kept there and its test set is at hand: \
eval/testsets.toml says where below DIR each file lies (plain, or as FILE.gz) and which checksum it has. Rows that were \
not run say so, and others say what is missing. A test set with another checksum stops everything.

OUT then holds table.md, table.json, table.html (one page with plots) and the translations, RECIPE.TEST_SET.de; those of \
a study's inputs of N joined lines are RECIPE.TEST_SET.joinN.de.

Exit status: 0 every figure is the listed one; 1 some are others, which stderr names; 2 could not run.";

/// Translate and score every row of eval/table.toml that can be, beside what others published
#[derive(Debug, clap::Args)]
#[command(after_help = DETAILS)]
pub(crate) struct TableArgs {
    /// Only these rows: a recipe, a test set, or RECIPE@TEST_SET
    #[arg(value_name = "ROW")]
    rows: Vec<String>,
    /// The test sets; without it nothing is scored
    #[arg(long, value_name = "DIR", env = "UMLAUT_DATA")]
    data: Option<PathBuf>,
    /// A new folder for the table and the translations [default: the Markdown goes to standard output]
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// The paired test between rows: bs (bootstrap) or ar (approximate randomisation)
    #[arg(long, default_value_t = PairedTest::Bootstrap)]
    test: PairedTest,
    /// Seed of the resampling
    #[arg(long, default_value_t = 12345)]
    seed: u64,
    /// Samples of intervals and tests [default: 1000, and 10000 for ar]
    #[arg(long)]
    samples: Option<NonZeroUsize>,
    /// Threads that translate [default: one for each processor]; they change no figure
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
}

/// Figures are not the listed ones: the table is written nevertheless.
#[derive(Debug)]
pub(crate) struct Differs {
    count: usize,
}

impl std::error::Error for Differs {}

impl fmt::Display for Differs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "figures that are not those of {}: {}", umlaut_ledger::PATH, self.count)
    }
}

/// Writes the table, and says on stderr what is being translated.
pub(crate) fn run(args: &TableArgs) -> Result<()> {
    if let Some(folder) = &args.output {
        ensure!(is_free(folder), "{} is there already: name a new folder", folder.display());
    }
    let judge = Judge {
        interval: PairedTest::Bootstrap.resampling(args.samples, args.seed),
        test: args.test,
        trials: args.test.resampling(args.samples, args.seed),
    };
    let workplace = Workplace { root: PathBuf::new(), data: args.data.clone(), threads: args.threads, judge };
    let outputs = build(&workplace, &args.rows)?;
    match &args.output {
        Some(folder) => outputs.write(folder)?,
        None => stdout().write_all(outputs.markdown().as_bytes())?,
    }
    let differences = outputs.differences();
    for difference in &differences {
        eprintln!("table: {difference}");
    }
    if differences.is_empty() { Ok(()) } else { Err(Differs { count: differences.len() }.into()) }
}

/// Whether a folder can be written there without touching anything.
fn is_free(folder: &Path) -> bool {
    fs::read_dir(folder).map_or(!folder.exists(), |mut entries| entries.next().is_none())
}
