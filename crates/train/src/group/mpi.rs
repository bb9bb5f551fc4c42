//! The group of an MPI job: `mpirun -n 4 umlaut train RECIPE`, or `srun`.

use std::fmt;
use std::thread;

use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use super::Group;

/// Numbers that one call sums: MPI counts them in 32 bits, and smaller calls need a smaller second buffer.
const NUMBERS_AT_ONCE: usize = 1 << 24;
/// What an aborted job reports to whoever started it: as the program does that cannot run.
const EXIT_CODE: i32 = 2;

/// This process's place in an MPI job. One that panics takes the whole job with it: nobody waits for the dead.
pub struct Membership {
    universe: Universe,
}

impl Membership {
    /// Joins the job that started this process; without one, a job of its own.
    ///
    /// # Panics
    /// At the second call in a process.
    #[must_use]
    pub fn join() -> Self {
        // Only the thread that trains speaks to the others.
        let joined = mpi::initialize_with_threading(Threading::Funneled);
        Self { universe: joined.expect("a process joins once").0 }
    }

    /// The members of the job.
    #[must_use]
    pub fn group(&self) -> Box<dyn Group> {
        Box::new(World { world: self.universe.world(), scratch: Vec::new() })
    }

    /// Ends all processes of the job with exit code 2. Say why before.
    pub fn abort(&self) -> ! {
        self.universe.world().abort(EXIT_CODE)
    }
}

impl fmt::Debug for Membership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Membership").finish_non_exhaustive()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if thread::panicking() {
            self.abort();
        }
    }
}

/// All processes of the job.
struct World {
    world: SimpleCommunicator,
    /// Where sums arrive.
    scratch: Vec<f32>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "World({} of {})", self.rank(), self.size())
    }
}

impl Group for World {
    fn rank(&self) -> usize {
        self.world.rank() as usize
    }

    fn size(&self) -> usize {
        self.world.size() as usize
    }

    fn sum(&mut self, values: &mut [f32]) {
        for values in values.chunks_mut(NUMBERS_AT_ONCE) {
            self.scratch.resize(values.len(), 0.0);
            self.world.all_reduce_into(&*values, &mut self.scratch[..], SystemOperation::sum());
            values.copy_from_slice(&self.scratch);
        }
    }

    fn sum_f64(&mut self, values: &mut [f64]) {
        let mut sums = vec![0.0; values.len()];
        self.world.all_reduce_into(&*values, &mut sums[..], SystemOperation::sum());
        values.copy_from_slice(&sums);
    }

    fn gather(&mut self, value: u64) -> Vec<u64> {
        let mut all = vec![0; self.size()];
        self.world.all_gather_into(&value, &mut all[..]);
        all
    }
}
