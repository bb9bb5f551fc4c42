//! Training: recipes, updates, schedules, checkpoints that resume bit for bit, and the log of a run.
//!
//! A run may be shared by several processes: see [`group`].
//!
//! This room knows text, tensors and files. It refuses to know the command line.

pub mod bench;
pub mod checkpoint;
pub mod compare;
pub mod data;
pub mod error;
pub mod exchange;
pub mod group;
mod keeper;
pub mod log;
pub mod optimizer;
mod pace;
pub mod page;
pub mod recipe;
pub mod replicas;
pub mod schedule;
mod start;
pub mod trainer;
pub mod update;
pub mod validation;

pub use error::TrainError;
pub use recipe::Recipe;
pub use trainer::{Outcome, Trainer};
