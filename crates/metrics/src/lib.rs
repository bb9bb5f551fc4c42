//! BLEU, chrF and TER, each printed with the signature that makes it reproducible, with bootstrap intervals, paired
//! significance tests and comparisons over several seeds.
//!
//! Scores equal those of sacreBLEU 2.6.0 (Post, 2018, "A Call for Clarity in Reporting BLEU Scores") wherever both
//! define them; the golden tests hold the two together. What differs, on purpose:
//!
//! - a byte-order mark at the start of a stream is skipped (sacreBLEU scores it as part of the first word);
//! - unequal line counts are an error everywhere (sacreBLEU's Python call cuts to the shorter side);
//! - SGML and XML files are refused by name instead of being scored as text;
//! - the resampling draws come from another random generator, so intervals and p-values agree with sacreBLEU's within
//!   Monte-Carlo error, and with themselves to the last bit;
//! - the signature ends in `version:umlaut-…`, because this is not sacreBLEU.
//!
//! The room knows text lines only: no tensor, no model, no file.
//!
//! ```
//! use umlaut_metrics::{Tokenizer, corpus_bleu};
//!
//! let hypotheses = vec!["Die Katze sitzt auf der Matte .".to_string()];
//! let references = vec!["Die Katze sitzt auf der Matte.".to_string()];
//! let bleu = corpus_bleu(&hypotheses, &references, Tokenizer::V13a)?;
//! assert_eq!(format!("{:.1}", bleu.score), "100.0");
//! # Ok::<(), umlaut_metrics::MetricError>(())
//! ```

mod bleu;
mod chrf;
mod compound;
mod corpus;
mod error;
mod evaluation;
mod metric;
mod resample;
mod score;
mod seeds;
mod signature;
mod significance;
mod statistics;
mod ter;
mod tokenizer;
mod warning;
mod whitespace;

pub use bleu::{Bleu, BleuScore, Smoothing, corpus_bleu};
pub use chrf::{Averaging, Chrf};
pub use compound::{Compounds, split_compounds};
pub use corpus::{Corpus, TestSet};
pub use error::MetricError;
pub use evaluation::{Baseline, Evaluation};
pub use metric::{Metric, Options};
pub use resample::Resampling;
pub use score::Score;
pub use seeds::{Range, Runs, SeedComparison, compare_seeds};
pub use signature::Signature;
pub use significance::{Comparison, Interval, PairedTest, compare, confidence};
pub use statistics::Statistics;
pub use ter::{Punctuation, Ter};
pub use tokenizer::{Case, Tokenizer};
pub use warning::Warning;
