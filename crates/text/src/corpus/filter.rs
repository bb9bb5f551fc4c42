//! Which sentence pairs training keeps, and a count of the others by reason.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a pair must satisfy to be kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PairFilter {
    /// Longest side, in tokens without eos; `None` for no limit.
    pub max_tokens: Option<usize>,
    /// Longer side over shorter side, in tokens; `None` for no limit.
    pub max_length_ratio: Option<f64>,
    /// What happens to a pair of which a side is blank.
    pub empty_side: EmptySide,
}

/// What happens to a pair of which a side is blank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmptySide {
    /// It is dropped and counted.
    #[default]
    Drop,
    /// It stays, as training on the empty sentence or as a line of a test set.
    Keep,
}

/// Why a pair was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dropped {
    NotSelected,
    Empty,
    TooLong,
    Ratio,
}

impl PairFilter {
    /// The first reason to drop a pair of these lengths (tokens without eos).
    pub(super) fn reason(&self, src_len: usize, tgt_len: usize) -> Option<Dropped> {
        let (shorter, longer) = (src_len.min(tgt_len), src_len.max(tgt_len));
        if shorter == 0 && self.empty_side == EmptySide::Drop {
            Some(Dropped::Empty)
        } else if self.max_tokens.is_some_and(|max| longer > max) {
            Some(Dropped::TooLong)
        } else if shorter > 0 && self.max_length_ratio.is_some_and(|max| longer as f64 / shorter as f64 > max) {
            Some(Dropped::Ratio)
        } else {
            None
        }
    }
}

/// How many pairs were read, kept, and dropped for which reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilterReport {
    /// Pairs read, and those made of them.
    pub read: u64,
    /// Of these, pairs that were made.
    pub made: u64,
    /// Pairs kept.
    pub kept: u64,
    /// Dropped: of a corpus that was not selected.
    pub not_selected: u64,
    /// Dropped: a side is blank.
    pub empty: u64,
    /// Dropped: a side is longer than the limit.
    pub too_long: u64,
    /// Dropped: the sides' lengths differ too much.
    pub ratio: u64,
}

impl FilterReport {
    pub(super) fn count(&mut self, verdict: Option<Dropped>) {
        self.read += 1;
        match verdict {
            None => self.kept += 1,
            Some(Dropped::NotSelected) => self.not_selected += 1,
            Some(Dropped::Empty) => self.empty += 1,
            Some(Dropped::TooLong) => self.too_long += 1,
            Some(Dropped::Ratio) => self.ratio += 1,
        }
    }

    /// Both counts together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            read: self.read + other.read,
            made: self.made + other.made,
            kept: self.kept + other.kept,
            not_selected: self.not_selected + other.not_selected,
            empty: self.empty + other.empty,
            too_long: self.too_long + other.too_long,
            ratio: self.ratio + other.ratio,
        }
    }
}

impl fmt::Display for FilterReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} pairs read", self.read - self.made)?;
        if self.made > 0 {
            write!(f, ", {} made of them", self.made)?;
        }
        write!(f, ", {} kept", self.kept)?;
        let reasons = [
            (self.not_selected, "not selected"),
            (self.empty, "with a blank side"),
            (self.too_long, "too long"),
            (self.ratio, "of too different lengths"),
        ];
        for (count, reason) in reasons.iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {reason}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_at_a_limit_is_kept_and_one_beyond_is_not() {
        let filter = PairFilter { max_tokens: Some(40), max_length_ratio: Some(4.0), ..PairFilter::default() };
        let cases =
            [((40, 10), None), ((10, 40), None), ((41, 40), Some(Dropped::TooLong)), ((9, 37), Some(Dropped::Ratio))];
        for ((src_len, tgt_len), reason) in cases {
            assert_eq!(filter.reason(src_len, tgt_len), reason, "{src_len} and {tgt_len}");
        }
    }
}
