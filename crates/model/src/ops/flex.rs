//! The operations on the CPU backend: the kernels of `umlaut-kernels` on its tensors.

use burn::tensor::{Shape, TensorData, TensorMetadata};
use burn_flex::{Flex, FlexTensor};
use umlaut_kernels::precision::Precision;
use umlaut_kernels::training::adam::{self, AdamStep};
use umlaut_kernels::training::attention::{self, AttentionShape, Projections, Rotation};
use umlaut_kernels::training::cross_entropy::{Criterion, LossSums, Projection, ProjectionGradients};
use umlaut_kernels::training::dropout::{self, DropoutMask};
use umlaut_kernels::training::linear::{self, Activation, LinearGradients};
use umlaut_kernels::training::norm::{self, NormGradients};

use super::{AttentionSpec, FusedOps};

impl FusedOps for Flex {
    const RUNS_ON_CALLER: bool = true;

    fn fused_linear(
        x: FlexTensor,
        weight: FlexTensor,
        bias: FlexTensor,
        activation: Activation,
        precision: Precision,
    ) -> FlexTensor {
        let (x, weight, bias) = (dense(x), dense(weight), dense(bias));
        let [rows, d_in] = x.shape().dims::<2>();
        let output = linear::forward(floats(&x), floats(&weight), floats(&bias), d_in, activation, precision);
        from_floats(output, [rows, bias.shape()[0]])
    }

    fn fused_norm(x: FlexTensor, weight: FlexTensor, bias: FlexTensor, epsilon: f32) -> FlexTensor {
        let (x, weight, bias) = (dense(x), dense(weight), dense(bias));
        from_floats(norm::forward(floats(&x), floats(&weight), floats(&bias), epsilon), x.shape())
    }

    fn fused_embed(weight: FlexTensor, ids: &[u32], scale: f32) -> FlexTensor {
        let weight = dense(weight);
        let d_model = weight.shape()[1];
        let rows = floats(&weight);
        let embedded = ids.iter().flat_map(|id| &rows[*id as usize * d_model..][..d_model]);
        from_floats(embedded.map(|x| x * scale).collect(), [ids.len(), d_model])
    }

    fn fused_dropout(x: FlexTensor, mask: DropoutMask) -> FlexTensor {
        let mut x = dense(x);
        dropout::apply(x.storage_mut(), mask);
        x
    }

    fn fused_add_dropout(x: FlexTensor, y: FlexTensor, mask: DropoutMask) -> FlexTensor {
        let (x, mut y) = (dense(x), dense(y));
        dropout::add(floats(&x), y.storage_mut(), mask);
        y
    }

    fn fused_attention(
        query: FlexTensor,
        key: FlexTensor,
        value: FlexTensor,
        rotary: Option<(FlexTensor, FlexTensor)>,
        spec: AttentionSpec,
    ) -> FlexTensor {
        let inputs = AttentionInputs { query: dense(query), key: dense(key), value: dense(value), rotary, spec };
        from_floats(attention::forward(inputs.projections(), inputs.shape()), inputs.query.shape())
    }

    fn fused_cross_entropy(
        hidden: FlexTensor,
        projection: FlexTensor,
        targets: &[u32],
        criterion: Criterion,
        precision: Precision,
    ) -> FlexTensor {
        let (hidden, projection) = (dense(hidden), dense(projection));
        loss_tensor(cross_entropy(&hidden, &projection, targets, criterion, precision).loss())
    }

    fn fused_adam(state: [FlexTensor; 4], step: AdamStep) -> [FlexTensor; 3] {
        let [mut parameter, gradient, mut first, mut second] = state.map(dense);
        let (p, m, v) = (parameter.storage_mut(), first.storage_mut(), second.storage_mut());
        adam::update(p, floats(&gradient), m, v, step);
        [parameter, first, second]
    }

    fn read_with_squares(numbers: Vec<FlexTensor>, squared: Vec<FlexTensor>) -> (Vec<f64>, f64) {
        let read = |x: FlexTensor| floats(&dense(x)).iter().copied().map(f64::from).collect::<Vec<_>>();
        let squares = squared.into_iter().map(|x| adam::sum_of_squares(floats(&dense(x))));
        (numbers.into_iter().flat_map(read).collect(), squares.sum())
    }

    fn read_greatest(x: FlexTensor, k: usize) -> Vec<(u32, f32)> {
        let x = dense(x);
        let columns = x.shape()[1];
        let mut greatest = Vec::new();
        let mut order: Vec<u32> = Vec::with_capacity(columns);
        for row in floats(&x).chunks_exact(columns) {
            let better = |a: &u32, b: &u32| row[*b as usize].total_cmp(&row[*a as usize]).then(a.cmp(b));
            order.clear();
            order.extend(0..columns as u32);
            if k < columns {
                order.select_nth_unstable_by(k, better);
                order.truncate(k);
            }
            order.sort_unstable_by(better);
            greatest.extend(order.iter().map(|column| (*column, row[*column as usize])));
        }
        greatest
    }
}

