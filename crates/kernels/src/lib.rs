//! CPU arithmetic: matrix products and the fused operations of training and inference.
//!
//! The one room where `unsafe` may live; each block says why it is sound. It refuses to know models, strings and burn:
//! everything here takes slices and shapes.

pub mod bf16;
mod dispatch;
pub mod inference;
pub mod precision;
pub mod sgemm;
#[cfg(target_arch = "x86_64")]
mod tiles;
pub mod training;
