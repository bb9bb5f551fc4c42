//! The figures of a run.

use std::collections::BTreeMap;
use std::fs;

use umlaut_translate::{Model, NeuralModel, Precision};

use crate::model::m0;
use crate::program::{mixed_lines, run, translate, with_m0};

/// Names and values; each line has one of each.
fn figures(stderr: &str) -> BTreeMap<&str, &str> {
    stderr.lines().map(|line| line.split_once(' ').map(|(name, value)| (name, value.trim())).unwrap()).collect()
}

#[test]
fn lines_and_tokens_are_counted_and_rates_follow_from_them() {
    let input = format!("{}\n \n", mixed_lines(50));
    let run = translate(["--throughput", "--quiet", "--threads", "2", "--precision", "int8"], input.as_bytes());
    let figures = figures(&run.stderr);
    assert_eq!((run.code, figures["lines"], figures["sentences"], figures["threads"]), (Some(0), "52", "50", "2"));
    assert_eq!(figures["arithmetic"], "int8");
    assert!(["portable", "avx2", "avxvnni", "avx512", "amx"].contains(&figures["instruction_set"]), "{}", run.stderr);
    let model = NeuralModel::open(m0(), Precision::F32).unwrap();
    let tokens: usize =
        input.lines().map(|line| model.encode(line).len()).filter(|&len| len > 0).map(|len| len + 1).sum();
    assert_eq!(figures["src_tokens"], tokens.to_string(), "end marks counted");
    let number = |name: &str| figures[name].parse::<f64>().unwrap();
    assert!(number("tgt_tokens") >= 100.0);
    for count in ["sentences", "src_tokens", "tgt_tokens"] {
        let rate = number(count) / number("elapsed_seconds");
        let told = number(&format!("{count}_per_second"));
        // Seconds are told to the millisecond.
        assert!((told / rate - 1.0).abs() < 0.001 / number("elapsed_seconds") + 0.01, "{}", run.stderr);
    }
    assert!(number("start_up_seconds") > 0.0);
    if cfg!(target_os = "linux") {
        assert!((1.0..10_000.0).contains(&number("peak_memory_mib")), "{}", run.stderr);
    }
}

#[test]
fn scored_tokens_count_as_those_of_translations_do() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("t.de"), "Ein Hund.\n\nEine Katze.\n").unwrap();
    let mut command = with_m0();
    let run = run(command.current_dir(&folder).args(["--score", "t.de", "--throughput"]), b"A dog.\n\n\n");
    let figures = figures(&run.stderr);
    assert_eq!((figures["lines"], figures["sentences"]), ("3", "1"));
    let tokens = run.stdout.lines().next().unwrap().split('\t').nth(2).unwrap();
    assert_eq!(figures["tgt_tokens"], tokens);
}

#[test]
fn without_being_asked_it_says_nothing() {
    assert_eq!(translate([] as [&str; 0], b"A dog.\n").stderr, "");
}