/// The gradients of [`FusedOps::fused_linear`], from its input, weight, output (when rectified) and upstream gradient.
pub(super) fn linear_backward(
    x: &FlexTensor,
    weight: &FlexTensor,
    output: Option<&FlexTensor>,
    upstream: FlexTensor,
    precision: Precision,
) -> LinearGradients {
    let mut upstream = dense(upstream);
    if let Some(output) = output {
        linear::relu_backward(upstream.storage_mut(), floats(output));
    }
    linear::backward(floats(x), floats(weight), floats(&upstream), x.shape()[1], precision)
}

/// The gradients of [`FusedOps::fused_norm`].
pub(super) fn norm_backward(x: &FlexTensor, weight: &FlexTensor, upstream: FlexTensor, epsilon: f32) -> NormGradients {
    norm::backward(floats(x), floats(weight), floats(&dense(upstream)), epsilon)
}

/// Adds the gradient of [`FusedOps::fused_embed`] with respect to its weight to `gradient`.
pub(super) fn add_embed_gradient(gradient: &mut FlexTensor, ids: &[u32], scale: f32, upstream: FlexTensor) {
    let (d_model, upstream) = (gradient.shape()[1], dense(upstream));
    let gradient: &mut [f32] = gradient.storage_mut();
    for (id, row) in ids.iter().zip(floats(&upstream).chunks_exact(d_model)) {
        for (sum, value) in gradient[*id as usize * d_model..][..d_model].iter_mut().zip(row) {
            *sum += scale * value;
        }
    }
}

/// What an attention's gradient needs.
#[derive(Clone, Debug)]
pub(super) struct AttentionInputs {
    pub(super) query: FlexTensor,
    pub(super) key: FlexTensor,
    pub(super) value: FlexTensor,
    pub(super) rotary: Option<(FlexTensor, FlexTensor)>,
    pub(super) spec: AttentionSpec,
}

impl AttentionInputs {
    fn projections(&self) -> Projections<'_> {
        Projections { query: floats(&self.query), key: floats(&self.key), value: floats(&self.value) }
    }

    fn shape(&self) -> AttentionShape<'_> {
        AttentionShape {
            n_heads: self.spec.n_heads,
            d_model: self.query.shape()[1],
            q_len: self.spec.q_len,
            k_len: self.spec.k_len,
            key_lengths: &self.spec.key_lengths,
            direction: self.spec.direction,
            rotation: self.rotary.as_ref().map(|(cos, sin)| Rotation { cos: floats(cos), sin: floats(sin) }),
            dropout: self.spec.dropout,
            precision: self.spec.precision,
        }
    }

    /// The gradients with respect to query, key and value.
    pub(super) fn backward(&self, upstream: FlexTensor) -> [FlexTensor; 3] {
        let gradients = attention::backward(self.projections(), floats(&dense(upstream)), self.shape());
        [
            from_floats(gradients.query, self.query.shape()),
            from_floats(gradients.key, self.key.shape()),
            from_floats(gradients.value, self.value.shape()),
        ]
    }
}

/// The loss of [`FusedOps::fused_cross_entropy`] with its gradients.
pub(super) fn cross_entropy_with_gradients(
    hidden: &FlexTensor,
    projection: &FlexTensor,
    targets: &[u32],
    criterion: Criterion,
    precision: Precision,
) -> (FlexTensor, ProjectionGradients) {
    let (sums, gradients) = cross_entropy(hidden, projection, targets, criterion, precision).loss_and_gradients();
    (loss_tensor(sums), gradients)
}

fn cross_entropy<'a>(
    hidden: &'a FlexTensor,
    projection: &'a FlexTensor,
    targets: &'a [u32],
    criterion: Criterion,
    precision: Precision,
) -> Projection<'a> {
    let d_model = hidden.shape()[1];
    Projection { hidden: floats(hidden), weight: floats(projection), targets, d_model, criterion, precision }
}

fn loss_tensor(sums: LossSums) -> FlexTensor {
    from_floats(vec![sums.smoothed as f32, sums.nll as f32], [2])
}

/// The tensor with its elements in order, and nothing else in its storage.
pub(super) fn dense(x: FlexTensor) -> FlexTensor {
    let is_whole = x.bytes().len() == x.shape().num_elements() * size_of::<f32>();
    if is_whole && x.is_contiguous() && x.layout().start_offset() == 0 { x } else { x.to_contiguous() }
}

/// The elements of a dense tensor.
fn floats(x: &FlexTensor) -> &[f32] {
    x.storage::<f32>()
}

pub(super) fn from_floats(data: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(data, shape.into()))
}
