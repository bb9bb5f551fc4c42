//! Project tasks, run as `cargo xtask TASK`.
//!
//! Exit codes: 0 all is well, 1 something was found wrong, 2 the task could not run.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::workspace::Workspace;

mod check;
mod demo;
mod golden;
mod gpu;
mod table;
mod tidy;
mod tool;
mod workspace;

/// Tasks of the Umlaut project.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
enum Task {
    /// Run the whole of CI in CI's order: format, clippy, tests, docs, tidy
    Check,
    /// Build `translate` and show a few translations by the built-in model
    Demo,
    /// Check what compiler and clippy do not: arrows between crates, names, lengths, checksums, the README's table
    Tidy,
    /// Run the scripts behind the golden fixtures again and say what changed
    Golden {
        /// Only those of this folder of crates/
        #[arg(value_name = "CRATE")]
        only: Option<String>,
    },
    /// Hold one of NVIDIA's devices against the processor and measure it; keeps the table as gpu.md in the build folder
    Gpu {
        /// An `umlaut` that was built with the feature `cuda` [default: the release build]
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    /// Write the README's table of figures from eval/table.toml
    Table {
        /// Write nothing: verify that the README is current, and reach the figures again by `umlaut table`
        #[arg(long)]
        check: bool,
        /// Directory of the test sets named in eval/testsets.toml [default: $UMLAUT_DATA]
        #[arg(long, value_name = "DIR", requires = "check")]
        data: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(Verdict::Good) => ExitCode::SUCCESS,
        Ok(Verdict::Faulty) => ExitCode::from(1),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The data directory named by the environment variable `UMLAUT_DATA`.
fn data_from_environment() -> Option<PathBuf> {
    std::env::var_os("UMLAUT_DATA").map(PathBuf::from)
}

/// What a task that ran to its end has to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is wrong.
    Good,
    /// Something is wrong, and has been printed.
    Faulty,
}

fn run(task: Task) -> Result<Verdict> {
    let workspace = Workspace::find()?;
    match task {
        Task::Check => check::run(&workspace),
        Task::Demo => demo::run(&workspace),
        Task::Tidy => tidy::run(&workspace),
        Task::Golden { only } => golden::run(&workspace, only.as_deref()),
        Task::Gpu { program } => gpu::run(&workspace, program.as_deref()),
        Task::Table { check: false, .. } => table::write(&workspace),
        Task::Table { check: true, data } => table::check(&workspace, data.or_else(data_from_environment).as_deref()),
    }
}
