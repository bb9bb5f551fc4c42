//! What is refused, and what a row says when it cannot be scored.

use std::fs;

use umlaut_ledger::checksum;

use crate::kitchen::{both, kitchen, read, row, succeed, table, umlaut};

/// Runs the program, which must fail and leave no folder, and gives what it says.
fn fail(dir: &std::path::Path, more: &[&str]) -> String {
    let output = umlaut(dir, &[&["table", "--data", "data", "-o", "out"][..], more].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    let parts = fs::read_dir(dir).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name == "out" || name == ".out.part"
    });
    assert_eq!(parts.count(), 0, "{said}");
    said
}

#[test]
fn another_text_is_refused_with_both_checksums_before_anything_is_translated() {
    let dir = kitchen(&both());
    let text = read(dir.path(), "data/test/news.de");
    let changed = text.replacen("cat", "cats", 1);
    fs::write(dir.path().join("data/test/news.de"), &changed).unwrap();
    let said = fail(dir.path(), &[]);
    assert!(said.contains("news.de") && !said.contains("translating"), "{said}");
    for text in [text, changed] {
        assert!(said.contains(&checksum::of_bytes(text.as_bytes())), "{said}");
    }
}

#[test]
fn rows_say_that_they_were_not_run_or_what_is_missing() {
    let figures = "figures = { chrf = 20.5 }\nsignatures = { chrf = 'nc:6' }";
    let rows = row("idle", "")
        + &row("gone", &format!("model = 'no/model'\n{figures}"))
        + &row("lost", figures)
        + &row("away", "model = 'rope'").replace("'news'", "'far'");
    let dir = kitchen(&rows);
    let table = table(dir.path(), &[]);
    let rows: Vec<_> =
        table["test_sets"].as_array().unwrap().iter().flat_map(|set| set["rows"].as_array().unwrap()).collect();
    let said: Vec<_> = rows.iter().map(|row| (row["state"].as_str().unwrap(), row["reason"].as_str())).collect();
    let expected = [
        ("not-run", None),
        ("missing", Some("model: no no/model")),
        ("missing", Some("neither model nor output is kept")),
        ("missing", Some("test set: no test/far.en")),
    ];
    assert_eq!(said, expected);
    let markdown = read(dir.path(), "out/table.md");
    assert!(markdown.contains("| toy idle |  |  | idle, not run |"), "{markdown}");
    assert!(
        markdown.contains("| toy gone |  | 20.50 | gone, listed, not scored now (model: no no/model) |"),
        "{markdown}"
    );
}

#[test]
fn without_data_nothing_is_scored_and_every_row_says_so() {
    let dir = kitchen(&both());
    let markdown = succeed(dir.path(), &["table"]);
    assert_eq!(markdown.matches("not scored (no test sets: name their folder by --data)").count(), 2, "{markdown}");
}

#[test]
fn a_folder_that_holds_something_is_left_alone() {
    let dir = kitchen(&both());
    fs::create_dir(dir.path().join("kept")).unwrap();
    fs::write(dir.path().join("kept/note"), "mine").unwrap();
    let output = umlaut(dir.path(), &["table", "--data", "data", "-o", "kept"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(dir.path().join("kept")).unwrap().count(), 1);
}

#[test]
fn options_names_and_models_that_cannot_be_used_are_refused_by_name() {
    let dir = kitchen(&both().replace("--beam", "--bean"));
    let said = fail(dir.path(), &[]);
    assert!(said.contains("rope on news") && said.contains("--bean"), "{said}");
    let dir = kitchen(&both());
    assert!(fail(dir.path(), &["rop"]).contains("called rop:"));
    fs::write(dir.path().join("rope/config.json"), "{").unwrap();
    assert!(fail(dir.path(), &[]).contains("config.json"));
}

#[test]
fn what_systems_are_called_is_no_markup() {
    let name = "<script>alert(\"1\")</script> | `x`";
    let published = format!(
        "[[published]]\nsystem = '{name}'\ntest_set = 'news'\nsource = '{name}'\nfigures = {{ bleu-none = 27.3 }}\n"
    );
    let dir = kitchen(&(published + &both().replace("toy rope", name)));
    table(dir.path(), &[]);
    let page = read(dir.path(), "out/table.html");
    assert!(page.contains("&lt;script&gt;alert(&quot;1&quot;)") && !page.contains("<script") && !page.contains("<b>"));
    assert!(page.contains("<rect") && page.contains("<polyline") && !page.contains("http"), "{page}");
    let markdown = read(dir.path(), "out/table.md");
    assert!(!markdown.contains("<script") && markdown.contains("\\| \\`x\\`"), "{markdown}");
}
