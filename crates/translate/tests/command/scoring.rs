//! Scoring of given translations as a user sees it.

use std::fs;

use umlaut_search::{BeamOptions, Ended, Hypothesis, beam_search};
use umlaut_translate::{Model, NeuralModel, Options, Precision, TokenId, Translator};

use crate::model::m0;
use crate::program::{Run, mixed_lines, run, with_m0};

/// Scores `targets` as translations of `sources`, which come on standard input.
fn score(args: &[&str], sources: &str, targets: impl AsRef<[u8]>) -> Run {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("targets.de"), targets).unwrap();
    let mut command = with_m0();
    command.current_dir(&folder).args(["--score", "targets.de"]).args(args);
    run(&mut command, sources.as_bytes())
}

/// The figures at the head of a line: score, log-probability, tokens.
fn figures(line: &str) -> [f64; 3] {
    let fields: Vec<f64> = line.split('\t').take(3).map(|field| field.parse().unwrap()).collect();
    fields.try_into().unwrap()
}

/// The lines in reverse order.
fn backwards(lines: &str) -> String {
    lines.lines().rev().flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn a_score_is_the_log_probability_over_the_length_penalty() {
    let sources = mixed_lines(30);
    let targets = backwards(&sources);
    for (args, divisor) in [
        (vec![], (|length| length.powf(0.6)) as fn(f64) -> f64),
        (vec!["--length-penalty", "1"], |length| length),
        (vec!["--penalty", "gnmt"], |length| ((5.0 + length) / 6.0).powf(0.6)),
    ] {
        let scored = score(&args, &sources, &targets).ok();
        assert_eq!(scored.lines().count(), 30);
        for [score, log_prob, tokens] in scored.lines().map(figures) {
            assert!(log_prob < 0.0 && (score - log_prob / divisor(tokens)).abs() < 2e-4, "{args:?}: {scored}");
        }
    }
}

#[test]
fn words_sum_to_the_whole_and_are_those_of_the_text() {
    let (sources, targets) = (mixed_lines(20), "Die Katze  sitzt auf der \u{1F408} Matte.\n".repeat(20));
    let scored = score(&["--per-word"], &sources, &targets).ok();
    assert_eq!(scored.lines().count(), 20);
    for line in scored.lines() {
        let words = line.split('\t').skip(3).map(|word| word.rsplit_once(' ').unwrap());
        let (words, log_probs): (Vec<&str>, Vec<&str>) = words.unzip();
        assert_eq!(words, ["Die", "Katze", "sitzt", "auf", "der", "\u{1F408}", "Matte.", "</s>"]);
        let sum: f64 = log_probs.iter().map(|log_prob| log_prob.parse::<f64>().unwrap()).sum();
        assert!((sum - figures(line)[1]).abs() < 1e-3, "{line}");
    }
    assert!(score(&["--per-word"], &sources, &targets).ok().starts_with(&score(&[], &sources, &targets).ok()[..20]));
}

#[test]
fn neither_batches_nor_threads_nor_windows_change_a_byte() {
    let sources = mixed_lines(150);
    let targets = backwards(&sources);
    for precision in ["f32", "int8"] {
        let score =
            |args: &[&str]| score(&[&["--per-word", "--precision", precision], args].concat(), &sources, &targets).ok();
        let expected = score(&[]);
        for batch_tokens in ["1", "150", "100000"] {
            for threads in ["1", "3"] {
                let got = score(&["--batch-tokens", batch_tokens, "--threads", threads]);
                assert_eq!(got, expected, "{precision}, batches of {batch_tokens}, {threads} threads");
            }
        }
        assert_eq!(score(&["--line-buffered"]), expected, "line by line");
    }
}

#[test]
fn blank_lines_have_defined_scores() {
    let scored = score(&[], "\n \nA dog.\nA dog.\n", "\u{feff}\nEin Hund.\r\n\nEin Hund.").ok();
    let lines: Vec<&str> = scored.lines().collect();
    assert_eq!(lines[0], "0.0000\t0.0000\t0");
    assert!(lines[1].starts_with("-inf\t-inf\t"), "{scored}");
    let end = lines[2].split('\t').collect::<Vec<_>>();
    assert!(end[0] == end[1] && end[1].starts_with('-') && end[2] == "1", "the end mark alone: {scored}");
    assert!(figures(lines[3])[2] > 2.0 && lines.len() == 4);
    assert_eq!(score(&[], "", "").ok(), "");
}

#[test]
fn unequal_counts_are_refused_with_both_numbers_and_write_nothing() {
    for (sources, targets) in [("a\nb\nc\n", "a\nb\n"), ("a\nb\n", "a\nb\nc")] {
        let refused = score(&[], sources, targets);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
        let numbers = [sources, targets].map(|text| text.lines().count());
        let words = format!("{} lines and {} given translations", numbers[0], numbers[1]);
        assert!(refused.stderr.contains(&words) && refused.stderr.contains("targets.de"), "{}", refused.stderr);
    }
}

#[test]
fn what_is_wrong_with_the_targets_is_said_of_them() {
    let latin = score(&[], "caf\u{e9}\n\n", b"caf\xE9\n\n");
    assert_eq!(latin.code, Some(1));
    assert!(latin.stderr.contains("targets.de, line 1: not valid UTF-8"), "{}", latin.stderr);
    let markup = score(&[], "a\n", "<refset>\n");
    assert_eq!((markup.code, markup.stdout.as_str()), (Some(1), ""));
    assert!(markup.stderr.contains("the given translations: this is SGML"), "{}", markup.stderr);
}

#[test]
fn options_that_contradict_scoring_are_refused() {
    let contradictions: [&[&str]; 6] = [
        &["--score", "t", "--nbest", "2"],
        &["--score", "t", "--scores"],
        &["--score", "t", "--max-len", "9"],
        &["--per-word"],
        &["--score", "t", "a", "b"],
        &["--score", "-"],
    ];
    for args in contradictions {
        let refused = run(with_m0().args(args), b"");
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
    let missing = run(with_m0().args(["--score", "missing.de"]), b"");
    assert!(missing.code == Some(2) && missing.stderr.contains("missing.de"), "{}", missing.stderr);
}

/// What a search finds for each source, best first.
fn searched(model: &NeuralModel, sources: &[Vec<TokenId>]) -> Vec<Vec<Hypothesis>> {
    let special = model.special();
    let ended: Vec<Vec<TokenId>> = sources.iter().map(|source| [source.as_slice(), &[special.eos]].concat()).collect();
    let mut decoder = model.decoder(&ended.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let options = BeamOptions { n_best: 4, ..BeamOptions::new(special.bos, special.eos) };
    beam_search(&mut decoder, &vec![40; sources.len()], &options).unwrap()
}

#[test]
fn an_n_best_list_is_scored_as_the_search_scored_it() {
    for precision in [Precision::F32, Precision::Int8] {
        let open = || NeuralModel::open(m0(), precision).unwrap();
        let model = open();
        let sources: Vec<Vec<TokenId>> = mixed_lines(40).lines().map(|line| model.encode(line)).collect();
        let lists = searched(&model, &sources);
        let found = || sources.iter().zip(&lists).flat_map(|(source, list)| list.iter().map(move |one| (source, one)));
        assert!(found().count() > 100, "too few to tell");
        let pairs: Vec<_> = found().map(|(source, one)| (source.as_slice(), one.tokens.as_slice())).collect();
        let translator = Translator::new(open(), Options { batch_tokens: 300, ..Options::default() }).unwrap();
        for (log_probs, (_, one)) in translator.score_tokens(&pairs).unwrap().iter().zip(found()) {
            let said = one.tokens.len() + usize::from(one.ended == Ended::Eos);
            let sum = log_probs[..said].iter().fold(0.0, |sum, &log_prob| sum + f64::from(log_prob));
            assert_eq!(sum.to_bits(), one.log_prob.to_bits(), "{precision:?}, {one:?}");
        }
    }
}
