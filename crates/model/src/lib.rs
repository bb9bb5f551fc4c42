//! The Transformer of RoFormer (arXiv 2104.09864, section 4.1) in burn: the definition that the CPU engine must agree
//! with.
//!
//! This room knows tensors, positions, masks and the model directory. It refuses to know strings and optimizers.

pub mod attention;
pub mod average;
pub mod config;
pub mod decoder;
pub mod directory;
pub mod dropout;
pub mod error;
pub mod initial;
pub mod layer;
pub mod linear;
pub mod ops;
pub mod parameters;
pub mod position;
pub mod sequence;
pub mod transformer;

pub use config::{Embeddings, NormPlacement, Positions, RopeLayout, TransformerConfig};
pub use error::ModelError;
pub use ops::FusedOps;
pub use sequence::Sequences;
pub use transformer::Transformer;
pub use umlaut_kernels::precision::Precision;
