//! Search as a user sees it.

use std::collections::HashSet;
use std::num::NonZero;

use umlaut_translate::{LengthPenalty, Options, Translator};

use crate::model::m0;
use crate::program::{mixed_lines, translate};

/// An entry of an n-best list: line, text, score.
fn entry(line: &str) -> (usize, &str, f64) {
    let fields: Vec<&str> = line.split(" ||| ").collect();
    assert_eq!(fields.len(), 3, "{line}");
    (fields[0].parse().unwrap(), fields[1], fields[2].parse().unwrap())
}

fn entries(lists: &str) -> Vec<(usize, &str, f64)> {
    lists.lines().map(entry).collect()
}

#[test]
fn the_first_of_an_n_best_list_is_the_translation() {
    let input = mixed_lines(60);
    let best = translate(["--scores"], input.as_bytes()).ok();
    let lists = translate(["--nbest", "4"], input.as_bytes()).ok();
    let mut last = None;
    let firsts = entries(&lists).into_iter().filter(|&(line, ..)| last.replace(line) != Some(line));
    let firsts: Vec<String> = firsts.map(|(_, text, score)| format!("{score:.4}\t{text}")).collect();
    assert_eq!(firsts, best.lines().collect::<Vec<_>>());
}

#[test]
fn n_best_lists_are_distinct_and_best_first() {
    let lists = translate(["--nbest", "6", "--beam", "6"], b"A dog runs.\n\nTwo people talk.\n").ok();
    let entries = entries(&lists);
    let of_line = |line| entries.iter().filter(|entry| entry.0 == line).collect::<Vec<_>>();
    assert_eq!(of_line(1), [&(1, "", 0.0)]);
    for list in [of_line(0), of_line(2)] {
        assert!((2..=6).contains(&list.len()), "{lists}");
        assert!(list.is_sorted_by(|a, b| a.2 >= b.2));
        assert_eq!(list.iter().map(|entry| entry.1).collect::<HashSet<_>>().len(), list.len(), "{lists}");
    }
}

#[test]
fn more_hypotheses_than_there_can_be_are_no_error() {
    let lists = translate(["--beam", "6", "--nbest", "6", "--max-len", "1"], b"A\n").ok();
    let entries = entries(&lists);
    assert!((1..=6).contains(&entries.len()), "{lists}");
    assert!(entries.is_sorted_by(|a, b| a.2 >= b.2));
}

#[test]
fn a_cut_line_is_named_and_counted() {
    let input = format!("{}\n", "the cat sits on a mat ".repeat(30)).repeat(12);
    let run = translate(["--max-len", "1"], input.as_bytes());
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("line 3: the translation reached its length limit and was cut"), "{}", run.stderr);
    assert!(run.stderr.contains("12 lines in all"), "{}", run.stderr);
    assert!(!run.stderr.contains("line 11"), "{}", run.stderr);
}

#[test]
fn text_always_has_a_translation() {
    for beam in ["1", "4", "12"] {
        let output = translate(["--beam", beam], mixed_lines(50).as_bytes()).ok();
        assert!(output.lines().all(|line| !line.trim().is_empty()), "beam {beam}");
    }
}

#[test]
fn a_larger_penalty_makes_longer_translations_and_a_negative_one_is_refused() {
    let lines: Vec<String> = mixed_lines(40).lines().map(str::to_owned).collect();
    let tokens = |alpha| {
        let options = Options { length_penalty: LengthPenalty::Length { alpha }, ..Options::default() };
        let translator = Translator::open(m0(), options.with_threads(NonZero::new(2).unwrap())).unwrap();
        let best = |translation: &umlaut_translate::Translation| translation.best().unwrap().tokens;
        translator.translate_lines(&lines).unwrap().iter().map(best).sum::<usize>()
    };
    let totals: Vec<usize> = [0.0, 0.6, 1.0, 1.5].into_iter().map(tokens).collect();
    assert!(totals.is_sorted() && totals[0] < totals[3], "{totals:?}");

    let refused = translate(["--length-penalty", "-0.5"], b"A dog.\n");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
    assert!(refused.stderr.contains("at least 0, found -0.5"), "{}", refused.stderr);
}

#[test]
fn the_two_penalties_give_different_scores() {
    let length = translate(["--scores"], b"A dog.\n").ok();
    let gnmt = translate(["--scores", "--penalty", "gnmt"], b"A dog.\n").ok();
    assert_ne!(length.split('\t').next(), gnmt.split('\t').next());
}
