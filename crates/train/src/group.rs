//! Processes that train one model together: what a run asks of whatever connects them.
//!
//! Every member makes the same calls in the same order. The trainer sees no more than this, so that it knows neither MPI
//! nor a network; [`Solo`] is the group of one.

#[cfg(feature = "mpi")]
pub mod mpi;

use std::fmt::Debug;

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
