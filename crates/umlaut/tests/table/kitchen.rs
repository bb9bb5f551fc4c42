//! A checkout with a ledger, two tiny models and a test set, and the program in it.

use std::fs;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use umlaut_ledger::checksum;
use umlaut_translate::{LengthPenalty, Options, Translator};

/// What the vocabulary of the golden models knows, in lines of several lengths.
const WORDS: [&str; 5] = ["the", "cat", "sees", "a", "tree"];

/// The test set `news`: lines of 1 to 12 words.
fn source() -> String {
    let words = |line: usize| (0..=line * 5 % 12).map(move |word| WORDS[(line + word * word) % 5]);
    (0..31).map(|line| words(line).collect::<Vec<_>>().join(" ") + "\n").collect()
}

/// A checkout whose rows are `rows`, with the models `rope` and `sinusoidal` and the test sets in `data`.
pub(crate) fn kitchen(rows: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for (from, to) in [("pre_rope", "rope"), ("post_sin", "sinusoidal")] {
        let (from, vocab) = (golden.join(from), golden.join("vocab.model"));
        let (from, vocab) = (from.to_str().unwrap(), vocab.to_str().unwrap());
        succeed(dir.path(), &["import", from, "--from", "ctranslate2", "--vocab", vocab, "-o", to]);
    }
    let reference = reference(&dir.path().join("sinusoidal"));
    write(dir.path(), "data/test/news.en", &source());
    write(dir.path(), "data/test/news.de", &reference);
    write_eval(dir.path(), &reference, rows);
    write(dir.path(), "recipes/rope/recipe.toml", "seed = 1\n");
    dir
}

/// What a model makes of the source, every third line left as it was: so that the model has a score, and not the best.
fn reference(model: &Path) -> String {
    let source = source();
    let lines: Vec<&str> = source.lines().collect();
    let translations = Translator::open(model, options()).unwrap().translate_lines(&lines).unwrap();
    let choose = |(number, line): (usize, &&str)| match number % 3 {
        0 => format!("{line}\n"),
        _ => format!("{}\n", translations[number].text()),
    };
    lines.iter().enumerate().map(choose).collect()
}

/// The options of [`row`].
pub(crate) fn options() -> Options {
    let length_penalty = LengthPenalty::Length { alpha: 1.0 };
    Options { beam: 3, length_penalty, max_len: Some(14), ..Options::default().with_threads(NonZero::<usize>::MIN) }
}

fn write_eval(root: &Path, reference: &str, rows: &str) {
    let side = |name: &str, text: &str| {
        format!("{{ file = 'test/{name}', sha256 = '{}' }}", checksum::of_bytes(text.as_bytes()))
    };
    let (en, de) = (side("news.en", &source()), side("news.de", reference));
    let set = |name: &str, en: &str, de: &str| {
        format!(
            "[[set]]\nname = '{name}'\ntitle = 'News <b>'\nlines = 31\nmetrics = ['bleu-none', 'chrf']\nsource = {en}\n\
             reference = {de}\n"
        )
    };
    let sets = set("news", &en, &de) + &set("far", &side("far.en", "x"), &side("far.de", "y"));
    write(root, "eval/testsets.toml", &sets);
    write(root, "eval/table.toml", rows);
}

/// A row of the ledger for a model on `news`.
pub(crate) fn row(recipe: &str, more: &str) -> String {
    format!(
        "[[row]]\nrecipe = '{recipe}'\nsystem = 'toy {recipe}'\ntest_set = 'news'\ncommands = ['make']\n\
         translate = ['--beam', '3', '--length-penalty', '1.0', '--max-len', '14']\n{more}\n"
    )
}

/// Both models.
pub(crate) fn both() -> String {
    row("rope", "model = 'rope'") + &row("sinusoidal", "model = 'sinusoidal'")
}

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn read(root: &Path, file: &str) -> String {
    fs::read_to_string(root.join(file)).unwrap()
}

pub(crate) fn umlaut(dir: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_umlaut"));
    command.args(args).current_dir(dir).env_remove("UMLAUT_DATA").stdin(Stdio::null()).output().unwrap()
}

/// What the program says on stdout.
pub(crate) fn succeed(dir: &Path, args: &[&str]) -> String {
    let output = umlaut(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The table in JSON, written to `out` with few samples.
pub(crate) fn table(dir: &Path, more: &[&str]) -> Value {
    let args = ["table", "--data", "data", "-o", "out", "--samples", "50"];
    succeed(dir, &[&args[..], more].concat());
    serde_json::from_str(&read(dir, "out/table.json")).unwrap()
}

/// What `umlaut score` says of a metric.
pub(crate) fn score(dir: &Path, output: &str, metrics: &str, more: &[&str]) -> Value {
    let args = ["score", output, "-r", "data/test/news.de", "--tokenize", "none", "--metrics", metrics, "--json"];
    let more = [more, &["--samples", "50"]].concat();
    let report: Value = serde_json::from_str(&succeed(dir, &[&args[..], &more].concat())).unwrap();
    report["scores"][0].clone()
}
