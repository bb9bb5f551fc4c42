//! Scores by the length of the source.

use std::collections::BTreeMap;

use anyhow::Result;
use umlaut_ledger::Metric;
use umlaut_metrics::Statistics;

use super::report::{Bucket, ByLength};
use super::score::Judge;

/// The most words of each bucket's sources; the last has no limit.
const MOST_WORDS: [usize; 6] = [10, 15, 20, 30, 40, usize::MAX];

/// Scores every row by the number of words of the source, words being what white space separates. Buckets without a
/// line are left out.
///
/// # Errors
/// If the metric cannot be computed.
pub(crate) fn by_length(
    judge: &Judge,
    metric: Metric,
    source: &[String],
    rows: &[(&str, &Statistics)],
) -> Result<ByLength> {
    let mut buckets = Vec::new();
    for (words, lines) in self::buckets(source) {
        let mut figures = BTreeMap::new();
        for (recipe, statistics) in rows {
            figures.insert((*recipe).to_owned(), judge.figure(metric, &statistics.select(&lines))?);
        }
        buckets.push(Bucket { words, lines: lines.len(), figures });
    }
    Ok(ByLength { metric, buckets })
}

/// Labels and lines, from 0, of the buckets that have any.
pub(crate) fn buckets(source: &[String]) -> Vec<(String, Vec<usize>)> {
    let buckets = lines_of_buckets(source).into_iter().enumerate();
    buckets.filter(|(_, lines)| !lines.is_empty()).map(|(bucket, lines)| (label(bucket), lines)).collect()
}

/// The numbers of each bucket's lines, from 0.
fn lines_of_buckets(source: &[String]) -> [Vec<usize>; MOST_WORDS.len()] {
    let mut buckets = <[Vec<usize>; MOST_WORDS.len()]>::default();
    for (line, text) in source.iter().enumerate() {
        buckets[MOST_WORDS.partition_point(|most| *most < words(text))].push(line);
    }
    buckets
}

/// How many words a line has.
pub(crate) fn words(line: &str) -> usize {
    line.split_whitespace().count()
}

fn label(bucket: usize) -> String {
    let first = |before: usize| MOST_WORDS[before] + 1;
    match (bucket.checked_sub(1), MOST_WORDS[bucket]) {
        (None, most) => format!("up to {most}"),
        (Some(before), usize::MAX) => format!("{} and more", first(before)),
        (Some(before), most) => format!("{}–{most}", first(before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_in_the_bucket_of_its_number_of_words() {
        let source: Vec<String> = [0, 10, 11, 15, 16, 41, 400].map(|words| "w ".repeat(words)).into();
        let lines = lines_of_buckets(&source);
        assert_eq!(lines, [vec![0, 1], vec![2, 3], vec![4], vec![], vec![], vec![5, 6]]);
    }

    #[test]
    fn buckets_say_their_limits() {
        assert_eq!([label(0), label(1), label(5)], ["up to 10", "11–15", "41 and more"]);
    }
}
