//! Whole runs in a fresh folder.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod alone;
mod kitchen;
mod together;
mod warm;
