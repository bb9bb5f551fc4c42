//! The device that a command computes on: the processor, or one of NVIDIA's with the feature `cuda`.

#[cfg(feature = "cuda")]
mod cuda;
#[cfg(any(feature = "cuda", test))]
mod installation;

use std::fmt;
use std::str::FromStr;

use anyhow::Result;
use burn_flex::FlexDevice;

#[cfg(feature = "cuda")]
pub(crate) use self::cuda::{members, summation};

/// Training on a device of NVIDIA's.
#[cfg(feature = "cuda")]
pub(crate) type Cuda = burn::backend::Autodiff<burn_cuda::Cuda>;

/// A device as it is named on the command line: `cpu`, `cuda`, `cuda:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    Cpu,
    /// By its number.
    Cuda(usize),
}

/// A device that can be computed on.
pub(crate) enum Device {
    Cpu(FlexDevice),
    #[cfg(feature = "cuda")]
    Cuda(burn_cuda::CudaDevice),
}

impl DeviceName {
    /// The device, once it is known to work: the backend would panic where driver or compiler are missing.
    pub(crate) fn open(self) -> Result<Device> {
        match self {
            Self::Cpu => Ok(Device::Cpu(FlexDevice)),
            #[cfg(feature = "cuda")]
            Self::Cuda(number) => cuda::open(number).map(Device::Cuda),
            #[cfg(not(feature = "cuda"))]
            Self::Cuda(_) => anyhow::bail!("--device {self}: built without CUDA: build with --features cuda"),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => formatter.write_str("cpu"),
            Self::Cuda(number) => write!(formatter, "cuda:{number}"),
        }
    }
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let number = match name.strip_prefix("cuda") {
            None if name == "cpu" => return Ok(Self::Cpu),
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix(':').and_then(|number| number.parse().ok()),
            None => None,
        };
        number.map(Self::Cuda).ok_or_else(|| "devices are cpu, cuda and cuda:N".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_and_numbered() {
        assert_eq!("cpu".parse(), Ok(DeviceName::Cpu));
        assert_eq!("cuda".parse(), Ok(DeviceName::Cuda(0)));
        assert_eq!("cuda:3".parse(), Ok(DeviceName::Cuda(3)));
        for wrong in ["", "gpu", "cuda3", "cuda:", "cuda:-1", "CPU"] {
            assert!(wrong.parse::<DeviceName>().is_err(), "{wrong}");
        }
    }
}
