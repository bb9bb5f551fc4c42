//! The arithmetic of training's matrix products.

use crate::bf16::Unit;
use crate::sgemm::{Matrix, MatrixMut, Onto, Workers, sgemm};

/// What the operands of a matrix product are rounded to. Sums are f32 always, and so are parameters and activations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// Nothing: 24 bits.
    #[default]
    F32,
    /// 8 bits, where the processor multiplies them ([`Unit::detect`]); elsewhere as [`F32`](Self::F32).
    Bf16,
}

impl Precision {
    /// `c = a · b`, or `c += a · b`.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(self, c: MatrixMut<'_>, onto: Onto, a: Matrix<'_>, b: Matrix<'_>, workers: Workers) {
        match (self, Unit::detect()) {
            (Self::Bf16, Some(unit)) => unit.product(c, onto, a, b, workers),
            _ => sgemm(c, onto, a, b, workers),
        }
    }
}
