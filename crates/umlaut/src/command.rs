//! The subcommands: each parses, builds and runs.

pub(crate) mod average;
pub(crate) mod device;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod prepare;
pub(crate) mod score;
pub(crate) mod shortlist;
pub(crate) mod table;
pub(crate) mod train;
pub(crate) mod vocab;
