//! Modules that hold parameters: linear maps, norms and embeddings.

use burn::module::{Module, Param};
use burn::tensor::{Tensor, backend::Backend};
use umlaut_kernels::training::linear::Activation;

use crate::Precision;
use crate::initial::Initial;
use crate::ops::{FusedOps, float, tensor};

/// y = act(x Wᵀ + b).
#[derive(Module, Debug)]
pub struct Linear<B: Backend> {
    /// W, `[d_out, d_in]`: PyTorch's orientation, in memory as in the file.
    pub weight: Param<Tensor<B, 2>>,
    /// b, `[d_out]`.
    pub bias: Param<Tensor<B, 1>>,
    #[module(skip)]
    precision: Precision,
}

impl<B: FusedOps> Linear<B> {
    /// Weights uniform in ±gain sqrt(6 / (d_in + d_out)) (Glorot and Bengio 2010), biases zero.
    #[must_use]
    pub fn init([d_in, d_out]: [usize; 2], gain: f64, precision: Precision, initial: &mut Initial<'_, B>) -> Self {
        let bound = gain * (6.0 / (d_in + d_out) as f64).sqrt();
        Self { weight: initial.uniform([d_out, d_in], bound), bias: initial.constant(d_out, 0.0), precision }
    }

    /// x Wᵀ + b.
    ///
    /// # Shapes
    /// `[rows, d_in]` to `[rows, d_out]`.
    pub fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        self.apply(x, Activation::Identity)
    }

    /// max(0, x Wᵀ + b).
    ///
    /// # Shapes
    /// `[rows, d_in]` to `[rows, d_out]`.
    pub fn forward_relu(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        self.apply(x, Activation::Relu)
    }

    fn apply(&self, x: Tensor<B, 2>, activation: Activation) -> Tensor<B, 2> {
        let (weight, bias) = (float(self.weight.val()), float(self.bias.val()));
        tensor(B::fused_linear(float(x), weight, bias, activation, self.precision))
    }
}

/// Layer normalisation (arXiv 1607.06450).
#[derive(Module, Debug)]
pub struct Norm<B: Backend> {
    /// The gain, `[d_model]`.
    pub weight: Param<Tensor<B, 1>>,
    /// The shift, `[d_model]`.
    pub bias: Param<Tensor<B, 1>>,
    epsilon: f64,
}

impl<B: FusedOps> Norm<B> {
    /// The identity on normalised rows.
    #[must_use]
    pub fn init(d_model: usize, epsilon: f64, initial: &Initial<'_, B>) -> Self {
        Self { weight: initial.constant(d_model, 1.0), bias: initial.constant(d_model, 0.0), epsilon }
    }

    /// (x - mean) / sqrt(variance + epsilon) * weight + bias over each row.
    ///
    /// # Shapes
    /// `[rows, d_model]` to the same.
    pub fn forward(&self, x: Tensor<B, 2>) -> Tensor<B, 2> {
        tensor(B::fused_norm(float(x), float(self.weight.val()), float(self.bias.val()), self.epsilon as f32))
    }
}

/// An embedding matrix.
#[derive(Module, Debug)]
pub struct Embedding<B: Backend> {
    /// `[vocab, d_model]`.
    pub weight: Param<Tensor<B, 2>>,
}

impl<B: FusedOps> Embedding<B> {
    /// Normal with standard deviation 1 / sqrt(d_model).
    #[must_use]
    pub fn init(vocab: usize, d_model: usize, initial: &mut Initial<'_, B>) -> Self {
        Self { weight: initial.normal([vocab, d_model], (d_model as f64).powf(-0.5)) }
    }

    /// weight\[id\] * sqrt(d_model).
    ///
    /// # Shapes
    /// `[rows]` to `[rows, d_model]`.
    pub fn forward(&self, ids: &[u32]) -> Tensor<B, 2> {
        let scale = (self.weight.shape().dims::<2>()[1] as f32).sqrt();
        tensor(B::fused_embed(float(self.weight.val()), ids, scale))
    }
}
