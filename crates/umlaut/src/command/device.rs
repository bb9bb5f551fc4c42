//! `umlaut device`: a device held against the processor, and measured.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Distribution, ElementConversion, Tensor};
use umlaut_model::ops::CpuAutodiff;
use umlaut_model::{FusedOps, Precision};
use umlaut_train::Recipe;
use umlaut_train::bench::{BenchShape, time_decoding, time_updates};
use umlaut_train::compare::compare;
use umlaut_train::group::{Members, OnHost, Solo, Summation};

#[cfg(feature = "cuda")]
use crate::device::{self, Cuda};
use crate::device::{Device, DeviceName};

/// Sentences that are decoded together.
const ROWS: usize = 64;
/// Differences that are allowed. A device may multiply f32 with 11 bits (TF32), and bf16 has 8.
const BOUNDS: [(Precision, &str, f64); 2] = [(Precision::F32, "f32", 5e-3), (Precision::Bf16, "bf16", 5e-2)];

/// Check a device against the processor, and measure it
///
/// Prints a table. Exit code 1: some difference is larger than its bound; 2: the device cannot be used.
#[derive(clap::Args)]
pub(crate) struct DeviceArgs {
    /// The recipe whose model and batches are timed, in bf16: a folder with `recipe.toml`
    recipe: PathBuf,
    /// What is checked: `cuda`, `cuda:N`, or `cpu` against itself
    #[arg(long, default_value_t = DeviceName::Cuda(0))]
    device: DeviceName,
    /// Updates, and steps of decoding, that are timed
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    steps: u16,
    /// The most operations in bf16 that the device can make, in 10^12 a second; an H200's are the default
    #[arg(long, default_value_t = 989.0)]
    peak_tflops: f64,
}

/// A device computes something else than the processor: the table is printed nevertheless.
#[derive(Debug)]
pub(crate) struct Differs {
    count: usize,
}

impl std::error::Error for Differs {}

impl fmt::Display for Differs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "differences from the processor that are larger than their bound: {}", self.count)
    }
}

pub(crate) fn run(args: &DeviceArgs) -> Result<()> {
    match args.device.open()? {
        Device::Cpu(device) => report::<CpuAutodiff>(args, Box::<OnHost>::default(), &device),
        #[cfg(feature = "cuda")]
        Device::Cuda(device) => report::<Cuda>(args, device::summation(&mut Solo, &device)?, &device),
    }
}

fn report<B>(args: &DeviceArgs, summation: Box<dyn Summation<B::InnerBackend>>, device: &B::Device) -> Result<()>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let mut recipe = Recipe::open(&args.recipe)?;
    recipe.model.precision = Precision::Bf16;
    println!("| {} | found | bound |\n| --- | --: | --: |", args.device);
    let beyond = differences::<B>(device)? + summing(summation, device);
    training::<B>(&recipe, args, device)?;
    decoding::<B>(&recipe, args, device)?;
    println!("| memory of the device, MiB | {} | |", memory_mib().unwrap_or_else(|| "unknown".into()));
    if beyond == 0 { Ok(()) } else { Err(Differs { count: beyond }.into()) }
}

/// Prints how far the device is from the processor, and counts what is too far.
fn differences<B>(device: &B::Device) -> Result<usize>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let mut beyond = 0;
    for (precision, name, bound) in BOUNDS {
        let found = compare::<B>(precision, device)?;
        let gradient = format!("gradient, the worst of {}: {}", found.gradients, found.parameter);
        for (what, difference) in [("logits", found.logits), ("loss", found.loss), (gradient.as_str(), found.gradient)]
        {
            println!("| relative difference in {name}: {what} | {difference:.1e} | {bound:.0e} |");
            // NaN is beyond every bound.
            beyond += usize::from(!matches!(difference.partial_cmp(&bound), Some(std::cmp::Ordering::Less)));
        }
    }
    Ok(beyond)
}

/// Prints how far the sum of a lone member's gradients is from them, and counts it if it is not them.
fn summing<B: Backend>(mut summation: Box<dyn Summation<B>>, device: &B::Device) -> usize {
    let gradients = [7, 512, 1 << 20].map(|len| Tensor::random([len], Distribution::Default, device));
    let sums = summation.sum(&mut Solo, gradients.to_vec());
    let far = gradients.into_iter().zip(sums).map(|(gradient, sum)| (gradient - sum).abs().max().into_scalar().elem());
    // NaN is the farthest of all.
    let farthest: f64 = far.max_by(f64::total_cmp).unwrap_or_default();
    println!("| difference of gradients from their sum over one member ({summation:?}) | {farthest:.1e} | 0 |");
    usize::from(farthest != 0.0)
}

fn training<B>(recipe: &Recipe, args: &DeviceArgs, device: &B::Device) -> Result<()>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let shape = BenchShape::of(recipe, args.steps.into());
    let seconds = median(time_updates::<B>(&recipe.model, shape, Members::solo(), device)?.seconds);
    let rate = shape.flops(&recipe.model) / seconds;
    println!(
        "| training, target tokens/s at {} an update | {:.0} | |",
        shape.tokens(),
        shape.tokens() as f64 / seconds
    );
    println!("| operations in its matrix products, 10^12/s | {:.2} | |", rate / 1e12);
    let share = 100.0 * rate / (args.peak_tflops * 1e12);
    println!("| model FLOP utilisation, % of {} x 10^12/s | {share:.2} | |", args.peak_tflops);
    Ok(())
}

fn decoding<B>(recipe: &Recipe, args: &DeviceArgs, device: &B::Device) -> Result<()>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    let shape = BenchShape { accumulate: 1, batch: ROWS, ..BenchShape::of(recipe, args.steps.into()) };
    let seconds = time_decoding::<B::InnerBackend>(&recipe.model, shape, device)?;
    println!("| greedy decoding of {ROWS} sentences, tokens/s | {:.0} | |", ROWS as f64 / median(seconds));
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// What this process has of a device's memory, as the driver's tool tells.
fn memory_mib() -> Option<String> {
    let query = ["--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"];
    let output = Command::new("nvidia-smi").args(query).output().ok()?;
    let process = std::process::id().to_string();
    let text = String::from_utf8_lossy(&output.stdout);
    let mut lines = text.lines().filter_map(|line| line.split_once(','));
    lines.find(|(pid, _)| pid.trim() == process).map(|(_, mib)| mib.trim().to_owned())
}
