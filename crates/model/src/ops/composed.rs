//! The operations in burn's own terms: their definition.

use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Bool, Distribution, ElementConversion, Int, Tensor, TensorData, TensorMetadata, activation};
use umlaut_kernels::training::adam::AdamStep;
use umlaut_kernels::training::attention::Direction;
use umlaut_kernels::training::dropout::DropoutMask;
use umlaut_kernels::training::linear::Activation;

use super::{AttentionSpec, IGNORED, float, tensor};

/// See [`fused_linear`](super::FusedOps::fused_linear).
pub fn linear<B: Backend>(
    x: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    activation: Activation,
) -> FloatTensor<B> {
    let (x, weight, bias) = (tensor::<B, 2>(x), tensor::<B, 2>(weight), tensor::<B, 1>(bias));
    let y = x.matmul(weight.transpose()) + bias.unsqueeze();
    float(match activation {
        Activation::Identity => y,
        Activation::Relu => activation::relu(y),
    })
}

/// See [`fused_norm`](super::FusedOps::fused_norm).
pub fn norm<B: Backend>(
    x: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    epsilon: f32,
) -> FloatTensor<B> {
    let (x, weight, bias) = (tensor::<B, 2>(x), tensor::<B, 1>(weight), tensor::<B, 1>(bias));
    let centred = x.clone() - x.mean_dim(1);
    let variance = centred.clone().powi_scalar(2).mean_dim(1);
    float(centred / (variance + epsilon).sqrt() * weight.unsqueeze() + bias.unsqueeze())
}

/// See [`fused_embed`](super::FusedOps::fused_embed).
pub fn embed<B: Backend>(weight: FloatTensor<B>, ids: &[u32], scale: f32) -> FloatTensor<B> {
    let weight = tensor::<B, 2>(weight);
    let ids = ids_tensor(ids, &weight.device());
    float(weight.select(0, ids) * scale)
}

/// Dropout whose mask is drawn by the backend: the same seed need not give the same mask on every backend.
pub fn dropout<B: Backend>(x: FloatTensor<B>, mask: DropoutMask) -> FloatTensor<B> {
    let x = tensor::<B, 2>(x);
    let stays = f64::from(1.0 - mask.probability);
    let kept = Tensor::random(x.shape(), Distribution::Bernoulli(stays), &x.device());
    float(x * kept / stays)
}

/// See [`fused_attention`](super::FusedOps::fused_attention).
///
/// # Panics
/// With dropout on the probabilities, which only fused kernels have.
pub fn attention<B: Backend>(
    query: FloatTensor<B>,
    key: FloatTensor<B>,
    value: FloatTensor<B>,
    rotary: Option<(FloatTensor<B>, FloatTensor<B>)>,
    spec: &AttentionSpec,
) -> FloatTensor<B> {
    let query = tensor::<B, 2>(query);
    let (batch, d_model) = (spec.key_lengths.len(), query.dims()[1]);
    let device = query.device();
    let split = |x: Tensor<B, 2>, len| {
        x.reshape([batch, len, spec.n_heads, d_model / spec.n_heads]).swap_dims(1, 2) // [batch, n_heads, len, d_head]
    };
    let (mut query, mut key) = (split(query, spec.q_len), split(tensor(key), spec.k_len));
    if let Some((cos, sin)) = rotary {
        let (cos, sin) = (tensor::<B, 2>(cos), tensor::<B, 2>(sin));
        query = rotate(query, cos.clone(), sin.clone(), 0);
        key = rotate(key, cos, sin, 0);
    }
    let is_hidden = hidden_keys(spec, &device);
    let mixed = attend(query, key, split(tensor(value), spec.k_len), is_hidden, spec.dropout);
    float(mixed.swap_dims(1, 2).reshape([batch * spec.q_len, d_model]))
}

/// softmax(q kᵀ / sqrt(d_head)) v over the keys that `is_hidden` does not hide.
///
/// # Shapes
/// `query` `[batch, n_heads, q_len, d_head]`, `key` and `value` `[batch, n_heads, k_len, d_head]`, `is_hidden`
/// `[batch, 1, q_len, k_len]` or with lengths of 1.
pub fn attend<B: Backend>(
    query: Tensor<B, 4>,
    key: Tensor<B, 4>,
    value: Tensor<B, 4>,
    is_hidden: Tensor<B, 4, Bool>,
    dropout: Option<DropoutMask>,
) -> Tensor<B, 4> {
    let scale = (query.dims()[3] as f64).powf(-0.5);
    let scores = query.matmul(key.transpose()) * scale;
    let shape = scores.dims();
    let mut probabilities = activation::softmax(scores.mask_fill(is_hidden.expand(shape), -1e30), 3);
    if let Some(mask) = dropout {
        let stays = f64::from(1.0 - mask.probability);
        let kept = Tensor::random(shape, Distribution::Bernoulli(stays), &probabilities.device());
        probabilities = probabilities * kept / stays;
    }
    probabilities.matmul(value)
}

