//! The engine against the definition: the burn model with the same weights, on drawn models, sentences and searches.
//!
//! `UMLAUT_FUZZ_CASES=100000 cargo test -p umlaut-engine --release --test definition` goes on for as long as one likes;
//! a failure names the number of its case, and `UMLAUT_FUZZ_FIRST` begins there.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod agreement;
mod case;
mod fuzz;
