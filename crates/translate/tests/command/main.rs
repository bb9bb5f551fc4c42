//! The program as a user meets it: real runs with a tiny random model.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod batching;
mod copies;
mod decoding;
mod failure;
mod lines;
mod model;
mod program;
mod scoring;
mod shards;
mod shortlist;
mod streams;
mod text;
mod throughput;
