//! Corpora: files of lines, alone or in step, and the sentences that training keeps of them.

mod augment;
mod bitext;
mod cleaning;
mod filter;
pub mod framing;
mod line;
mod made_up;
mod sentences;
pub mod sgml;
pub mod shard;

pub use augment::{Augment, Augmenter};
pub use bitext::{BitextFiles, BitextReader, Pair, PairCutter, load_augmented, load_pairs};
pub use cleaning::{CleanReport, Cleaning, RawLines, clean_pairs};
pub use filter::{EmptySide, FilterReport, PairFilter};
pub use line::{LineReader, read_lines};
pub use sentences::{PairCorpus, Sentences};
pub use shard::ShardSet;
