//! `umlaut train`: a run, new or resumed, and the speed of an update.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Result};
use burn::tensor::backend::AutodiffBackend;
use umlaut_model::FusedOps;
use umlaut_model::ops::CpuAutodiff;
use umlaut_train::bench::{BenchShape, Timing, time_updates};
use umlaut_train::exchange::Times;
use umlaut_train::group::{Group, Members};
use umlaut_train::log::Event;
use umlaut_train::trainer::{Changes, Folders};
use umlaut_train::{Outcome, Recipe, Trainer};

#[cfg(feature = "cuda")]
use crate::device::{self, Cuda};
use crate::device::{Device, DeviceName};

/// Train a model by a recipe.
#[derive(clap::Args)]
pub(crate) struct TrainArgs {
    /// The recipe: a folder with `recipe.toml`, or a file like it
    recipe: PathBuf,
    /// Where the recipe's data lies
    #[arg(long, env = "UMLAUT_DATA", default_value = ".")]
    data: PathBuf,
    /// Where checkpoints and log go [default: runs/ and the recipe's name]
    #[arg(long)]
    run: Option<PathBuf>,
    /// Go on from the run's newest checkpoint
    #[arg(long)]
    resume: bool,
    /// With --resume: take the recipe's new values where it differs from the run's
    #[arg(long = "override", requires = "resume")]
    take_changes: bool,
    /// Stop after this update instead of the recipe's last
    #[arg(long)]
    max_updates: Option<u64>,
    /// The seed of parameters, order and dropout, instead of the recipe's
    #[arg(long)]
    seed: Option<u64>,
    /// Threads [default: one for each core]
    #[arg(long)]
    threads: Option<usize>,
    /// What computes: `cpu`, or with the feature `cuda` NVIDIA's devices as `cuda` or `cuda:N`
    #[arg(long, default_value_t = DeviceName::Cpu)]
    device: DeviceName,
    /// Time this many updates of the recipe's model instead of training it
    #[arg(long, value_name = "N")]
    bench_steps: Option<usize>,
    /// Say nothing but errors
    #[arg(long)]
    quiet: bool,
}

/// Trains as a member of the MPI job that started this process, if one did. A member that fails says why and ends the
/// job, since the others would wait for it.
#[cfg(feature = "mpi")]
pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    let job = umlaut_train::group::mpi::Membership::join();
    let group = job.group();
    let (rank, size) = (group.rank(), group.size());
    let outcome = train(args, group);
    if let Err(error) = &outcome
        && size > 1
    {
        eprintln!("umlaut: process {rank} of {size}: {error:#}");
        job.abort();
    }
    outcome
}

/// Trains in this process alone.
#[cfg(not(feature = "mpi"))]
pub(crate) fn run(args: &TrainArgs) -> Result<()> {
    let others = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].iter().find_map(|name| std::env::var(name).ok());
    if let Some(size) = others.filter(|size| size != "1") {
        anyhow::bail!("started as one of {size} processes, but built without MPI: build with --features mpi");
    }
    train(args, Box::new(umlaut_train::group::Solo))
}

fn train(args: &TrainArgs, group: Box<dyn Group>) -> Result<()> {
    match args.device.open()? {
        Device::Cpu(device) => train_on::<CpuAutodiff>(args, Members::on_host(group), &device),
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => train_on::<Cuda>(args, device::members(group, &device)?, &device),
    }
}

