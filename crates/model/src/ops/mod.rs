//! The operations that a Transformer is made of, each fused where a backend can.
//!
//! [`composed`] writes every one in burn's own operations: that is their definition, and what backends without fused
//! kernels run, `cuda` among them. `flex` calls the CPU kernels, and `autodiff` records those with their own gradients.

mod autodiff;
pub mod composed;
#[cfg(feature = "cuda")]
mod cuda;
mod flex;

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::strategy::BalancedCheckpointing;
use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Tensor, TensorPrimitive};
use burn_flex::Flex;
use umlaut_kernels::precision::Precision;
use umlaut_kernels::training::attention::Direction;
use umlaut_kernels::training::dropout::DropoutMask;
use umlaut_kernels::training::linear::Activation;

pub use umlaut_kernels::training::adam::AdamStep;
pub use umlaut_kernels::training::cross_entropy::{Criterion, IGNORED};

/// Training on the processor: what is cheap to make again is not kept for the backward pass.
pub type CpuAutodiff = Autodiff<Flex, BalancedCheckpointing>;

/// Shapes, masks and dropout of an attention.
#[derive(Clone, Debug)]
pub struct AttentionSpec {
    /// Number of heads.
    pub n_heads: usize,
    /// Rows of queries a sentence.
    pub q_len: usize,
    /// Rows of keys a sentence.
    pub k_len: usize,
    /// Real keys of each sentence, `[batch]`.
    pub key_lengths: Vec<usize>,
    /// Whether later keys are hidden.
    pub direction: Direction,
    /// Dropout on the probabilities.
    pub dropout: Option<DropoutMask>,
    /// What the products are computed in.
    pub precision: Precision,
}

/// A backend that runs the model's operations.
///
/// Tensors are primitives so that backends can implement the trait; [`float`] and [`tensor`] go between them and
/// burn's tensors. Ids are host arrays: they come from the batch, never from the device.
pub trait FusedOps: Backend {
    /// Whether an operation runs on the thread that asks for it: only then have parts of an update something to gain from
    /// threads of their own.
    const RUNS_ON_CALLER: bool = false;

    /// act(x Wᵀ + b): `[rows, d_in]`, `[d_out, d_in]`, `[d_out]` to `[rows, d_out]`.
    fn fused_linear(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        activation: Activation,
        precision: Precision,
    ) -> FloatTensor<Self> {
        composed::linear::<Self>(x, weight, bias, activation, precision)
    }

    /// Layer normalisation of each row of `[rows, d_model]`.
    fn fused_norm(
        x: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f32,
    ) -> FloatTensor<Self> {
        composed::norm::<Self>(x, weight, bias, epsilon)
    }

    /// weight\[id\] * scale: `[vocab, d_model]` and `[rows]` ids to `[rows, d_model]`.
    fn fused_embed(weight: FloatTensor<Self>, ids: &[u32], scale: f32) -> FloatTensor<Self> {
        composed::embed::<Self>(weight, ids, scale)
    }

    /// dropout(x).
    fn fused_dropout(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        composed::dropout::<Self>(x, mask)
    }

    /// x + dropout(y).
    fn fused_add_dropout(x: FloatTensor<Self>, y: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        Self::float_add(x, Self::fused_dropout(y, mask))
    }

    /// Attention over heads: queries `[batch * q_len, d_model]`, keys and values `[batch * k_len, d_model]`, tables
    /// (cos, sin) of the rotation when there is one; returns `[batch * q_len, d_model]`.
    fn fused_attention(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        rotary: Option<(FloatTensor<Self>, FloatTensor<Self>)>,
        spec: AttentionSpec,
    ) -> FloatTensor<Self> {
        composed::attention::<Self>(query, key, value, rotary, &spec)
    }

    /// The criterion's loss of hidden · projectionᵀ and the plain negative log-likelihood, summed over the rows whose
    /// target is not [`IGNORED`]: `[rows, d_model]`, `[vocab, d_model]`, `[rows]` targets to `[2]`. With R-Drop the
    /// second half of the rows is the first once more, and each pair of them counts as one.
    ///
    /// Only the first has a gradient: nothing is trained on the second.
    fn fused_cross_entropy(
        hidden: FloatTensor<Self>,
        projection: FloatTensor<Self>,
        targets: &[u32],
        criterion: Criterion,
        precision: Precision,
    ) -> FloatTensor<Self> {
        composed::cross_entropy::<Self>(hidden, projection, targets, criterion, precision)
    }

    /// An update of Adam: flat or shaped parameter, flat gradient and both moments to parameter and moments.
    fn fused_adam(state: [FloatTensor<Self>; 4], step: AdamStep) -> [FloatTensor<Self>; 3] {
        composed::adam::<Self>(state, step)
    }

    /// All elements of `numbers`, and the sum of the squares of all elements of `squared`: what an update must know before
    /// its step, in one read of the device.
    #[must_use]
    fn read_with_squares(numbers: Vec<FloatTensor<Self>>, squared: Vec<FloatTensor<Self>>) -> (Vec<f64>, f64) {
        composed::read_with_squares::<Self>(numbers, squared)
    }

    /// The `k` greatest of each row of `[rows, columns]`, greatest first, with their columns: `[rows * k]`, in one read of
    /// the device.
    fn read_greatest(x: FloatTensor<Self>, k: usize) -> Vec<(u32, f32)> {
        composed::read_greatest::<Self>(x, k)
    }
}

/// A tensor's primitive.
pub fn float<B: Backend, const D: usize>(x: Tensor<B, D>) -> FloatTensor<B> {
    x.into_primitive().tensor()
}

/// A primitive's tensor.
#[must_use]
pub fn tensor<B: Backend, const D: usize>(x: FloatTensor<B>) -> Tensor<B, D> {
    Tensor::from_primitive(TensorPrimitive::Float(x))
}
