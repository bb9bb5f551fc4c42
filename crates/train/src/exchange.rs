//! What the members of a group tell each other in a run: sums of gradients, and that they still hold the same model.
//!
//! Member r of n makes parts r, r + n, ... of each update, so that an update is a function of the recipe and not of the
//! number of members. The gradients of its parts lie in one flat buffer, which is summed over all members in one call;
//! then each makes the same step with the same numbers.

use std::time::Instant;

use burn::module::ParamId;
use burn::tensor::Tensor;
use burn::tensor::backend::AutodiffBackend;
use serde::{Deserialize, Serialize};
use umlaut_model::parameters::{self, VisitParameters};
use umlaut_model::{FusedOps, Transformer};

use crate::TrainError;
use crate::group::Members;
use crate::update::{Differentiated, Gradients, Sums, norm};

/// Where a member's time went that it did not compute in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Times {
    /// Seconds until the slowest member was as far.
    pub waiting_seconds: f64,
    /// Seconds in which gradients were summed, their way into the buffer and out of it included.
    pub summing_seconds: f64,
}

/// A member's side of the exchange.
#[derive(Debug)]
pub struct Exchange<B: AutodiffBackend> {
    members: Members<B>,
    times: Times,
}

impl<B> Exchange<B>
where
    B: AutodiffBackend,
    B::InnerBackend: FusedOps,
{
    /// For updates of `parts` parts.
    ///
    /// # Errors
    /// [`TrainError::Group`] if the members cannot have equally many of them.
    pub fn new(members: Members<B>, parts: usize) -> Result<Self, TrainError> {
        let size = members.group.size();
        if !parts.is_multiple_of(size) {
            return Err(TrainError::Group(format!(
                "{size} processes cannot share the {parts} batches of an update evenly: start a divisor of {parts} \
                 processes, or set batch.accumulate to a multiple of {size} and batch.max_tokens lower by as much"
            )));
        }
        Ok(Self { members, times: Times::default() })
    }

    /// Whether this member is the one that logs, validates and saves.
    #[must_use]
    pub fn is_first(&self) -> bool {
        self.members.group.rank() == 0
    }

    /// Whether this member is not alone.
    #[must_use]
    pub fn has_others(&self) -> bool {
        self.members.group.size() > 1
    }

    /// This member's share of the `parts` parts of an update.
    #[must_use]
    pub fn share_of(&self, parts: usize) -> usize {
        parts / self.members.group.size()
    }

    /// Whether part `part` of an update is this member's.
    #[must_use]
    pub fn is_mine(&self, part: u64) -> bool {
        part % self.members.group.size() as u64 == self.members.group.rank() as u64
    }

    /// Where the time went since the last call; none where there is nobody else.
    pub fn take_times(&mut self) -> Option<Times> {
        let times = std::mem::take(&mut self.times);
        self.has_others().then_some(times)
    }

    /// The sums and gradients of all members' parts together, and the gradients' norm.
    ///
    /// # Panics
    /// If the backend does not compute in f32.
    pub fn sum(&mut self, mine: Differentiated<B>) -> (Sums, Gradients<B>, f64) {
        if !self.has_others() {
            return mine.read();
        }
        let (sums, gradients) = mine.read_sums();
        let started = Instant::now();
        let mut numbers = [sums.smoothed, sums.nll, sums.tokens as f64];
        self.members.group.sum_f64(&mut numbers);
        self.times.waiting_seconds += started.elapsed().as_secs_f64();

        let started = Instant::now();
        let gradients = self.members.summation.sum(self.members.group.as_mut(), gradients);
        self.times.summing_seconds += started.elapsed().as_secs_f64();
        let sums = Sums { smoothed: numbers[0], nll: numbers[1], tokens: numbers[2] as usize };
        let norm = norm::<B>(&gradients, sums.tokens);
        (sums, gradients, norm)
    }

    /// The first member's number, on all.
    pub fn of_first(&mut self, value: u64) -> u64 {
        self.members.group.gather(value)[0]
    }

    /// Goes on only if all members hold the same `value`; `what` and `advice` are for the message.
    ///
    /// # Errors
    /// [`TrainError::Group`] names the members that differ from the first, on each of them.
    pub fn agree(&mut self, value: u64, what: &str, advice: &str) -> Result<(), TrainError> {
        let values = self.members.group.gather(value);
        let other = |(rank, value): (usize, &u64)| (*value != values[0]).then(|| rank.to_string());
        let others: Vec<_> = values.iter().enumerate().filter_map(other).collect();
        if others.is_empty() {
            return Ok(());
        }
        Err(TrainError::Group(format!(
            "{what} of process {} differs from that of process 0: {advice}",
            others.join(", ")
        )))
    }
}

/// A checksum of every bit of a model's parameters.
///
/// # Panics
/// If the backend does not compute in f32.
pub fn checksum<B: AutodiffBackend>(model: &Transformer<B>) -> u64 {
    let mut sum = Checksum::default();
    parameters::visit(model, &mut sum);
    sum.0
}

/// FNV-1a over 32 bits at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksum(pub(crate) u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    pub(crate) fn add(&mut self, word: u32) {
        self.0 = (self.0 ^ u64::from(word)).wrapping_mul(0x0000_0100_0000_01b3);
    }
}

impl<B: AutodiffBackend> VisitParameters<B> for Checksum {
    fn parameter<const D: usize>(&mut self, _: &str, _: ParamId, tensor: Tensor<B, D>) {
        let data = tensor.into_data().convert::<f32>();
        data.as_slice::<f32>().expect("converted to f32").iter().for_each(|x| self.add(x.to_bits()));
    }
}
