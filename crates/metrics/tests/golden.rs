//! Figures against Python's sacreBLEU 2.6.0; `golden/make.py` wrote them.

#![expect(clippy::unwrap_used, reason = "a broken fixture is to stop the test")]

use std::num::NonZeroUsize;

use serde_json::Value;
use umlaut_metrics::{
    Averaging, Bleu, Case, Chrf, Compounds, Corpus, Metric, PairedTest, Punctuation, Resampling, Score, Ter, compare,
    confidence,
};

const SYSTEM: &str = include_str!("golden/system.txt");
const BASELINE: &str = include_str!("golden/baseline.txt");
const REFERENCES: [&str; 2] = [include_str!("golden/reference.a.txt"), include_str!("golden/reference.b.txt")];
const GOLDEN: &str = include_str!("golden/golden.json");

fn golden(section: &str) -> Vec<Value> {
    let golden: Value = serde_json::from_str(GOLDEN).unwrap();
    golden[section].as_array().unwrap().clone()
}

fn lines(text: &str) -> Vec<String> {
    text.split_terminator('\n').map(str::to_owned).collect()
}

/// The reference streams named by `streams`, such as "ab".
fn references(streams: &Value) -> Vec<Vec<String>> {
    let index = |stream| usize::from(stream == 'b');
    streams.as_str().unwrap().chars().map(|stream| lines(REFERENCES[index(stream)])).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn size(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// The metric that a golden entry describes.
fn metric(entry: &Value) -> Metric {
    let flag = |key: &str| entry[key].as_bool().unwrap();
    let case = if flag("lowercase") { Case::Lower } else { Case::Mixed };
    match entry["metric"].as_str().unwrap() {
        "bleu" => Metric::Bleu(Bleu {
            tokenizer: entry["tokenize"].as_str().unwrap().parse().unwrap(),
            smoothing: entry["smooth"].as_str().unwrap().parse().unwrap(),
            case,
            compounds: Compounds::Whole,
        }),
        "chrf" => Metric::Chrf(Chrf {
            char_order: size(&entry["char_order"]),
            word_order: size(&entry["word_order"]),
            beta: u32::try_from(size(&entry["beta"])).unwrap(),
            averaging: if flag("every_order") { Averaging::EveryOrder } else { Averaging::EffectiveOrder },
            case,
        }),
        _ => Metric::Ter(Ter {
            case,
            punctuation: if flag("remove_punctuation") { Punctuation::Remove } else { Punctuation::Keep },
        }),
    }
}

/// The metric of the sections that use only defaults.
fn default_metric(name: &Value) -> Metric {
    match name.as_str().unwrap() {
        "BLEU" => Metric::Bleu(Bleu::default()),
        "chrF2++" => Metric::Chrf(Chrf::plus_plus()),
        _ => Metric::Ter(Ter::default()),
    }
}

/// A score line as sacreBLEU would print it.
fn as_sacrebleu(score: &Score) -> String {
    score.to_string().replace(&format!("version:umlaut-{}", env!("CARGO_PKG_VERSION")), "version:2.6.0")
}

#[test]
fn every_score_and_signature_is_that_of_sacrebleu() {
    let system = lines(SYSTEM);
    let entries = golden("scores");
    assert!(entries.len() > 300);
    for entry in entries {
        let part = size(&entry["part"][1])..size(&entry["part"][2]);
        let references = references(&entry["part"][0]);
        let references: Vec<&[String]> = references.iter().map(|stream| &stream[part.clone()]).collect();
        let score = metric(&entry).score(&Corpus::new(&system[part.clone()], &references).unwrap()).unwrap();
        assert_eq!(as_sacrebleu(&score), entry["printed"].as_str().unwrap(), "{entry}");
        assert!((score.score - number(&entry["score"])).abs() < 1e-9, "{} in {entry}", score.score);
    }
}

#[test]
fn the_statistics_of_each_line_are_those_of_sacrebleu() {
    let system = lines(SYSTEM);
    for entry in golden("statistics") {
        let references = references(&entry["references"]);
        let references: Vec<&[String]> = references.iter().map(Vec::as_slice).collect();
        let metric = default_metric(&entry["name"]);
        let statistics = metric.statistics(&Corpus::new(&system, &references).unwrap()).unwrap();
        let rows = entry["rows"].as_array().unwrap();
        assert_eq!(statistics.lines(), rows.len());
        for (line, row) in rows.iter().enumerate() {
            let row: Vec<f64> = row.as_array().unwrap().iter().map(number).collect();
            assert_eq!(statistics.row(line), row, "{} line {}", entry["name"], line + 1);
        }
    }
}

/// Four standard errors of the difference between two estimates of a share from `samples` draws each.
fn tolerance(share: f64, samples: usize) -> f64 {
    4.0 * (2.0 * share * (1.0 - share) / samples as f64).sqrt() + 2.0 / samples as f64
}

#[test]
fn intervals_and_p_values_agree_with_sacrebleu_within_monte_carlo_error() {
    let (system, baseline) = (lines(SYSTEM), lines(BASELINE));
    for entry in golden("significance") {
        let references = references(&entry["references"]);
        let references: Vec<&[String]> = references.iter().map(Vec::as_slice).collect();
        let metric = default_metric(&entry["name"]);
        let statistics = |lines| metric.statistics(&Corpus::new(lines, &references).unwrap()).unwrap();
        let (system, baseline) = (statistics(&system), statistics(&baseline));
        let resampling = Resampling { samples: NonZeroUsize::new(size(&entry["samples"])).unwrap(), seed: 12345 };

        let interval = confidence(&metric, &system, resampling);
        let (mean, half_width) = (number(&entry["mean"]), number(&entry["half_width"]));
        // Four standard errors for a normal distribution: 0.09 and 0.17 half widths.
        assert!((interval.mean - mean).abs() < 0.09 * half_width, "{interval} against {entry}");
        assert!((interval.half_width - half_width).abs() < 0.17 * half_width, "{interval} against {entry}");
        let printed = metric.score_of(&system, 1).with_confidence(interval, resampling);
        let until_figure = |line: &str| line.split(" (μ").next().unwrap().to_owned();
        assert_eq!(until_figure(&as_sacrebleu(&printed)), until_figure(entry["printed"].as_str().unwrap()));

        for (test, key) in
            [(PairedTest::Bootstrap, "bootstrap_p"), (PairedTest::ApproximateRandomization, "randomization_p")]
        {
            let p_value = compare(&metric, &system, &baseline, test, resampling).unwrap().p_value;
            let expected = number(&entry[key]);
            assert!((p_value - expected).abs() < tolerance(expected, 1000), "{p_value} against {entry}");
        }
    }
}
