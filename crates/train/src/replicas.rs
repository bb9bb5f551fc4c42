//! The parts of an update side by side: each on a thread of its own, with a graph of its own.
//!
//! One thread that works through a whole batch beats two that share every operation of it: they never wait for each
//! other. What is computed is the same to the bit, since a kernel's sums do not depend on its threads and the parts are
//! added in their order.

use std::thread::{self, ScopedJoinHandle};

use burn::module::ParamId;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use rayon::{ThreadPool, ThreadPoolBuilder};
use umlaut_model::parameters::{self, MapParameters};
use umlaut_model::{FusedOps, Transformer};
use umlaut_text::batch::Batch;

use crate::update::{Gradients, Sums, add_gradients, differentiate};

/// A batch and the seed of its dropout.
pub type Part = (Batch, u64);

/// Threads that differentiate the parts of an update.
#[derive(Debug)]
pub struct Replicas {
    pools: Vec<ThreadPool>,
}

impl Replicas {
    /// For updates of `parts` parts: a thread for each, up to as many as the present pool has.
    ///
    /// # Panics
    /// If the system starts no more threads.
    #[must_use]
    pub fn new(parts: usize) -> Self {
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
        Self { pools: (0..parts.min(rayon::current_num_threads())).map(pool).collect() }
    }

    /// The loss of all parts and its gradients, summed in their order.
    pub fn differentiate<B>(&self, model: &Transformer<B>, parts: &[Part], smoothing: f32) -> (Sums, Gradients<B>)
    where
        B: AutodiffBackend + FusedOps,
    {
        let (mut sums, mut gradients): (Sums, Option<Gradients<B>>) = (Sums::default(), None);
        let mut add = |(part_sums, part_gradients)| {
            sums.add(part_sums);
            gradients = Some(add_gradients::<B>(gradients.take(), part_gradients));
        };
        for parts in parts.chunks(self.pools.len().max(1)) {
            match parts {
                // All threads share the operations of a part that has no company.
                [(batch, seed)] => add(differentiate(model, batch, smoothing, *seed)),
                _ => self.side_by_side(model, parts, smoothing).into_iter().for_each(&mut add),
            }
        }
        (sums, gradients.unwrap_or_default())
    }

    fn side_by_side<B>(&self, model: &Transformer<B>, parts: &[Part], smoothing: f32) -> Vec<(Sums, Gradients<B>)>
    where
        B: AutodiffBackend + FusedOps,
    {
        thread::scope(|scope| {
            let started: Vec<_> = self
                .pools
                .iter()
                .zip(parts)
                .map(|(pool, (batch, seed))| {
                    let replica = parameters::map(model.clone(), &mut Replica);
                    scope.spawn(move || pool.install(|| differentiate(&replica, batch, smoothing, *seed)))
                })
                .collect();
            let finished = started.into_iter().map(ScopedJoinHandle::join);
            finished.map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }
}

/// Gives every parameter a node of its own over the same numbers: graphs that share a node run one after the other.
struct Replica;

impl<B: AutodiffBackend> MapParameters<B> for Replica {
    fn parameter<const D: usize>(&mut self, _: &str, _: ParamId, tensor: Tensor<B, D>) -> Tensor<B, D> {
        Tensor::from_inner(tensor.inner()).require_grad()
    }
}
