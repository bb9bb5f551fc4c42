//! Two systems trained from several seeds each: what a seed is worth, and what the difference of the systems is.
//!
//! A test set can say how sure a difference between two models is, not between two ways of training them: another seed is
//! another model. So there are two answers here. Over the seeds, Student's t-test of the paired differences, which share
//! a seed and so the order of the data; over the lines, the paired bootstrap of the difference of the means.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::error::MetricError;
use crate::metric::Metric;
use crate::resample::{Generator, Resampling};
use crate::significance::{central, mean, null_hypothesis, p_value};
use crate::statistics::Statistics;

/// The scores of one system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Runs {
    /// One for each seed.
    pub scores: Vec<f64>,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, √(Σ (x - mean)² / (n - 1)).
    pub deviation: f64,
}

impl Runs {
    fn of(scores: Vec<f64>) -> Self {
        let mean = mean(&scores);
        let squares: f64 = scores.iter().map(|score| (score - mean).powi(2)).sum();
        let deviation = (squares / (scores.len() - 1) as f64).sqrt();
        Self { scores, mean, deviation }
    }
}

/// Where 95 % of the differences lie, and how often chance alone makes a larger one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Two-sided.
    pub p_value: f64,
}

/// A system against a baseline over several seeds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedComparison {
    /// The system.
    pub system: Runs,
    /// The baseline, its seeds in the same order.
    pub baseline: Runs,
    /// Mean of the system less mean of the baseline.
    pub difference: f64,
    /// Over the seeds: mean(d) ± t(0.975; n - 1) s/√n of the differences d of a seed, and the paired t-test.
    pub over_seeds: Range,
    /// Over the lines: the central 95 % of bootstrap samples, and the paired bootstrap.
    pub over_lines: Range,
}

/// Compares the runs of a system with those of a baseline, seed by seed, from the statistics that `metric` made.
///
/// # Errors
/// If there are fewer than two runs of each, not as many of one as of the other, or their numbers of lines differ.
pub fn compare_seeds(
    metric: &Metric,
    system: &[Statistics],
    baseline: &[Statistics],
    resampling: Resampling,
) -> Result<SeedComparison, MetricError> {
    if system.len() != baseline.len() || system.len() < 2 {
        return Err(MetricError::Seeds { system: system.len(), baseline: baseline.len() });
    }
    let lines = system[0].lines();
    if let Some(other) = system.iter().chain(baseline).find(|statistics| statistics.lines() != lines) {
        return Err(MetricError::SystemLines { system: lines, baseline: other.lines() });
    }
    let scores =
        |runs: &[Statistics]| Runs::of(runs.iter().map(|statistics| metric.value_of(&statistics.total())).collect());
    let (of_system, of_baseline) = (scores(system), scores(baseline));
    let by_seed = of_system.scores.iter().zip(&of_baseline.scores).map(|(system, baseline)| system - baseline);
    let over_seeds = students_t(&Runs::of(by_seed.collect()));
    let mean_of = |runs: &[Statistics], draw: &[usize]| {
        let values = runs.iter().map(|statistics| metric.value_of(&statistics.total_of(draw.iter().copied())));
        values.sum::<f64>() / runs.len() as f64
    };
    let mut generator = Generator::new(resampling.seed);
    let draws = (0..resampling.samples.get()).map(|_| generator.draw(lines));
    let sampled = draws.map(|draw| mean_of(system, &draw) - mean_of(baseline, &draw)).collect();
    let difference = of_system.mean - of_baseline.mean;
    let over_lines = bootstrap(sampled, difference);
    Ok(SeedComparison { system: of_system, baseline: of_baseline, difference, over_seeds, over_lines })
}

/// The interval and the two-sided p-value of paired differences. Differences that are all the same leave no doubt: their
/// p-value is 0, or 1 where they are 0.
fn students_t(differences: &Runs) -> Range {
    let Runs { scores, mean, deviation } = differences;
    let count = scores.len() as f64;
    let t = StudentsT::new(0.0, 1.0, count - 1.0).expect("there are two seeds or more");
    let error = deviation / count.sqrt();
    let half_width = t.inverse_cdf(0.975) * error;
    let p_value = if *mean == 0.0 { 1.0 } else { 2.0 * t.sf(mean.abs() / error) };
    Range { low: mean - half_width, high: mean + half_width, p_value }
}

