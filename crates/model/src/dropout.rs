//! Where dropout's masks come from: a stream of seeds, one for each site of a forward pass.

use burn::tensor::Tensor;
use umlaut_kernels::training::dropout::DropoutMask;

use crate::ops::{FusedOps, float, tensor};

/// The dropout of one forward pass.
///
/// A pass asks for its masks in a fixed order, so that one seed fixes all of them: training needs no other random
/// state, and a resumed run drops what it would have dropped.
#[derive(Clone, Debug)]
pub struct Dropout {
    seed: Option<u64>,
    sites: u64,
}

impl Dropout {
    /// No dropout: inference and validation.
    #[must_use]
    pub fn off() -> Self {
        Self { seed: None, sites: 0 }
    }

    /// The dropout of the pass with this seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed: Some(seed), sites: 0 }
    }

    /// The mask of the next site, if anything drops there.
    pub fn mask(&mut self, probability: f32) -> Option<DropoutMask> {
        let seed = self.seed.filter(|_| probability > 0.0)?;
        self.sites += 1;
        Some(DropoutMask { probability, seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (self.sites << 40) })
    }

    /// dropout(x).
    pub fn apply<B: FusedOps>(&mut self, x: Tensor<B, 2>, probability: f32) -> Tensor<B, 2> {
        match self.mask(probability) {
            Some(mask) => tensor(B::fused_dropout(float(x), mask)),
            None => x,
        }
    }

    /// x + dropout(y).
    pub fn add<B: FusedOps>(&mut self, x: Tensor<B, 2>, y: Tensor<B, 2>, probability: f32) -> Tensor<B, 2> {
        match self.mask(probability) {
            Some(mask) => tensor(B::fused_add_dropout(float(x), float(y), mask)),
            None => x + y,
        }
    }
}
