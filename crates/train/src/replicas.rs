//! The parts of an update side by side: each on a thread of its own, with a graph of its own.
//!
//! One thread that works through a whole batch beats two that share every operation of it: they never wait for each
//! other. What is computed is the same to the bit, since a kernel's sums do not depend on its threads and the parts are
//! added in their order. A device has one queue for all threads, so that its parts come one after another.

use std::thread::{self, ScopedJoinHandle};

use burn::module::ParamId;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use rayon::{ThreadPool, ThreadPoolBuilder};
use umlaut_model::ops::Criterion;
use umlaut_model::parameters::{self, MapParameters};
use umlaut_model::{FusedOps, Transformer};
use umlaut_text::batch::Batch;

use crate::update::{Differentiated, differentiate};

/// A batch and the seed of its dropout.
pub type Part = (Batch, u64);

/// Threads that differentiate the parts of an update.
#[derive(Debug)]
pub struct Replicas {
    pools: Vec<ThreadPool>,
}

impl Replicas {
    /// For updates of `parts` parts on `B`: a thread for each, up to as many as the present pool has, where that helps.
    ///
    /// # Panics
    /// If the system starts no more threads.
    #[must_use]
    pub fn new<B: FusedOps>(parts: usize) -> Self {
        let threads = if B::RUNS_ON_CALLER { parts.min(rayon::current_num_threads()) } else { 1 };
        let pool = |_| ThreadPoolBuilder::new().num_threads(1).build().expect("a thread starts");
        Self { pools: (0..threads).map(pool).collect() }
    }

    /// The loss of all parts and its gradients, summed in their order.
    ///
    /// # Panics
    /// If there are no parts.
    pub fn differentiate<B>(&self, model: &Transformer<B>, parts: &[Part], criterion: Criterion) -> Differentiated<B>
    where
        B: AutodiffBackend + FusedOps,
        B::InnerBackend: FusedOps,
    {
        let mut sum: Option<Differentiated<B>> = None;
        let mut add = |part| {
            sum = Some(match sum.take() {
                Some(sum) => sum.and(part),
                None => part,
            });
        };
        for parts in parts.chunks(self.pools.len().max(1)) {
            match parts {
                // All threads share the operations of a part that has no company.
                [(batch, seed)] => add(differentiate(model, batch, criterion, *seed)),
                _ => self.side_by_side(model, parts, criterion).into_iter().for_each(&mut add),
            }
        }
        sum.expect("an update has parts")
    }

    fn side_by_side<B>(&self, model: &Transformer<B>, parts: &[Part], criterion: Criterion) -> Vec<Differentiated<B>>
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
                    scope.spawn(move || pool.install(|| differentiate(&replica, batch, criterion, *seed)))
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