fn train_on<B>(args: &TrainArgs, members: Members<B>, device: &B::Device) -> Result<()>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    if let Some(threads) = args.threads {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().context("--threads")?;
    }
    let mut recipe = Recipe::open(&args.recipe)?;
    recipe.run.max_updates = args.max_updates.unwrap_or(recipe.run.max_updates);
    recipe.seed = args.seed.unwrap_or(recipe.seed);
    if let Some(steps) = args.bench_steps {
        return bench::<B>(&recipe, steps, members, device);
    }
    let path = args.recipe.canonicalize()?;
    let is_folder = path.is_dir();
    let name = if is_folder { path.file_name() } else { path.file_stem() };
    let name = name.map(PathBuf::from).unwrap_or_default();
    let folders = Folders {
        recipe: if is_folder { args.recipe.clone() } else { args.recipe.with_file_name("") },
        data: args.data.clone(),
        run: args.run.clone().unwrap_or_else(|| PathBuf::from("runs").join(name)),
    };
    let last = recipe.run.max_updates;
    let is_first = members.group.rank() == 0;
    let mut trainer = if args.resume {
        let changes = if args.take_changes { Changes::Taken } else { Changes::Refused };
        Trainer::<B>::resume(recipe, &folders, changes, members, device)?
    } else {
        Trainer::<B>::new(recipe, &folders, members, device)?
    };
    let first = (trainer.state().update, trainer.state().elapsed_seconds);
    let mut report = Report { first, last, is_terminal: std::io::stderr().is_terminal(), quiet: args.quiet };
    let outcome = trainer.run(|event| report.show(event))?;
    if is_first && !args.quiet {
        let why = match outcome {
            Outcome::Finished => "finished",
            Outcome::OutOfPatience => "validation no longer improves",
        };
        eprintln!("{why} after update {}: {}", trainer.state().update, folders.run.display());
    }
    Ok(())
}

fn bench<B>(recipe: &Recipe, steps: usize, members: Members<B>, device: &B::Device) -> Result<()>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let (rank, size) = (members.group.rank(), members.group.size());
    let shape = BenchShape::of(recipe, steps);
    let Timing { mut seconds, exchange } = time_updates::<B>(&recipe.model, shape, members, device)?;
    if rank > 0 {
        return Ok(());
    }
    seconds.sort_by(f64::total_cmp);
    let tokens = shape.tokens() as f64;
    println!(
        "{} target tokens an update: {:.0} tokens/s at best, {:.0} at the median of {} updates",
        tokens,
        tokens / seconds[0],
        tokens / seconds[seconds.len() / 2],
        seconds.len()
    );
    if let Some(Times { waiting_seconds, summing_seconds }) = exchange {
        let mean = |sum: f64| sum / steps as f64;
        println!(
            "{:.3} s an update; of these {:.3} s to sum gradients over {size} processes, and {:.3} s of waiting for others",
            mean(seconds.iter().sum()),
            mean(summing_seconds),
            mean(waiting_seconds)
        );
    }
    Ok(())
}

/// What a person sees of a run.
struct Report {
    /// Update and seconds at which this start began.
    first: (u64, f64),
    last: u64,
    is_terminal: bool,
    quiet: bool,
}

impl Report {
    fn show(&mut self, event: &Event) {
        if self.quiet {
            return;
        }
        // On a terminal the updates share one line; elsewhere each is a line of its own.
        let (start, end) = if self.is_terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        match event {
            Event::Update { update, loss, learning_rate, tokens_per_second, elapsed_seconds, .. } => {
                let (before, seconds) = (self.first.0, elapsed_seconds - self.first.1);
                let left = seconds / (update - before).max(1) as f64 * (self.last - update) as f64;
                eprint!(
                    "{start}update {update}/{}  loss {loss:.4}  lr {learning_rate:.2e}  {tokens_per_second:.0} tokens/s  \
                     {} left{end}",
                    self.last,
                    duration(left)
                );
            }
            Event::Validation { update, loss, nll, bleu, .. } => {
                let perplexity = nll.exp();
                eprintln!(
                    "{start}update {update}  validation loss {loss:.4}  perplexity {perplexity:.3}  BLEU {bleu:.2}"
                );
            }
            Event::Estimate { update, seconds_left, tokens_per_second } => eprintln!(
                "{start}about {} for the {} updates to come, at {tokens_per_second:.0} target tokens a second",
                duration(*seconds_left),
                self.last - update
            ),
            Event::Skipped { update } => eprintln!("{start}update {update} skipped: not finite"),
        }
    }
}

/// Hours and minutes, or seconds where there are few.
pub(crate) fn duration(seconds: f64) -> String {
    let minutes = (seconds / 60.0) as u64;
    if minutes == 0 { format!("{seconds:.0} s") } else { format!("{} h {:02} min", minutes / 60, minutes % 60) }
}
