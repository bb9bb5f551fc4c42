//! Sufficient statistics: per line, the counts from which a corpus score can be computed without the text.

use crate::corpus::{Corpus, Segment};

/// Sufficient statistics of one system under one metric, `[lines, width]`.
///
/// A corpus score is a function of the column sums alone, so resampling lines costs additions only.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    lines: usize,
    width: usize,
    values: Vec<f64>, // [lines * width]
}

impl Statistics {
    /// Collects the rows of `width` numbers that `of_segment` computes for each line of `corpus`.
    pub(crate) fn collect(corpus: &Corpus<'_>, width: usize, of_segment: impl Fn(&Segment<'_>) -> Vec<f64>) -> Self {
        let values = corpus.segments().flat_map(|segment| of_segment(&segment)).collect();
        Self { lines: corpus.lines(), width, values }
    }

    /// The number of lines.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.lines
    }

    /// The statistics of one line, counted from 0.
    ///
    /// # Panics
    /// If there is no such line.
    #[must_use]
    pub fn row(&self, line: usize) -> &[f64] {
        &self.values[line * self.width..(line + 1) * self.width]
    }

    /// The statistics of the given lines, counted from 0, each as often as it is named: those of a part of the text.
    ///
    /// # Panics
    /// If there is no such line.
    #[must_use]
    pub fn select(&self, lines: &[usize]) -> Self {
        let values = lines.iter().flat_map(|&line| self.row(line)).copied().collect();
        Self { lines: lines.len(), width: self.width, values }
    }

    /// The column sums over all lines, `[width]`.
    #[must_use]
    pub fn total(&self) -> Vec<f64> {
        self.total_of(0..self.lines())
    }

    /// The column sums over the given lines, each as often as it is named, `[width]`.
    pub(crate) fn total_of(&self, lines: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let mut total = vec![0.0; self.width];
        for line in lines {
            add(&mut total, self.row(line));
        }
        total
    }
}

/// Adds `row` to `total`, column by column.
pub(crate) fn add(total: &mut [f64], row: &[f64]) {
    for (sum, value) in total.iter_mut().zip(row) {
        *sum += value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    #[test]
    fn the_score_of_some_lines_is_that_of_a_text_of_them() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        let (hypotheses, references) =
            (lines("der Hund\ndie Katze\ndas Haus"), lines("der Hund\neine Katze\nein Haus"));
        let metric: Metric = "chrf".parse().unwrap();
        let statistics = metric.statistics(&Corpus::new(&hypotheses, &[&references]).unwrap()).unwrap();
        let part = metric.score(&Corpus::new(&hypotheses[1..], &[&references[1..]]).unwrap()).unwrap();
        assert_eq!(metric.score_of(&statistics.select(&[1, 2]), 1), part);
        assert_eq!(statistics.select(&[0, 1, 2]), statistics);
    }
}
