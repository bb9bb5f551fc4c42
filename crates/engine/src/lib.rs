//! CPU inference from a model directory: packed weights, the encoder, and one decoder step at a time for the search.
//!
//! It knows tensors by their names in `model.safetensors` and tokens by their numbers; it refuses to know burn and
//! strings, and does no I/O outside the model directory. Everything runs on the calling thread: a program uses its cores
//! by giving each a batch of its own.

mod config;
mod decoder;
mod encoder;
mod engine;
mod error;
mod layer;
mod linear;
mod output;
mod paths;
mod position;
mod quantise;
mod weights;

pub use config::{Config, EmbeddingKind, NormPlacement, PositionKind, RopeLayout};
pub use decoder::Decoder;
pub use engine::Engine;
pub use error::EngineError;
pub use output::TOKENS_AT_A_TIME;
pub use quantise::quantise_model;
pub use umlaut_kernels::inference::{Isa, Precision, with_isa_at_most};

/// The model's shape, in a model directory.
const CONFIG_FILE: &str = "config.json";
/// The model's weights, in a model directory.
const WEIGHTS_FILE: &str = "model.safetensors";
