//! The operations in burn's own terms: their definition.

use burn::tensor::backend::Backend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Bool, Distribution, FloatDType, Int, Tensor, TensorData, TensorMetadata, activation};
use umlaut_kernels::precision::Precision;
use umlaut_kernels::training::adam::AdamStep;
use umlaut_kernels::training::attention::Direction;
use umlaut_kernels::training::cross_entropy::Criterion;
use umlaut_kernels::training::dropout::DropoutMask;
use umlaut_kernels::training::linear::Activation;

use super::{AttentionSpec, IGNORED, float, tensor};

/// a · b, its operands rounded to `precision`.
///
/// A backend sums in f32 where it multiplies bf16, and rounds the sum to bf16 once more when it writes it; from there on
/// all is f32 again, as parameters and activations are.
pub fn product<B: Backend, const D: usize>(a: Tensor<B, D>, b: Tensor<B, D>, precision: Precision) -> Tensor<B, D> {
    match precision {
        Precision::F32 => a.matmul(b),
        Precision::Bf16 => a.cast(FloatDType::BF16).matmul(b.cast(FloatDType::BF16)).cast(FloatDType::F32),
    }
}

/// See [`fused_linear`](super::FusedOps::fused_linear).
pub fn linear<B: Backend>(
    x: FloatTensor<B>,
    weight: FloatTensor<B>,
    bias: FloatTensor<B>,
    activation: Activation,
    precision: Precision,
) -> FloatTensor<B> {
    let (x, weight, bias) = (tensor::<B, 2>(x), tensor::<B, 2>(weight), tensor::<B, 1>(bias));
    let y = product(x, weight.transpose(), precision) + bias.unsqueeze();
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

/// The gradient of [`embed`] with respect to the weight of `vocab` rows, as a product with the ids that occur, of which
/// the host makes a list: a backend that adds row by row does so with one thread a column.
///
/// # Panics
/// If an id lies outside the vocabulary.
pub fn embed_backward<B: Backend>(ids: &[u32], scale: f32, upstream: FloatTensor<B>, vocab: usize) -> FloatTensor<B> {
    let upstream = tensor::<B, 2>(upstream);
    let (device, d_model) = (upstream.device(), upstream.dims()[1]);
    let mut found = ids.to_vec();
    found.sort_unstable();
    found.dedup();
    // Of each row of the weight its row among the sums; the last of these is for ids that do not occur.
    let mut places = vec![found.len() as u32; vocab];
    for (place, id) in (0..).zip(&found) {
        places[*id as usize] = place;
    }
    let shape = [found.len(), ids.len()];
    let found = ids_tensor::<B>(&found, &device).reshape([shape[0], 1]).expand(shape);
    let is_it = found.equal(ids_tensor::<B>(ids, &device).reshape([1, shape[1]]).expand(shape));
    let sums = is_it.float().matmul(upstream) * scale;
    let sums = Tensor::cat(vec![sums, Tensor::zeros([1, d_model], &device)], 0);
    float(sums.select(0, ids_tensor::<B>(&places, &device)))
}

/// Dropout whose mask is drawn by the backend: the same seed need not give the same mask on every backend.
pub fn dropout<B: Backend>(x: FloatTensor<B>, mask: DropoutMask) -> FloatTensor<B> {
    let x = tensor::<B, 2>(x);
    let stays = f64::from(1.0 - mask.probability);
    let kept = Tensor::random(x.shape(), Distribution::Bernoulli(stays), &x.device());
    float(x * kept / stays)
}

/// See [`fused_attention`](super::FusedOps::fused_attention).
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
    let is_hidden = Some(hidden_keys(spec, &device));
    let mixed = attend(query, key, split(tensor(value), spec.k_len), is_hidden, spec.dropout, spec.precision);
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
    is_hidden: Option<Tensor<B, 4, Bool>>,
    dropout: Option<DropoutMask>,
    precision: Precision,
) -> Tensor<B, 4> {
    let scale = (query.dims()[3] as f64).powf(-0.5);
    let mut scores = product(query, key.transpose(), precision) * scale;
    let shape = scores.dims();
    if let Some(is_hidden) = is_hidden {
        scores = scores.mask_fill(is_hidden.expand(shape), -1e30);
    }
    let mut probabilities = activation::softmax(scores, 3);
    if let Some(mask) = dropout {
        let stays = f64::from(1.0 - mask.probability);
        let kept = Tensor::random(shape, Distribution::Bernoulli(stays), &probabilities.device());
        probabilities = probabilities * kept / stays;
    }
    product(probabilities, value, precision)
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

/// True where a key is padding or, with [`Direction::Past`], comes after the query: `[batch, 1, q_len, k_len]`, with
/// [`Direction::Both`] for all queries at once. Made on the device, of one number a sentence.
fn hidden_keys<B: Backend>(spec: &AttentionSpec, device: &B::Device) -> Tensor<B, 4, Bool> {
    let (batch, q_len, k_len) = (spec.key_lengths.len(), spec.q_len, spec.k_len);
    let lengths: Vec<u32> = spec.key_lengths.iter().map(|real| *real as u32).collect();
    let lengths = ids_tensor::<B>(&lengths, device).reshape([batch, 1, 1, 1]);
    let keys = Tensor::<B, 1, Int>::arange(0..k_len as i64, device).reshape([1, 1, 1, k_len]);
    let (row, square) = ([batch, 1, 1, k_len], [batch, 1, q_len, k_len]);
    let is_pad = keys.clone().expand(row).greater_equal(lengths.expand(row));
    match spec.direction {
        Direction::Both => is_pad,
        Direction::Past => {
            let queries = Tensor::<B, 1, Int>::arange(0..q_len as i64, device).reshape([1, 1, q_len, 1]);
            let is_future = keys.expand(square).greater(queries.expand(square));
            is_pad.expand(square).bool_or(is_future)
        }
    }
}

/// See [`fused_cross_entropy`](super::FusedOps::fused_cross_entropy).
pub fn cross_entropy<B: Backend>(
    hidden: FloatTensor<B>,
    projection: FloatTensor<B>,
    targets: &[u32],
    criterion: Criterion,
    precision: Precision,
) -> FloatTensor<B> {
    let (hidden, projection) = (tensor::<B, 2>(hidden), tensor::<B, 2>(projection));
    let (device, rows) = (hidden.device(), targets.len());
    let weights: Vec<f32> = targets.iter().map(|t| f32::from(u8::from(*t != IGNORED))).collect();
    let counts = Tensor::<B, 1>::from_data(TensorData::new(weights, [rows]), &device);
    let classes: Vec<u32> = targets.iter().map(|t| if *t == IGNORED { 0 } else { *t }).collect();
    let classes = ids_tensor::<B>(&classes, &device).reshape([rows, 1]);
    let log_probs = activation::log_softmax(product(hidden, projection.transpose(), precision), 1); // [rows, vocab]
    let nll = log_probs.clone().gather(1, classes).reshape([rows]).neg() * counts.clone();
    let uniform = log_probs.clone().mean_dim(1).reshape([rows]).neg() * counts.clone();
    let share = 1.0 / criterion.passes() as f32;
    let smoothed = nll.clone() * (1.0 - criterion.smoothing) + uniform * criterion.smoothing;
    let mut loss = smoothed.sum() * share;
    if criterion.r_drop > 0.0 {
        let [p, q] = [0, rows / 2].map(|start| log_probs.clone().narrow(0, start, rows / 2));
        // KL(p‖q) + KL(q‖p) = Σ (p - q) (log p - log q).
        let divergence = ((p.clone().exp() - q.clone().exp()) * (p - q)).sum_dim(1).reshape([rows / 2]);
        loss = loss + (divergence * counts.narrow(0, 0, rows / 2)).sum() * (0.25 * criterion.r_drop);
    }
    float(Tensor::cat(vec![loss, nll.detach().sum() * share], 0))
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

/// See [`read_with_squares`](super::FusedOps::read_with_squares). Each tensor's squares are summed in f32, their sums in
/// f64.
///
/// # Panics
/// If there is nothing to read.
pub fn read_with_squares<B: Backend>(numbers: Vec<FloatTensor<B>>, squared: Vec<FloatTensor<B>>) -> (Vec<f64>, f64) {
    let mut all: Vec<Tensor<B, 1>> = numbers.into_iter().map(flat::<B>).collect();
    let count = all.iter().map(|x| x.shape().num_elements()).sum();
    all.extend(squared.into_iter().map(|x| flat::<B>(x).powi_scalar(2).sum()));
    let read = Tensor::cat(all, 0).into_data().convert::<f64>();
    let mut numbers: Vec<f64> = read.into_vec().expect("converted to f64");
    let squares = numbers.split_off(count);
    (numbers, squares.iter().sum())
}

/// See [`read_greatest`](super::FusedOps::read_greatest). One after the other is found and taken out: `k` is small, and a
/// device that sorts would have the host do it. Columns are read as f32, exact up to 2^24.
///
/// # Panics
/// If there are fewer columns than `k`.
pub fn read_greatest<B: Backend>(x: FloatTensor<B>, k: usize) -> Vec<(u32, f32)> {
    let mut rest = tensor::<B, 2>(x);
    let [rows, columns] = rest.dims();
    assert!(k <= columns, "{k} of {columns} columns");
    let all = Tensor::<B, 1, Int>::arange(0..columns as i64, &rest.device()).reshape([1, columns]);
    let all = all.expand([rows, columns]);
    let mut found = Vec::with_capacity(2 * k);
    for _ in 0..k {
        let (value, column) = rest.clone().max_dim_with_indices(1); // [rows, 1]
        let is_found = all.clone().equal(column.clone().expand([rows, columns]));
        rest = rest.mask_fill(is_found, f32::NEG_INFINITY);
        found.extend([column.float(), value]);
    }
    let read = Tensor::cat(found, 1).into_data().convert::<f32>(); // [rows, 2 * k]
    let read: Vec<f32> = read.into_vec().expect("converted to f32");
    read.chunks_exact(2).map(|pair| (pair[0] as u32, pair[1])).collect()
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
