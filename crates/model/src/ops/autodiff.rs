//! Gradients of the fused CPU operations, as nodes of burn's graph.
//!
//! A normalised row is cheap to make again and only linear maps want it back, so with
//! [`BalancedCheckpointing`](burn::backend::autodiff::checkpoint::strategy::BalancedCheckpointing) it is not kept: a
//! post-norm encoder layer keeps 10 arrays of `[rows, d_model]` in place of 12, a decoder layer 15 of 18.

use burn::backend::Autodiff;
use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::retro_forward::RetroForward;
use burn::backend::autodiff::checkpoint::state::BackwardStates;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::ops::FloatTensor;
use burn::tensor::{Shape, TensorMetadata};
use burn_flex::{Flex, FlexTensor};
use umlaut_kernels::precision::Precision;
use umlaut_kernels::training::cross_entropy::Criterion;
use umlaut_kernels::training::dropout::DropoutMask;
use umlaut_kernels::training::linear::Activation;

use super::flex::{self, AttentionInputs, dense, from_floats};
use super::{AttentionSpec, FusedOps};

type Tracked<C> = FloatTensor<Autodiff<Flex, C>>;

impl<C: CheckpointStrategy> FusedOps for Autodiff<Flex, C> {
    const RUNS_ON_CALLER: bool = true;

