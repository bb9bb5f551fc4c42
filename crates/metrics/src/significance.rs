//! How far a figure can be trusted: bootstrap intervals for one system, paired tests for two (Koehn, 2004, "Statistical
//! Significance Tests for Machine Translation Evaluation"; Riezler and Maxwell, 2005), by sacreBLEU's formulas.
//!
//! Every metric and both systems see the same draws, since each computation starts the generator anew from the seed.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use serde::Serialize;

use crate::error::MetricError;
use crate::metric::Metric;
use crate::resample::{Generator, Resampling};
use crate::statistics::{Statistics, add};

/// A bootstrap estimate: the mean over the samples and half the width of the central 95 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Mean score of the samples.
    pub mean: f64,
    /// Half the distance between the 2.5 % and the 97.5 % quantile.
    pub half_width: f64,
}

impl Interval {
    fn of(mut scores: Vec<f64>) -> Self {
        let [low, high] = central(&mut scores);
        Self { mean: mean(&scores), half_width: 0.5 * (high - low) }
    }
}

/// The ends of the central 95 %: sorted scores x_0 <= ... <= x_(n-1), k = n div 40: x_k and x_(n-1-k). Sorts them.
pub(crate) fn central(scores: &mut [f64]) -> [f64; 2] {
    scores.sort_by(f64::total_cmp);
    let tail = scores.len() / 40;
    [scores[tail], scores[scores.len() - 1 - tail]]
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "μ = {:.decimals$} ± {:.decimals$}", self.mean, self.half_width)
    }
}

/// Which test a comparison of two systems uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PairedTest {
    /// Paired bootstrap resampling: score both systems on lines drawn with replacement.
    Bootstrap,
    /// Paired approximate randomisation: swap the systems' lines at random.
    ApproximateRandomization,
}

impl PairedTest {
    /// Draws for this test from `seed`; without a number of `samples`, as many as sacreBLEU takes: 1000 for the bootstrap,
    /// 10,000 trials for approximate randomisation.
    #[must_use]
    pub fn resampling(self, samples: Option<NonZeroUsize>, seed: u64) -> Resampling {
        let usual = match self {
            Self::Bootstrap => const { NonZeroUsize::new(1000).expect("positive") },
            Self::ApproximateRandomization => const { NonZeroUsize::new(10_000).expect("positive") },
        };
        Resampling { samples: samples.unwrap_or(usual), seed }
    }

    /// The key in the signature, and the name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bootstrap => "bs",
            Self::ApproximateRandomization => "ar",
        }
    }
}

impl fmt::Display for PairedTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PairedTest {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self, MetricError> {
        let known = [Self::Bootstrap, Self::ApproximateRandomization].into_iter().find(|test| test.name() == name);
        known.ok_or_else(|| MetricError::UnknownTest(name.to_owned()))
    }
}

/// The outcome of a paired test of a system against a baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    /// The baseline's score.
    pub baseline: f64,
    /// System score minus baseline score.
    pub difference: f64,
    /// How often chance alone makes a difference larger than this one, two-sided: (c + 1) / (n + 1), c being how many of
    /// n simulated differences exceed the observed one. As in sacreBLEU the excess is strict, so two systems that agree
    /// in every line get the smallest value there is: read nothing into it where `difference` is 0.
    pub p_value: f64,
}

impl Comparison {
    /// Weighs the observed difference of two systems against `simulated` absolute differences.
    fn of(metric: &Metric, system: &Statistics, baseline: &Statistics, simulated: impl Iterator<Item = f64>) -> Self {
        let baseline = metric.value_of(&baseline.total());
        let difference = metric.value_of(&system.total()) - baseline;
        Self { baseline, difference, p_value: p_value(simulated, difference.abs()) }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = f.precision().unwrap_or(2);
        write!(f, "baseline = {:.decimals$} ", self.baseline)?;
        if self.difference == 0.0 { write!(f, "no difference") } else { write!(f, "p = {:.4}", self.p_value) }
    }
}

/// The bootstrap interval of a system under `metric`, from the `statistics` that `metric` made.
#[must_use]
pub fn confidence(metric: &Metric, statistics: &Statistics, resampling: Resampling) -> Interval {
    let mut generator = Generator::new(resampling.seed);
    let draws = (0..resampling.samples.get()).map(|_| generator.draw(statistics.lines()));
    Interval::of(draws.map(|draw| metric.value_of(&statistics.total_of(draw))).collect())
}

/// Compares two systems on the same test set under `metric`, from the statistics that `metric` made of them.
///
/// # Errors
/// If the systems have different numbers of lines.
pub fn compare(
    metric: &Metric,
    system: &Statistics,
    baseline: &Statistics,
    test: PairedTest,
    resampling: Resampling,
) -> Result<Comparison, MetricError> {
    let lines = system.lines();
    if lines != baseline.lines() {
        return Err(MetricError::SystemLines { system: lines, baseline: baseline.lines() });
    }
    let mut generator = Generator::new(resampling.seed);
    let samples = 0..resampling.samples.get();
    Ok(match test {
        PairedTest::Bootstrap => paired_bootstrap(metric, system, baseline, samples.map(|_| generator.draw(lines))),
        PairedTest::ApproximateRandomization => {
            approximate_randomization(metric, system, baseline, samples.map(|_| generator.coins(lines)))
        }
    })
}

/// The paired bootstrap over given draws of line numbers.
fn paired_bootstrap(
    metric: &Metric,
    system: &Statistics,
    baseline: &Statistics,
    draws: impl Iterator<Item = Vec<usize>>,
) -> Comparison {
    let value = |statistics: &Statistics, draw: &[usize]| metric.value_of(&statistics.total_of(draw.iter().copied()));
    let differences: Vec<f64> = draws.map(|draw| (value(system, &draw) - value(baseline, &draw)).abs()).collect();
    Comparison::of(metric, system, baseline, null_hypothesis(&differences))
}

/// The paired bootstrap's: with d the absolute difference in each sample, it is simulated by d - mean(d).
pub(crate) fn null_hypothesis(differences: &[f64]) -> impl Iterator<Item = f64> {
    let center = mean(differences);
    differences.iter().map(move |difference| difference - center)
}

/// Approximate randomisation over given coins: where the coin of a line is true, the two systems swap that line.
fn approximate_randomization(
    metric: &Metric,
    system: &Statistics,
    baseline: &Statistics,
    trials: impl Iterator<Item = Vec<bool>>,
) -> Comparison {
    let differences = trials.map(|coins| {
        let (one, other) = swapped_totals(system, baseline, &coins);
        (metric.value_of(&one) - metric.value_of(&other)).abs()
    });
    Comparison::of(metric, system, baseline, differences)
}

/// The column sums of both systems after the swaps.
fn swapped_totals(system: &Statistics, baseline: &Statistics, coins: &[bool]) -> (Vec<f64>, Vec<f64>) {
    let mut one = system.total_of([]);
    let mut other = one.clone();
    for (line, &swap) in coins.iter().enumerate() {
        let (to_system, to_baseline) = if swap { (&mut other, &mut one) } else { (&mut one, &mut other) };
        add(to_system, system.row(line));
        add(to_baseline, baseline.row(line));
    }
    (one, other)
}

/// (c + 1) / (n + 1), c being how many of the n simulated differences exceed the observed one.
pub(crate) fn p_value(simulated: impl Iterator<Item = f64>, observed: f64) -> f64 {
    let (mut larger, mut samples) = (0_usize, 0_usize);
    for difference in simulated {
        samples += 1;
        larger += usize::from(difference > observed);
    }
    (larger + 1) as f64 / (samples + 1) as f64
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests;