/// The central 95 % of `sampled` differences, and the test of [`compare`](crate::compare).
fn bootstrap(mut sampled: Vec<f64>, difference: f64) -> Range {
    let [low, high] = central(&mut sampled);
    let sizes: Vec<f64> = sampled.iter().map(|difference| difference.abs()).collect();
    Range { low, high, p_value: p_value(null_hypothesis(&sizes), difference.abs()) }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::{Corpus, PairedTest, compare};

    fn resampling() -> Resampling {
        Resampling { samples: NonZeroUsize::new(400).unwrap(), seed: 5 }
    }

    fn statistics(metric: &Metric, hypotheses: &[&str]) -> Statistics {
        let hypotheses: Vec<String> = hypotheses.iter().map(|line| (*line).to_owned()).collect();
        let references = ["der Hund bellt laut", "die Katze schläft", "das Haus ist alt"].map(str::to_owned);
        metric.statistics(&Corpus::new(&hypotheses, &[&references]).unwrap()).unwrap()
    }

    /// t = 3.4641 with two degrees of freedom: p = 1 - t/√(2 + t²) = 0.0742 and the quantile 4.3027, as in every table.
    #[test]
    fn students_t_is_that_of_the_tables() {
        let range = students_t(&Runs::of(vec![1.0, 2.0, 3.0]));
        assert!((range.p_value - 0.074_18).abs() < 1e-5, "{range:?}");
        assert!((range.high - 2.0 - 4.302_653 / 3.0_f64.sqrt()).abs() < 1e-5, "{range:?}");
        assert!((range.low + range.high - 4.0).abs() < 1e-12, "{range:?}");
    }

    #[test]
    fn seeds_that_agree_leave_no_doubt() {
        assert_eq!(students_t(&Runs::of(vec![0.5, 0.5])), Range { low: 0.5, high: 0.5, p_value: 0.0 });
        assert_eq!(students_t(&Runs::of(vec![0.0, 0.0])), Range { low: 0.0, high: 0.0, p_value: 1.0 });
    }

    #[test]
    fn over_the_lines_two_equal_seeds_are_one() {
        let metric: Metric = "chrf".parse().unwrap();
        let system = statistics(&metric, &["der Hund bellt", "die Katze schläft", "ein Haus ist alt"]);
        let baseline = statistics(&metric, &["ein Hund", "die Katze schlief", "ein Haus ist neu"]);
        let twice = |one: &Statistics| [one.clone(), one.clone()];
        let found = compare_seeds(&metric, &twice(&system), &twice(&baseline), resampling()).unwrap();
        let alone = compare(&metric, &system, &baseline, PairedTest::Bootstrap, resampling()).unwrap();
        assert!((found.difference - alone.difference).abs() < 1e-9, "{found:?} {alone:?}");
        assert!((found.over_lines.p_value - alone.p_value).abs() < 1e-9, "{found:?} {alone:?}");
        assert!(found.over_lines.low < found.difference && found.difference < found.over_lines.high, "{found:?}");
        assert!(found.system.deviation.abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn seeds_come_in_pairs() {
        let metric: Metric = "chrf".parse().unwrap();
        let one = statistics(&metric, &["a", "b", "c"]);
        let two = [one.clone(), one.clone()];
        let error = |system: &[Statistics], baseline: &[Statistics]| {
            compare_seeds(&metric, system, baseline, resampling()).unwrap_err().to_string()
        };
        assert_eq!(error(&two[..1], &two[..1]), "seeds are compared in pairs, two at least: 1 against 1");
        assert_eq!(error(&two, &two[..1]), "seeds are compared in pairs, two at least: 2 against 1");
        let shorter = [one.select(&[0]), one];
        assert!(error(&two, &shorter).contains('3'), "{}", error(&two, &shorter));
    }
}
