//! The arithmetic of training's matrix products.

#[cfg(target_arch = "x86_64")]
use crate::bf16::Packed;
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

/// The right operand of several products, prepared once.
#[derive(Debug)]
pub enum Prepared<'a> {
    /// As it is.
    Plain(Matrix<'a>),
    /// Rounded and laid out for a unit.
    #[cfg(target_arch = "x86_64")]
    Packed(Packed),
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

    /// Prepares the right operand of several products.
    #[must_use]
    pub fn prepare(self, b: Matrix<'_>) -> Prepared<'_> {
        match (self, Unit::detect()) {
            #[cfg(target_arch = "x86_64")]
            (Self::Bf16, Some(unit)) => Prepared::Packed(unit.pack(b, Workers::Pool)),
            _ => Prepared::Plain(b),
        }
    }
}

impl Prepared<'_> {
    /// `c = a · b`, or `c += a · b`, b being this: what [`Precision::product`] makes of it.
    ///
    /// # Panics
    /// If the shapes do not fit.
    pub fn product(&self, c: MatrixMut<'_>, onto: Onto, a: Matrix<'_>, workers: Workers) {
        match self {
            Self::Plain(b) => sgemm(c, onto, a, *b, workers),
            #[cfg(target_arch = "x86_64")]
            Self::Packed(b) => b.product(c, onto, a, workers),
        }
    }
}
