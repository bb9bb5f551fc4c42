//! `umlaut`: the workshop behind `translate`.

mod command;
mod device;
mod format;
mod prepare;
mod table;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The allocator keeps freed pages: a training step frees and takes the same large arrays again and again, and giving
/// them back to the system in between costs a fifth of the step.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Prepare, train, average, exchange, score and inspect English-German translation models.
#[derive(Parser)]
#[command(version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Prepare(command::prepare::PrepareArgs),
    /// Train a joint vocabulary on parallel text
    Vocab(command::vocab::VocabArgs),
    /// Learn from parallel text which tokens a translation can consist of
    Shortlist(command::shortlist::ShortlistArgs),
    /// Train a model by a recipe
    Train(command::train::TrainArgs),
    Device(command::device::DeviceArgs),
    /// Average checkpoints into one model
    Average(command::average::AverageArgs),
    /// Write a model for other toolkits, or as int8
    Export(command::export::ExportArgs),
    /// Read a model of another toolkit
    Import(command::import::ImportArgs),
    /// Score translations: BLEU, chrF, TER
    Score(command::score::ScoreArgs),
    /// Translate and score every row of eval/table.toml that can be, beside what others published
    Table(command::table::TableArgs),
    /// Show what a model is made of
    Info(command::info::InfoArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Prepare(args) => command::prepare::run(&args),
        Command::Vocab(args) => command::vocab::run(&args),
        Command::Shortlist(args) => command::shortlist::run(&args),
        Command::Train(args) => command::train::run(&args),
        Command::Device(args) => command::device::run(&args),
        Command::Average(args) => command::average::run(&args),
        Command::Export(args) => command::export::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Score(args) => command::score::run(&args),
        Command::Table(args) => command::table::run(&args),
        Command::Info(args) => command::info::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has read enough.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("umlaut: {error:#}");
            let differs = error.is::<command::table::Differs>() || error.is::<command::device::Differs>();
            ExitCode::from(if differs { 1 } else { 2 })
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let source = error.downcast_ref::<std::io::Error>();
    source.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
