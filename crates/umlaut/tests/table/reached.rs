//! What is reached again: the figures that `translate` and `umlaut score` give, the same every time.

use std::fs;
use std::path::Path;

use umlaut_ledger::checksum;
use umlaut_translate::{Format, Translator};

use crate::kitchen::{both, kitchen, options, read, row, score, succeed, table, umlaut};

#[test]
fn a_row_is_translated_as_translate_does_with_its_options() {
    let dir = kitchen(&both());
    table(dir.path(), &[]);
    let translator = Translator::open(&dir.path().join("rope"), options()).unwrap();
    let mut expected = Vec::new();
    let source = fs::read(dir.path().join("data/test/news.en")).unwrap();
    translator.translate_stream(source.as_slice(), &mut expected, Format::Text, |_| ()).unwrap();
    assert_eq!(read(dir.path(), "out/rope.news.de").into_bytes(), expected);
}

#[test]
fn figures_intervals_and_tests_are_those_of_umlaut_score() {
    let dir = kitchen(&both());
    let set = &table(dir.path(), &[])["test_sets"][0];
    for (number, (metric, name)) in [("bleu-none", "bleu"), ("chrf", "chrf")].into_iter().enumerate() {
        let expected = score(dir.path(), "out/sinusoidal.news.de", name, &["--confidence"]);
        let figure = &set["rows"][1]["figures"][metric];
        assert_eq!(figure["score"], expected["score"], "{metric}");
        assert_eq!(figure["half_width"], expected["confidence"]["half_width"], "{metric}");
        let expected = score(dir.path(), "out/rope.news.de", name, &["--paired", "out/sinusoidal.news.de"]);
        let pair = &set["pairs"][number];
        assert_eq!((&pair["recipe"], &pair["against"]), (&"rope".into(), &"sinusoidal".into()));
        for part in ["baseline", "difference", "p_value"] {
            assert_eq!(pair[part], expected["comparison"][part], "{metric}");
        }
        assert_eq!(pair["signature"], expected["signature"]);
        assert_ne!(pair["difference"], 0.0, "{metric}: a test of nothing");
    }
}

#[test]
fn checksums_are_those_of_the_files() {
    let dir = kitchen(&both());
    let set = &table(dir.path(), &[])["test_sets"][0];
    let of = |file: &str| checksum::of_file(&dir.path().join(file)).unwrap();
    let row = &set["rows"][0];
    assert_eq!(row["output"]["sha256"], of("out/rope.news.de"));
    assert_eq!(row["recipe_sha256"], of("recipes/rope/recipe.toml"));
    assert_eq!(row["model"]["files"]["config.json"], of("rope/config.json"));
    assert_eq!(set["reference"]["sha256"], of("data/test/news.de"));
    let markdown = read(dir.path(), "out/table.md");
    for sum in [&row["output"]["sha256"], &row["recipe_sha256"], &row["model"]["sha256"], &set["source"]["sha256"]] {
        assert!(markdown.contains(sum.as_str().unwrap()), "{sum} is missing from\n{markdown}");
    }
}

#[test]
fn the_same_files_come_out_whatever_the_number_of_threads() {
    let dir = kitchen(&both());
    table(dir.path(), &["--threads", "1"]);
    fs::rename(dir.path().join("out"), dir.path().join("first")).unwrap();
    table(dir.path(), &["--threads", "3"]);
    let names = |folder: &str| {
        let mut names: Vec<_> =
            fs::read_dir(dir.path().join(folder)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("out"), ["rope.news.de", "sinusoidal.news.de", "table.html", "table.json", "table.md"]);
    assert_eq!(names("out"), names("first"));
    for name in names("out") {
        let bytes = |folder: &str| fs::read(dir.path().join(folder).join(&name)).unwrap();
        assert!(bytes("out") == bytes("first"), "{} differs", name.display());
    }
}

#[test]
fn scores_by_length_are_those_of_the_lines_in_each_bucket() {
    let dir = kitchen(&both());
    let buckets = table(dir.path(), &[])["test_sets"][0]["by_length"]["buckets"].clone();
    let lines: u64 = buckets.as_array().unwrap().iter().map(|bucket| bucket["lines"].as_u64().unwrap()).sum();
    assert_eq!((lines, buckets[0]["words"].as_str()), (31, Some("up to 10")));
    let source = read(dir.path(), "data/test/news.en");
    let is_long: Vec<bool> = source.lines().map(|line| line.split(' ').count() > 10).collect();
    for file in ["out/sinusoidal.news.de", "data/test/news.de"] {
        let text = read(dir.path(), file);
        let long = text.lines().zip(&is_long).filter(|(_, is_long)| **is_long).map(|(line, _)| line.to_owned() + "\n");
        fs::write(dir.path().join(file), long.collect::<String>()).unwrap();
    }
    let expected = score(dir.path(), "out/sinusoidal.news.de", "bleu", &["--confidence"]);
    let figure = &buckets[1]["figures"]["sinusoidal"];
    assert_eq!((&figure["score"], &figure["signature"]), (&expected["score"], &plain(&expected["signature"])));
    assert_ne!(figure["score"].as_f64(), Some(0.0));
    assert_eq!(figure["half_width"], expected["confidence"]["half_width"]);
}

/// A signature without what the interval adds.
fn plain(signature: &serde_json::Value) -> serde_json::Value {
    signature.as_str().unwrap().replace("bs:50|seed:12345|", "").into()
}

#[test]
fn a_kept_output_is_scored_without_a_model() {
    let dir = kitchen(&row("rope", "output = 'kept.de'"));
    fs::copy(dir.path().join("data/test/news.de"), dir.path().join("eval/kept.de")).unwrap();
    let row = table(dir.path(), &[])["test_sets"][0]["rows"][0].clone();
    assert_eq!((&row["state"], row["figures"]["chrf"]["score"].as_f64()), (&"scored".into(), Some(100.0)));
}

#[test]
fn a_figure_that_is_not_the_listed_one_is_named_and_the_exit_status_is_1() {
    let listed = "model = 'rope'\nfigures = { chrf = 99.5 }\nsignatures = { chrf = 'nc:6' }";
    let dir = kitchen(&row("rope", listed));
    let output = umlaut(dir.path(), &["table", "--data", "data", "-o", "out", "--samples", "50"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("rope on news: chrF is ") && said.contains("lists 99.50 (nc:6)"), "{said}");
    assert!(read(dir.path(), "out/table.md").contains("lists 99.50"));
}

#[test]
fn published_figures_stand_beside_ours_with_metric_and_source() {
    let published =
        "[[published]]\nsystem = 'Base'\ntest_set = 'news'\nsource = 'A paper'\nfigures = { bleu-none = 27.3 }\n";
    let dir = kitchen(&(published.to_owned() + &both()));
    let markdown = succeed(dir.path(), &["table", "--data", "data", "--samples", "50"]);
    assert!(markdown.contains("| system | BLEU on given tokens | chrF | from |"), "{markdown}");
    assert!(markdown.contains("| Base | 27.3 |  | published: A paper |"), "{markdown}");
    assert!(!Path::new(&dir.path().join("out")).exists());
}

#[test]
fn only_the_rows_that_are_named_are_scored() {
    let dir = kitchen(&both());
    let sets = table(dir.path(), &["sinusoidal@news"])["test_sets"].clone();
    assert_eq!(sets[0]["rows"].as_array().unwrap().len(), 1);
    assert_eq!(sets[0]["rows"][0]["recipe"], "sinusoidal");
}
