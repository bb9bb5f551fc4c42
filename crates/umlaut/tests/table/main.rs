//! `umlaut table` on a toy ledger: what it translates, scores, compares, writes and refuses.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod kitchen;
mod reached;
mod refused;
mod seeds;
mod study;
