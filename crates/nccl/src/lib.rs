//! Sums of gradients from device to device of NVIDIA's, through NCCL: they never pass through the host's memory.
//!
//! Members find each other by an id that the first of them draws and their group carries, so that whatever starts a job
//! (MPI) need not know NCCL.

#![cfg(feature = "cuda")]

use std::ffi::c_char;
use std::fmt;
use std::sync::Arc;

use burn::tensor::Tensor;
use burn_cubecl::CubeBackend;
use burn_cuda::{Cuda, CudaDevice};
use cubecl::cuda::CudaRuntime;
use cubecl::future::block_on;
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use cudarc::nccl::{Comm, Id, ReduceOp, result};
use umlaut_train::group::{Group, Summation};

/// What burn's CUDA backend computes with once its fusion has decided what to do.
type Unfused = CubeBackend<CudaRuntime, f32, i32, u8>;

/// Why devices cannot speak to each other.
#[derive(Debug, thiserror::Error)]
pub enum NcclError {
    /// The driver refuses.
    #[error("the driver: {0}")]
    Driver(#[from] DriverError),
    /// NCCL refuses, with a code of its own: `ncclInvalidUsage` where two members have the same device.
    #[error("NCCL: {0:?}")]
    Nccl(cudarc::nccl::sys::ncclResult_t),
    /// burn refuses.
    #[error("the backend: {0}")]
    Backend(String),
}

impl From<result::NcclError> for NcclError {
    fn from(error: result::NcclError) -> Self {
        Self::Nccl(error.0)
    }
}

/// A member's device, connected to those of the others.
pub struct Nccl {
    comm: Comm,
    stream: Arc<CudaStream>,
}

impl fmt::Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nccl({} of {})", self.comm.rank(), self.comm.world_size())
    }
}

impl Nccl {
    /// Connects the devices of all members of `group`, each of which has one of its own. All call it together, and it
    /// returns when the last has.
    ///
    /// # Errors
    /// If driver or NCCL refuse; the other members wait, so end the job.
    ///
    /// # Panics
    /// If there is no `libnccl.so`.
    pub fn join(group: &mut dyn Group, device: &CudaDevice) -> Result<Self, NcclError> {
        let mut id = [0; 128];
        if group.rank() == 0 {
            id = Id::new()?.internal().map(|byte| byte.to_ne_bytes()[0]);
        }
        group.spread(&mut id);
        let id = Id::uninit(id.map(|byte| c_char::from_ne_bytes([byte])));
        // The context is the device's primary one, and so burn's.
        let stream = CudaContext::new(device.index)?.new_stream()?;
        let comm = Comm::from_rank(stream.clone(), group.rank(), group.size(), id)?;
        Ok(Self { comm, stream })
    }

    /// Puts the sums over all members in the place of what `flat` holds, on the device.
    fn sum_in_place(&self, flat: &Tensor<Cuda, 1>) -> Result<(), NcclError> {
        let fused = flat.clone().into_primitive().tensor();
        let array = fused.client.clone().resolve_tensor_float::<Unfused>(fused);
        let backend = |error: &dyn fmt::Debug| NcclError::Backend(format!("{error:?}"));
        // Queues know nothing of each other: burn's is empty before NCCL's begins, and the other way round.
        block_on(array.client.sync()).map_err(|error| backend(&error))?;
        let memory = array.client.get_resource(array.handle.clone()).map_err(|error| backend(&error))?;
        // SAFETY: the memory holds the elements of `flat`, all of them f32, one after the other, and is kept alive by
        // `memory`. Nobody else reads or writes it: burn's queue is empty, and this function is done with it before it
        // returns. `leak` gives it back without freeing what is burn's.
        let mut values = unsafe { self.stream.upgrade_device_ptr::<f32>(memory.resource().ptr, flat.dims()[0]) };
        let summed = self.comm.all_reduce_in_place(&mut values, &ReduceOp::Sum);
        let done = self.stream.synchronize();
        values.leak();
        summed?;
        Ok(done?)
    }
}

impl Summation<Cuda> for Nccl {
    fn sum(&mut self, _: &mut dyn Group, gradients: Vec<Tensor<Cuda, 1>>) -> Vec<Tensor<Cuda, 1>> {
        let lengths = gradients.iter().map(|gradient| gradient.dims()[0]).collect();
        let flat = Tensor::cat(gradients, 0);
        self.sum_in_place(&flat).unwrap_or_else(|error| panic!("gradients cannot be summed: {error}"));
        flat.split_with_sizes(lengths, 0)
    }
}
