//! The operations on NVIDIA's devices: the composed ones, of which burn fuses chains of elements and reductions, and picks
//! the fastest matrix product, while they run.

use burn::backend::Autodiff;
use burn::backend::autodiff::checkpoint::base::Checkpointer;
use burn::backend::autodiff::checkpoint::strategy::CheckpointStrategy;
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::tensor::TensorMetadata;
use burn::tensor::ops::FloatTensor;
use burn_cuda::Cuda;

use super::{FusedOps, composed};

impl FusedOps for Cuda {}

impl<C: CheckpointStrategy> FusedOps for Autodiff<Cuda, C> {
    fn fused_embed(weight: FloatTensor<Self>, ids: &[u32], scale: f32) -> FloatTensor<Self> {
        let vocab = weight.primitive.shape()[0];
        let output = Cuda::fused_embed(weight.primitive, ids, scale);
        match EmbedNode.prepare::<C>([weight.node]).compute_bound().stateful() {
            OpsKind::Tracked(prepared) => prepared.finish((ids.to_vec(), scale, vocab), output),
            OpsKind::UnTracked(prepared) => prepared.finish(output),
        }
    }
}

#[derive(Debug)]
struct EmbedNode;
impl Backward<Cuda, 1> for EmbedNode {
    /// Ids, scale, rows of the weight.
    type State = (Vec<u32>, f32, usize);

    fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
        let upstream = grads.consume::<Cuda>(&ops.node);
        let (ids, scale, vocab) = ops.state;
        let [parent] = ops.parents;
        if let Some(node) = parent {
            grads.register::<Cuda>(node.id, composed::embed_backward::<Cuda>(&ids, scale, upstream, vocab));
        }
    }
}
