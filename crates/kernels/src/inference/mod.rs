//! Inference: products with packed weights in f32 and int8, normalisation, attention and the search's best tokens.
//!
//! Everything here keeps one promise besides speed: a row's result is a function of that row alone. The order in which
//! its sums are taken depends on shapes of the weights, never on how many rows there are or where among them it stands.

mod activations;
mod attention;
mod buffer;
mod exp;
mod gather;
mod given_class;
mod linear;
mod matrix;
mod norm;
mod product;
mod rotary;
mod simd;
mod slots;
mod stored;
#[cfg(target_arch = "x86_64")]
mod tiled;
mod top_k;

pub use activations::Activations;
pub use attention::{HeadShape, KeyValues};
pub use given_class::GivenClass;
pub use matrix::{Matrix, PANEL, Precision, quantise_weights};
pub use norm::{Norm, normalise};
pub use product::{Write, product};
pub use rotary::{RotaryTable, rotate};
pub use simd::{Isa, with_isa_at_most};
pub use slots::SlotCache;
pub use top_k::TopK;
