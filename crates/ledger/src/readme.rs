//! The README's figures, written from `eval/table.toml` and never by hand.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::error::LedgerError;
use crate::metric::Metric;
use crate::row::{Ledger, PATH, Published, Row};
use crate::test_set::{TestSet, TestSets};

const BEGIN: &str = "<!-- table:begin -->\n";
const END: &str = "<!-- table:end -->";
/// The file that holds the tables, in the root.
pub const FILE: &str = "README.md";

/// The README of the checkout at `root` as it is, and as it should be.
///
/// # Errors
/// When ledger, test sets or README cannot be read, or the README has no place for the tables.
pub fn is_and_should_be(root: &Path) -> Result<(String, String), LedgerError> {
    let path = root.join(FILE);
    let readme = fs::read_to_string(&path).map_err(|source| LedgerError::Read { path, source })?;
    let table = render(&Ledger::read(root)?, &TestSets::read(root)?);
    let current = splice(&readme, &table).ok_or(LedgerError::NoMarks { begin: BEGIN.trim_ascii_end(), end: END })?;
    Ok((readme, current))
}

/// Whether the README's tables are the generated ones.
///
/// # Errors
/// As [`is_and_should_be`].
pub fn is_current(root: &Path) -> Result<bool, LedgerError> {
    let (readme, current) = is_and_should_be(root)?;
    Ok(readme == current)
}

/// `text` with what stands between the marks replaced by `table`, or `None` without the marks.
fn splice(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}\n{END}{after}"))
}

/// One table for each test set that has rows, in the list's order.
fn render(ledger: &Ledger, test_sets: &TestSets) -> String {
    let mut text = format!("<!-- Generated from {PATH} by `cargo xtask table`. -->\n");
    for set in &test_sets.set {
        let published: Vec<&Published> = ledger.published.iter().filter(|row| row.test_set == set.name).collect();
        let rows: Vec<&Row> = ledger.row.iter().filter(|row| row.test_set == set.name).collect();
        if !published.is_empty() || !rows.is_empty() {
            text += &render_set(set, &published, &rows);
        }
    }
    text
}

fn render_set(set: &TestSet, published: &[&Published], rows: &[&Row]) -> String {
    let metrics = columns(set, published, rows);
    let labels = metrics.iter().map(|metric| metric.label().to_owned());
    let mut text = format!("\n**{}** ({} lines)\n\n", set.title, set.lines);
    text += &line(&["system"], labels, &["updates", "hours", "from"]);
    text += &line(&["---"], metrics.iter().map(|_| "--:".to_owned()), &["--:", "--:", "---"]);
    for row in published {
        // As printed: a figure given to one decimal gains none here.
        let figure = |metric| row.figures.get(&metric).map_or_else(String::new, f64::to_string);
        text += &line(&[&row.system], metrics.iter().copied().map(figure), &["", "", &row.source]);
    }
    for row in rows {
        let cells = metrics.iter().map(|metric| cell(row, set, *metric));
        let updates = row.updates.map_or_else(String::new, |updates| updates.to_string());
        let hours = row.hours.map_or_else(String::new, |hours| format!("{hours:.1}"));
        let recipe = format!("[`{0}`](recipes/{0})", row.recipe);
        text += &line(&[&row.system], cells, &[&updates, &hours, &recipe]);
    }
    text + &signatures(rows)
}

fn line(first: &[&str], middle: impl Iterator<Item = String>, last: &[&str]) -> String {
    let cells: Vec<String> =
        first.iter().map(ToString::to_string).chain(middle).chain(last.iter().map(ToString::to_string)).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// A figure of ours, or that it is still to come.
fn cell(row: &Row, set: &TestSet, metric: Metric) -> String {
    match row.figures.get(&metric) {
        Some(figure) => format!("{figure:.2}"),
        None if row.figures.is_empty() && set.metrics.contains(&metric) => "not run".to_owned(),
        None => String::new(),
    }
}

/// The set's own metrics and whatever else a row has.
fn columns(set: &TestSet, published: &[&Published], rows: &[&Row]) -> BTreeSet<Metric> {
    let figures = published.iter().map(|row| &row.figures).chain(rows.iter().map(|row| &row.figures));
    set.metrics.iter().copied().chain(figures.flat_map(|figures| figures.keys().copied())).collect()
}

/// Every distinct signature of the rows, once.
fn signatures(rows: &[&Row]) -> String {
    let all = rows.iter().flat_map(|row| &row.signatures);
    let distinct: BTreeSet<String> = all.map(|(metric, text)| format!("- {}: `{text}`", metric.label())).collect();
    let lines: Vec<String> = distinct.into_iter().collect();
    if lines.is_empty() { String::new() } else { format!("\n{}\n", lines.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_sets() -> TestSets {
        let side = "{ file = 'a', sha256 = '' }";
        TestSets::parse(&format!(
            "[[set]]\nname = 'news'\ntitle = 'News'\nlines = 3003\nmetrics = ['bleu-13a', 'chrf']\n\
             source = {side}\nreference = {side}\n"
        ))
        .unwrap()
    }

    fn ledger() -> Ledger {
        Ledger::parse(
            "[[published]]\nsystem = 'Base'\ntest_set = 'news'\nsource = 'A paper'\nfigures = { bleu-unstated = 27.3 }\n\
             [[row]]\nrecipe = 'small'\nsystem = 'RoPE'\ntest_set = 'news'\ncommands = []\nupdates = 8000\nhours = 2\n\
             figures = { bleu-13a = 20.128, chrf = 51.0 }\nsignatures = { bleu-13a = 'BLEU|tok:13a', chrf = 'chrF2|nc:6' }\n\
             [[row]]\nrecipe = 'large'\nsystem = 'RoPE, wide'\ntest_set = 'news'\ncommands = []\n",
        )
        .unwrap()
    }

    #[test]
    fn a_table_has_its_set_its_columns_its_rows_and_their_signatures() {
        let expected = "\
<!-- Generated from eval/table.toml by `cargo xtask table`. -->

**News** (3003 lines)

| system | BLEU 13a | BLEU, variant not stated | chrF | updates | hours | from |
| --- | --: | --: | --: | --: | --: | --- |
| Base |  | 27.3 |  |  |  | A paper |
| RoPE | 20.13 |  | 51.00 | 8000 | 2.0 | [`small`](recipes/small) |
| RoPE, wide | not run |  | not run |  |  | [`large`](recipes/large) |

- BLEU 13a: `BLEU|tok:13a`
- chrF: `chrF2|nc:6`
";
        assert_eq!(render(&ledger(), &test_sets()), expected);
    }

    #[test]
    fn a_test_set_without_rows_prints_nothing() {
        assert!(!render(&Ledger::default(), &test_sets()).contains("News"));
    }

    #[test]
    fn the_table_replaces_what_stands_between_the_marks() {
        let text = format!("Before.\n{BEGIN}old\n{END}\nAfter.\n");
        let expected = format!("Before.\n{BEGIN}new\n\n{END}\nAfter.\n");
        assert_eq!(splice(&text, "new\n"), Some(expected.clone()));
        assert_eq!(splice(&expected, "new\n"), Some(expected));
    }

    #[test]
    fn without_marks_nothing_is_replaced() {
        assert_eq!(splice("Before.\n", "new\n"), None);
    }
}