    fn fused_linear(
        x: Tracked<C>,
        weight: Tracked<C>,
        bias: Tracked<C>,
        activation: Activation,
        precision: Precision,
    ) -> Tracked<C> {
        let nodes = [x.node.clone(), weight.node.clone(), bias.node.clone()];
        let (weight, bias) = (dense(weight.primitive), bias.primitive);
        let output = Flex::fused_linear(x.primitive.clone(), weight.clone(), bias, activation, precision);
        match LinearNode.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(mut prepared) => {
                let rectified = (activation == Activation::Relu).then(|| output.clone());
                let x = prepared.checkpoint(&x);
                prepared.finish((x, weight, rectified, precision), output)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_norm(x: Tracked<C>, weight: Tracked<C>, bias: Tracked<C>, epsilon: f32) -> Tracked<C> {
        let nodes = [x.node.clone(), weight.node.clone(), bias.node.clone()];
        let again = NormAgain { inputs: nodes.each_ref().map(|node| node.id), epsilon };
        let prepared = NormNode.prepare::<C>(nodes).memory_bound().retro_forward(again).parents([&x, &weight, &bias]);
        let (x, weight) = (dense(x.primitive), dense(weight.primitive));
        let output = Flex::fused_norm(x.clone(), weight.clone(), bias.primitive, epsilon);
        match prepared.stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((x, weight, epsilon), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_embed(weight: Tracked<C>, ids: &[u32], scale: f32) -> Tracked<C> {
        let shape = weight.primitive.shape();
        let output = Flex::fused_embed(weight.primitive, ids, scale);
        match EmbedNode.prepare::<C>([weight.node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((ids.to_vec(), scale, shape), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_dropout(x: Tracked<C>, mask: DropoutMask) -> Tracked<C> {
        let output = Flex::fused_dropout(x.primitive, mask);
        match DropoutNode.prepare::<C>([x.node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(mask, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_add_dropout(x: Tracked<C>, y: Tracked<C>, mask: DropoutMask) -> Tracked<C> {
        let output = Flex::fused_add_dropout(x.primitive, y.primitive, mask);
        match AddDropoutNode.prepare::<C>([x.node, y.node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(mask, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_attention(
        query: Tracked<C>,
        key: Tracked<C>,
        value: Tracked<C>,
        rotary: Option<(Tracked<C>, Tracked<C>)>,
        spec: AttentionSpec,
    ) -> Tracked<C> {
        let nodes = [query.node.clone(), key.node.clone(), value.node.clone()];
        let inputs = AttentionInputs {
            query: dense(query.primitive),
            key: dense(key.primitive),
            value: dense(value.primitive),
            rotary: rotary.map(|(cos, sin)| (dense(cos.primitive), dense(sin.primitive))),
            spec,
        };
        let AttentionInputs { query, key, value, rotary, spec } = inputs.clone();
        let output = Flex::fused_attention(query, key, value, rotary, spec);
        match AttentionNode.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish(inputs, output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }

    fn fused_cross_entropy(
        hidden: Tracked<C>,
        projection: Tracked<C>,
        targets: &[u32],
        criterion: Criterion,
        precision: Precision,
    ) -> Tracked<C> {
        let nodes = [hidden.node.clone(), projection.node.clone()];
        let (hidden, projection) = (dense(hidden.primitive), dense(projection.primitive));
        match LossNode.prepare::<C>(nodes).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => {
                let (loss, gradients) =
                    flex::cross_entropy_with_gradients(&hidden, &projection, targets, criterion, precision);
                let hidden = from_floats(gradients.hidden, hidden.shape());
                prepared.finish((hidden, from_floats(gradients.projection, projection.shape())), loss)
            }
            OpsKind::UnTracked(prepared) => {
                prepared.finish(Flex::fused_cross_entropy(hidden, projection, targets, criterion, precision))
            }
        }
    }
}

/// Hands each parent that wants one its gradient.
fn register<S, const N: usize>(ops: Ops<S, N>, gradients: [FlexTensor; N], grads: &mut Gradients) {
    for (parent, gradient) in ops.parents.into_iter().zip(gradients) {
        if let Some(node) = parent {
            grads.register::<Flex>(node.id, gradient);
        }
    }
}

#[derive(Debug)]
struct LinearNode;
impl Backward<Flex, 3> for LinearNode {
    /// The input's node, weight, the output where it was rectified, and what products are computed in.
    type State = (NodeId, FlexTensor, Option<FlexTensor>, Precision);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let (x, weight, rectified, precision) = &ops.state;
        let x = dense(checkpointer.retrieve_node_output(*x));
        let gradients = flex::linear_backward(&x, weight, rectified.as_ref(), upstream, *precision);
        let bias = Shape::from([gradients.bias.len()]);
        let gradients = [
            from_floats(gradients.input, x.shape()),
            from_floats(gradients.weight, weight.shape()),
            from_floats(gradients.bias, bias),
        ];
        register(ops, gradients, grads);
    }
}

#[derive(Debug)]
struct NormNode;
impl Backward<Flex, 3> for NormNode {
    /// Input, gain, epsilon.
    type State = (FlexTensor, FlexTensor, f32);

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let (x, weight, epsilon) = &ops.state;
        let gradients = flex::norm_backward(x, weight, upstream, *epsilon);
        let gradients = [
            from_floats(gradients.input, x.shape()),
            from_floats(gradients.weight, weight.shape()),
            from_floats(gradients.bias, weight.shape()),
        ];
        register(ops, gradients, grads);
    }
}

/// A norm whose output is wanted once more.
#[derive(Debug)]
struct NormAgain {
    /// Input, gain and shift.
    inputs: [NodeId; 3],
    epsilon: f32,
}

impl RetroForward for NormAgain {
    fn forward(&self, states: &mut BackwardStates, out_node: NodeId) {
        let [x, weight, bias] = self.inputs.map(|input| states.get_state::<FlexTensor>(&input));
        states.save(out_node, Flex::fused_norm(x, weight, bias, self.epsilon));
    }
}

#[derive(Debug)]
struct EmbedNode;
impl Backward<Flex, 1> for EmbedNode {
    /// Ids, scale, the weight's shape.
    type State = (Vec<u32>, f32, Shape);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let [Some(weight)] = ops.parents else { return };
        let (ids, scale, shape) = ops.state;
        // Only the rows of these ids change: added to what the weight's other uses left, not to zeros of its size.
        let mut place = Autodiff::<Flex>::from_inner(upstream.clone());
        place.node = weight.clone();
        let mut gradient = match grads.remove::<Flex>(&place) {
            Some(gradient) => dense(gradient),
            None => from_floats(vec![0.0; shape.num_elements()], shape),
        };
        flex::add_embed_gradient(&mut gradient, &ids, scale, upstream);
        grads.register::<Flex>(weight.id, gradient);
    }
}

#[derive(Debug)]
struct DropoutNode;
impl Backward<Flex, 1> for DropoutNode {
    type State = DropoutMask;

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let gradient = Flex::fused_dropout(upstream, ops.state);
        register(ops, [gradient], grads);
    }
}

#[derive(Debug)]
struct AddDropoutNode;
impl Backward<Flex, 2> for AddDropoutNode {
    type State = DropoutMask;

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let dropped = Flex::fused_dropout(upstream.clone(), ops.state);
        register(ops, [upstream, dropped], grads);
    }
}

#[derive(Debug)]
struct AttentionNode;
impl Backward<Flex, 3> for AttentionNode {
    type State = AttentionInputs;

    fn backward(self, ops: Ops<Self::State, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Flex>(&ops.node);
        let gradients = ops.state.backward(upstream);
        register(ops, gradients, grads);
    }
}

#[derive(Debug)]
struct LossNode;
impl Backward<Flex, 2> for LossNode {
    /// The gradients of the smoothed loss, with respect to hidden states and projection.
    type State = (FlexTensor, FlexTensor);

    fn backward(self, ops: Ops<Self::State, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = dense(grads.consume::<Flex>(&ops.node)).storage::<f32>()[0];
        let scaled = |gradient: &FlexTensor| {
            // A loss that nothing scales is the rule, and its gradients are the largest arrays of a step.
            if (upstream - 1.0).abs() < f32::EPSILON {
                return gradient.clone();
            }
            let values = dense(gradient.clone()).storage::<f32>().iter().map(|g| g * upstream).collect();
            from_floats(values, gradient.shape())
        };
        let gradients = [scaled(&ops.state.0), scaled(&ops.state.1)];
        register(ops, gradients, grads);
    }
}