/// Turns each pair (2i, 2i + 1) of `x` `[batch, n_heads, len, d_head]` by the angles of positions from `first` on.
pub fn rotate<B: Backend>(x: Tensor<B, 4>, cos: Tensor<B, 2>, sin: Tensor<B, 2>, first: usize) -> Tensor<B, 4> {
    let [batch, n_heads, len, d_head] = x.dims();
    let half = d_head / 2;
    let table = |t: Tensor<B, 2>| t.slice([first..first + len, 0..half]).reshape([1, 1, len, half, 1]);
    let (cos, sin) = (table(cos), table(sin));
    let pairs = x.reshape([batch, n_heads, len, half, 2]);
    let even = pairs.clone().narrow(4, 0, 1);
    let odd = pairs.narrow(4, 1, 1);
    let turned = vec![even.clone() * cos.clone() - odd.clone() * sin.clone(), even * sin + odd * cos];
    Tensor::cat(turned, 4).reshape([batch, n_heads, len, d_head])
}

/// True where a key is padding or, with [`Direction::Past`], comes after the query: `[batch, 1, q_len, k_len]`.
fn hidden_keys<B: Backend>(spec: &AttentionSpec, device: &B::Device) -> Tensor<B, 4, Bool> {
    let (batch, q_len, k_len) = (spec.key_lengths.len(), spec.q_len, spec.k_len);
    let mut is_hidden = Vec::with_capacity(batch * q_len * k_len);
    for real in &spec.key_lengths {
        for query in 0..q_len {
            let seen = match spec.direction {
                Direction::Both => *real,
                Direction::Past => (*real).min(query + 1),
            };
            is_hidden.extend((0..k_len).map(|key| key >= seen));
        }
    }
    Tensor::from_data(TensorData::new(is_hidden, [batch, 1, q_len, k_len]), device)
}

/// See [`fused_cross_entropy`](super::FusedOps::fused_cross_entropy).
pub fn cross_entropy<B: Backend>(
    hidden: FloatTensor<B>,
    projection: FloatTensor<B>,
    targets: &[u32],
    smoothing: f32,
) -> FloatTensor<B> {
    let (hidden, projection) = (tensor::<B, 2>(hidden), tensor::<B, 2>(projection));
    let (device, rows) = (hidden.device(), targets.len());
    let weights: Vec<f32> = targets.iter().map(|t| f32::from(u8::from(*t != IGNORED))).collect();
    let counts = Tensor::<B, 1>::from_data(TensorData::new(weights, [rows]), &device);
    let classes: Vec<u32> = targets.iter().map(|t| if *t == IGNORED { 0 } else { *t }).collect();
    let classes = ids_tensor::<B>(&classes, &device).reshape([rows, 1]);
    let log_probs = activation::log_softmax(hidden.matmul(projection.transpose()), 1); // [rows, vocab]
    let nll = log_probs.clone().gather(1, classes).reshape([rows]).neg() * counts.clone();
    let uniform = log_probs.mean_dim(1).reshape([rows]).neg() * counts;
    let smoothed = nll.clone() * (1.0 - smoothing) + uniform * smoothing;
    float(Tensor::cat(vec![smoothed.sum(), nll.detach().sum()], 0))
}

/// See [`fused_adam`](super::FusedOps::fused_adam).
pub fn adam<B: Backend>(state: [FloatTensor<B>; 4], step: AdamStep) -> [FloatTensor<B>; 3] {
    let shape = state[0].shape();
    let [parameter, gradient, first, second] = state.map(flat::<B>);
    let gradient = gradient * step.gradient_scale;
    let first = first * step.beta_1 + gradient.clone() * (1.0 - step.beta_1);
    let second = second * step.beta_2 + gradient.powi_scalar(2) * (1.0 - step.beta_2);
    let root = second.clone().sqrt() * step.root_scale + step.epsilon;
    let parameter = parameter - first.clone() * step.rate / root;
    [B::float_reshape(float(parameter), shape), float(first), float(second)]
}

/// See [`sum_of_squares`](super::FusedOps::sum_of_squares).
pub fn sum_of_squares<B: Backend>(x: FloatTensor<B>) -> f64 {
    flat::<B>(x).powi_scalar(2).sum().into_scalar().elem()
}

fn flat<B: Backend>(x: FloatTensor<B>) -> Tensor<B, 1> {
    let elements = x.shape().num_elements();
    tensor(B::float_reshape(x, [elements].into()))
}

/// Ids on the device, `[rows]`.
pub fn ids_tensor<B: Backend>(ids: &[u32], device: &B::Device) -> Tensor<B, 1, Int> {
    let ids: Vec<i32> = ids.iter().map(|id| *id as i32).collect();
    Tensor::from_data(TensorData::new(ids.clone(), [ids.len()]), device)
}
