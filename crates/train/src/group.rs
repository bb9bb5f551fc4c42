//! Processes that train one model together: what a run asks of whatever connects them.
//!
//! Every member makes the same calls in the same order. The trainer sees no more than this, so that it knows neither MPI
//! nor a network; [`Solo`] is the group of one.

#[cfg(feature = "mpi")]
pub mod mpi;

use std::fmt::{self, Debug};

use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Tensor, TensorData};

/// A member's view of its group.
pub trait Group: Debug {
    /// This member's number, from 0.
    fn rank(&self) -> usize;

    /// Members.
    fn size(&self) -> usize;

    /// Puts the sums over all members in the place of `values`, the same bits on each. All give as many.
    fn sum(&mut self, values: &mut [f32]);

    /// The same in double precision.
    fn sum_f64(&mut self, values: &mut [f64]);

    /// Each member's number, by rank.
    fn gather(&mut self, value: u64) -> Vec<u64>;

    /// Puts the first member's bytes in the place of everyone's. All give as many.
    fn spread(&mut self, bytes: &mut [u8]) {
        for bytes in bytes.chunks_mut(size_of::<u64>()) {
            let mut word = [0; size_of::<u64>()];
            word[..bytes.len()].copy_from_slice(bytes);
            let first = self.gather(u64::from_le_bytes(word))[0].to_le_bytes();
            bytes.copy_from_slice(&first[..bytes.len()]);
        }
    }
}

/// A way to sum gradients over a group.
pub trait Summation<B: Backend>: Debug {
    /// The sums over all members of `group`, gradient by gradient, the same bits on each.
    ///
    /// # Panics
    /// If a device or the way to the others fails.
    fn sum(&mut self, group: &mut dyn Group, gradients: Vec<Tensor<B, 1>>) -> Vec<Tensor<B, 1>>;
}

/// Sums in the host's memory, by the group itself: gradients of any backend, each one's array after the other's.
#[derive(Default)]
pub struct OnHost {
    flat: Vec<f32>,
}

impl Debug for OnHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnHost")
    }
}

impl<B: Backend> Summation<B> for OnHost {
    fn sum(&mut self, group: &mut dyn Group, gradients: Vec<Tensor<B, 1>>) -> Vec<Tensor<B, 1>> {
        let places: Vec<_> = gradients.iter().map(|gradient| (gradient.dims(), gradient.device())).collect();
        self.flat.clear();
        for gradient in gradients {
            self.flat.extend_from_slice(gradient.into_data().convert::<f32>().as_slice().expect("converted to f32"));
        }
        group.sum(&mut self.flat);
        let mut rest = self.flat.as_slice();
        let mut take = |([len], device): ([usize; 1], _)| {
            let gradient;
            (gradient, rest) = rest.split_at(len);
            Tensor::from_data(TensorData::new(gradient.to_vec(), [len]), &device)
        };
        places.into_iter().map(&mut take).collect()
    }
}

/// The members of a run, and how their gradients become one.
#[derive(Debug)]
pub struct Members<B: AutodiffBackend> {
    /// Who they are.
    pub group: Box<dyn Group>,
    /// How gradients are summed.
    pub summation: Box<dyn Summation<B::InnerBackend>>,
}

impl<B: AutodiffBackend> Members<B> {
    /// Members that sum in the host's memory.
    #[must_use]
    pub fn on_host(group: Box<dyn Group>) -> Self {
        Self { group, summation: Box::<OnHost>::default() }
    }

    /// One process by itself.
    #[must_use]
    pub fn solo() -> Self {
        Self::on_host(Box::new(Solo))
    }
}

/// One process by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Group for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn sum(&mut self, _: &mut [f32]) {}

    fn sum_f64(&mut self, _: &mut [f64]) {}

    fn gather(&mut self, value: u64) -> Vec<u64> {
        vec![value]
    }
}
