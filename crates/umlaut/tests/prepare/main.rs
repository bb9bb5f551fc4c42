//! The real program against a server of our own: data sets from the first request to the last shard.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::format_push_string, clippy::format_collect, reason = "descriptions and answers are built by hand")]

mod download;
mod kitchen;
mod outcome;
mod refusal;
mod restart;
mod server;
