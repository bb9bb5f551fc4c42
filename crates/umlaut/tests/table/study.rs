//! Studies: recipes on lines joined to longer inputs.

use std::fs;

use serde_json::Value;

use crate::kitchen::{both, kitchen, read, row, score, table};

const STUDY: &str = "[[study]]\ntitle = 'Rotations against sinusoids, which stands in'\nrecipes = ['rope', 'sinusoidal']\n\
                     test_sets = ['news']\njoin = [2, 4, 40]\n";

/// Every `lines` lines of a text in one; a rest is left out.
fn joined(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all.chunks(lines).filter(|chunk| chunk.len() == lines).map(|chunk| chunk.join(" ") + "\n").collect()
}

#[test]
fn joined_lines_are_translated_and_scored_as_a_test_set_of_their_own() {
    let dir = kitchen(&(both() + STUDY));
    let whole = table(dir.path(), &[]);
    let study = &whole["studies"][0];
    let steps = study["steps"].as_array().unwrap();
    let shape: Vec<_> = steps.iter().map(|step| (step["joined"].as_u64(), step["inputs"].as_u64())).collect();
    assert_eq!(shape, [(Some(1), Some(31)), (Some(2), Some(15)), (Some(4), Some(7))], "40 lines there are not");
    let figures = |part: &Value| part["figures"]["bleu-none"].clone();
    assert_eq!(steps[0]["figures"]["sinusoidal"], figures(&whole["test_sets"][0]["rows"][1]));
    let by_hand = kitchen(&both().replace("model = 'rope'", ""));
    for file in ["en", "de"] {
        let text = joined(&read(by_hand.path(), &format!("data/test/news.{file}")), 2);
        fs::write(by_hand.path().join(format!("data/test/news.{file}")), &text).unwrap();
        let listed = read(by_hand.path(), "eval/testsets.toml");
        let old = whole["test_sets"][0][if file == "en" { "source" } else { "reference" }]["sha256"].as_str().unwrap();
        let sum = umlaut_ledger::checksum::of_bytes(text.as_bytes());
        let listed = listed.replace(old, &sum).replace("lines = 31", "lines = 15");
        fs::write(by_hand.path().join("eval/testsets.toml"), listed).unwrap();
    }
    let expected = table(by_hand.path(), &[]);
    let row = &expected["test_sets"][0]["rows"][1];
    assert_eq!(steps[1]["figures"]["sinusoidal"], figures(row));
    assert_eq!(read(dir.path(), "out/sinusoidal.news.join2.de"), read(by_hand.path(), "out/sinusoidal.news.de"));
    assert_eq!(steps[1]["outputs"]["sinusoidal"]["sha256"], row["output"]["sha256"]);
    assert_eq!(steps[1]["reference_sha256"], expected["test_sets"][0]["reference"]["sha256"]);
    fs::copy(dir.path().join("out/rope.news.join2.de"), by_hand.path().join("other")).unwrap();
    let compared = score(by_hand.path(), "other", "bleu", &["--paired", "out/sinusoidal.news.de"]);
    assert_ne!(compared["comparison"]["difference"].as_f64(), Some(0.0));
    assert_eq!(steps[1]["pairs"][0]["p_value"], compared["comparison"]["p_value"]);
}

#[test]
fn a_study_is_labelled_and_says_which_recipe_was_not_run() {
    let rows = row("rope", "model = 'rope'") + &row("sinusoidal", "") + STUDY;
    let dir = kitchen(&rows);
    table(dir.path(), &[]);
    let markdown = read(dir.path(), "out/table.md");
    assert!(markdown.contains("## Rotations against sinusoids, which stands in\n"), "{markdown}");
    assert!(markdown.contains("toy sinusoidal (sinusoidal): not run."), "{markdown}");
    assert!(markdown.contains("| 2 (1"), "{markdown}");
}

#[test]
fn a_study_of_rows_that_were_not_asked_for_is_left_out() {
    let dir = kitchen(&(both() + STUDY));
    assert_eq!(table(dir.path(), &["rope"])["studies"].as_array().unwrap().len(), 0);
}
