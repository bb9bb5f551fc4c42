//! Systems trained from several seeds, by their kept translations.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::kitchen::{both, kitchen, read, score, table, umlaut};

const SEEDS: &str = "[[seeds]]\ntitle = 'Over seeds'\ntest_set = 'news'\n\
    system = { name = 'better', recipe = 'rope/recipe.toml', outputs = ['better-1.de', 'better-2.de'] }\n\
    baseline = { name = 'worse', recipe = 'rope/recipe.toml', outputs = ['worse-1.de', 'worse-2.de'] }\n";

/// Outputs that keep the reference but for each line whose number a number of theirs divides.
fn write_outputs(root: &Path) {
    let reference = read(root, "data/test/news.de");
    for (name, step) in [("better-1", 7), ("better-2", 9), ("worse-1", 3), ("worse-2", 4)] {
        let change = |(number, line): (usize, &str)| match number % step {
            0 => "tree cat\n".to_owned(),
            _ => format!("{line}\n"),
        };
        let text: String = reference.lines().enumerate().map(change).collect();
        fs::write(root.join(format!("eval/{name}.de")), text).unwrap();
    }
}

#[test]
fn runs_have_the_scores_that_umlaut_score_gives_them() {
    let dir = kitchen(&(both() + SEEDS));
    write_outputs(dir.path());
    let found = table(dir.path(), &[])["seeds"][0].clone();
    let all = &found["steps"][0];
    assert_eq!((all["words"].as_str(), all["lines"].as_u64()), (Some("all"), Some(31)));
    let alone = |name: &str| score(dir.path(), &format!("eval/{name}.de"), "bleu", &[])["score"].as_f64().unwrap();
    let scores = |arm: &str| all[arm]["scores"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let (system, baseline): (Vec<f64>, Vec<f64>) = (scores("system"), scores("baseline"));
    for (found, name) in system.iter().chain(&baseline).zip(["better-1", "better-2", "worse-1", "worse-2"]) {
        assert!((found - alone(name)).abs() < 1e-9, "{name}: {found}");
    }
    let difference = (system[0] + system[1] - baseline[0] - baseline[1]) / 2.0;
    assert!((all["difference"].as_f64().unwrap() - difference).abs() < 1e-9, "{all}");
    let lines = found["steps"].as_array().unwrap()[1..].iter().map(|step| step["lines"].as_u64().unwrap());
    assert_eq!(lines.sum::<u64>(), 31);
    let markdown = read(dir.path(), "out/table.md");
    assert!(markdown.contains("## Over seeds\n"), "{markdown}");
    assert!(read(dir.path(), "out/table.html").contains("Over seeds"));
}

#[test]
fn seeds_without_their_test_set_say_so() {
    let dir = kitchen(&(both() + SEEDS));
    write_outputs(dir.path());
    fs::remove_file(dir.path().join("data/test/news.en")).unwrap();
    let found = table(dir.path(), &[])["seeds"][0].clone();
    assert_eq!(found["steps"], Value::Array(Vec::new()));
    assert_eq!(found["missing"], "test set: no test/news.en");
}

#[test]
fn an_output_that_is_not_there_is_named() {
    let dir = kitchen(&(both() + SEEDS));
    let output = umlaut(dir.path(), &["table", "--data", "data", "-o", "out"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("better-1.de"), "{said}");
}
