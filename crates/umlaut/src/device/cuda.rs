//! NVIDIA's devices.

use std::panic;

use anyhow::{Context, Result, anyhow, ensure};
use burn::backend::Autodiff;
use burn::tensor::Tensor;
use burn_cuda::{Cuda, CudaDevice};
use umlaut_nccl::Nccl;
use umlaut_train::group::{Group, Members, OnHost, Summation};

use super::installation::Installation;

/// The device of a number, after it has added two numbers.
pub(super) fn open(number: usize) -> Result<CudaDevice> {
    // Elsewhere the files have other names, and the trial has to tell.
    let missing = if cfg!(target_os = "linux") { Installation::find().missing() } else { Vec::new() };
    ensure!(
        missing.is_empty(),
        "--device cuda:{number}: CUDA is not installed here: missing are {}",
        missing.join(", ")
    );
    let device = CudaDevice::new(number);
    attempt(&device).map_err(|reason| anyhow!("--device cuda:{number}: the device cannot be used: {reason}"))?;
    Ok(device)
}

/// The members of a run on devices.
pub(crate) fn members(mut group: Box<dyn Group>, device: &CudaDevice) -> Result<Members<Autodiff<Cuda>>> {
    if group.size() == 1 {
        return Ok(Members::on_host(group));
    }
    let summation = summation(group.as_mut(), device)?;
    Ok(Members { group, summation })
}

/// Gradients go from device to device where NCCL is installed for all members, and else by way of the host.
pub(crate) fn summation(group: &mut dyn Group, device: &CudaDevice) -> Result<Box<dyn Summation<Cuda>>> {
    let has_nccl = Installation::find().has_nccl();
    if group.gather(has_nccl.into()).contains(&0) {
        if group.rank() == 0 {
            eprintln!("umlaut: gradients are summed on the host: NCCL (libnccl.so) is not installed for every process");
        }
        return Ok(Box::<OnHost>::default());
    }
    let nccl = Nccl::join(group, device).context(
        "the devices cannot be connected: each process needs one of its own, such as `srun --gpus-per-task=1` gives",
    )?;
    Ok(Box::new(nccl))
}

/// A sum on the device. Its backend panics where there is no such device or the compiler refuses its kernels.
fn attempt(device: &CudaDevice) -> Result<(), String> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let sum = panic::catch_unwind(|| (Tensor::<Cuda, 1>::ones([1], device) + 1.0).into_scalar());
    panic::set_hook(hook);
    match sum {
        Ok(2.0) => Ok(()),
        Ok(sum) => Err(format!("1 + 1 is {sum} there")),
        Err(reason) => {
            let text = reason.downcast_ref::<String>().map(String::as_str).or(reason.downcast_ref::<&str>().copied());
            let lines = text.unwrap_or_default().lines().map(str::trim);
            Err(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "))
        }
    }
}
