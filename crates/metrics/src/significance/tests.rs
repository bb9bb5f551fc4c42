//! The formulas against sacreBLEU's on draws that both are given, and what a seed promises.

use std::num::NonZeroUsize;

use serde_json::Value;

use super::*;
use crate::{Bleu, Chrf, Corpus, Ter};

const SYSTEM: &str = include_str!("../../tests/golden/system.txt");
const BASELINE: &str = include_str!("../../tests/golden/baseline.txt");
const REFERENCE: &str = include_str!("../../tests/golden/reference.a.txt");
const DRAWS: &str = include_str!("../../tests/golden/draws.json");

fn metrics() -> [Metric; 3] {
    [Metric::Bleu(Bleu::default()), Metric::Chrf(Chrf::plus_plus()), Metric::Ter(Ter::default())]
}

fn statistics(metric: &Metric, text: &str) -> Statistics {
    let lines = |text: &str| text.split_terminator('\n').map(str::to_owned).collect::<Vec<_>>();
    metric.statistics(&Corpus::new(&lines(text), &[&lines(REFERENCE)]).unwrap()).unwrap()
}

fn resampling(samples: usize, seed: u64) -> Resampling {
    Resampling { samples: NonZeroUsize::new(samples).unwrap(), seed }
}

fn numbers(value: &Value) -> Vec<Vec<usize>> {
    let row = |row: &Value| row.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    value.as_array().unwrap().iter().map(row).collect()
}

fn assert_close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() < 1e-9, "{what}: {ours} instead of {theirs}");
}

#[test]
fn the_formulas_are_those_of_sacrebleu_for_the_same_draws() {
    let golden: Value = serde_json::from_str(DRAWS).unwrap();
    let (draws, coins) = (numbers(&golden["draws"]), numbers(&golden["coins"]));
    for (metric, expected) in metrics().iter().zip(golden["outcomes"].as_array().unwrap()) {
        let (system, baseline) = (statistics(metric, SYSTEM), statistics(metric, BASELINE));
        let interval =
            Interval::of(draws.iter().map(|draw| metric.value_of(&system.total_of(draw.iter().copied()))).collect());
        assert_close(interval.mean, &expected["mean"], "mean");
        assert_close(interval.half_width, &expected["half_width"], "half width");

        let bootstrap = paired_bootstrap(metric, &system, &baseline, draws.iter().cloned());
        assert_close(bootstrap.difference, &expected["difference"], "difference");
        assert_close(bootstrap.p_value, &expected["bootstrap_p"], "bootstrap p");

        let trials = coins.iter().map(|trial| trial.iter().map(|&coin| coin == 1).collect());
        let randomization = approximate_randomization(metric, &system, &baseline, trials);
        assert_close(randomization.p_value, &expected["randomization_p"], "randomization p");
    }
}

#[test]
fn a_seed_fixes_every_figure() {
    for metric in metrics() {
        let (system, baseline) = (statistics(&metric, SYSTEM), statistics(&metric, BASELINE));
        let interval = |seed| confidence(&metric, &system, resampling(50, seed));
        assert_eq!(interval(1), interval(1));
        assert_ne!(interval(1), interval(2));
        for test in [PairedTest::Bootstrap, PairedTest::ApproximateRandomization] {
            let outcome = || compare(&metric, &system, &baseline, test, resampling(50, 9)).unwrap();
            assert_eq!(outcome(), outcome());
        }
    }
}

#[test]
fn swapping_the_two_systems_changes_only_the_sign() {
    for metric in metrics() {
        let (system, baseline) = (statistics(&metric, SYSTEM), statistics(&metric, BASELINE));
        for test in [PairedTest::Bootstrap, PairedTest::ApproximateRandomization] {
            let forth = compare(&metric, &system, &baseline, test, resampling(200, 5)).unwrap();
            let back = compare(&metric, &baseline, &system, test, resampling(200, 5)).unwrap();
            assert!((forth.difference + back.difference).abs() < 1e-12);
            assert!((forth.p_value - back.p_value).abs() < 1e-12);
        }
    }
}

#[test]
fn systems_of_different_test_sets_are_not_compared() {
    let metric = Metric::Bleu(Bleu::default());
    let one = |text: &str| {
        let lines = vec![text.to_owned(); text.len()];
        metric.statistics(&Corpus::new(&lines, &[&lines]).unwrap()).unwrap()
    };
    let refusal = compare(&metric, &one("ab"), &one("abc"), PairedTest::Bootstrap, resampling(1, 1)).unwrap_err();
    assert_eq!(refusal, MetricError::SystemLines { system: 2, baseline: 3 });
}
