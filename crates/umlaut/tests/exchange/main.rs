//! `umlaut export` and `umlaut import`: round trips, the real CTranslate2's models, refusals.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod golden;
mod kitchen;
mod refusal;
mod round_trip;
