//! The engine's tests: against a plain forward pass, against itself in other company, and against forged models.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod equivalence;
mod forced;
mod forged;
mod golden;
mod quantised;
mod reference;
mod within;
