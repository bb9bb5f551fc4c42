//! The columns of the tables.

use serde::{Deserialize, Serialize};

/// A metric, to the last detail that moves its figure. Figures are compared within one column only.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// BLEU on text tokenised by sacreBLEU's `13a`.
    #[serde(rename = "bleu-13a")]
    Bleu13a,
    /// BLEU on text tokenised by sacreBLEU's `intl`.
    BleuIntl,
    /// BLEU on tokenised text with hyphenated compounds split.
    BleuSplit,
    /// BLEU on the tokens as they stand.
    BleuNone,
    /// BLEU of a variant that its source does not state.
    BleuUnstated,
    /// chrF.
    Chrf,
    /// Translation edit rate.
    Ter,
}

impl Metric {
    /// The head of its column.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Bleu13a => "BLEU 13a",
            Self::BleuIntl => "BLEU intl",
            Self::BleuSplit => "BLEU tokenised, compounds split",
            Self::BleuNone => "BLEU on given tokens",
            Self::BleuUnstated => "BLEU, variant not stated",
            Self::Chrf => "chrF",
            Self::Ter => "TER",
        }
    }
}
