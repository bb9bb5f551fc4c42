//! Corpora: files of lines, alone or in step, and the sentences that training keeps of them.

mod augment;
mod bitext;
mod filter;
pub mod framing;
mod line;
mod sentences;

pub use augment::{Augment, Augmenter};
pub use bitext::{BitextFiles, BitextReader, Pair, load_augmented, load_pairs};
pub use filter::{EmptySide, FilterReport, PairFilter};
pub use line::{LineReader, read_lines};
pub use sentences::{PairCorpus, Sentences};
