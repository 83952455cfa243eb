//! Where a fit runs.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// The machine's part that does the work. The result is the same bits on all of them.
///
/// As text: `auto`, `cpu`, `cuda` (the first CUDA device) or `cuda:1`.
///
/// ```
/// use kmeans_host::Device;
/// assert_eq!("cuda:1".parse(), Ok(Device::Cuda(1)));
/// assert_eq!(Device::Cpu.to_string(), "cpu");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Device {
    /// Whichever is likely to be faster: a GPU if one can be used and the work is enough for it to pay, else the processor. A GPU that is not open
    /// yet pays for more work than one that is: in one call, or in all calls of the process together, such as the frames of a video.
    ///
    /// The environment variable `KMEANS_DEVICE` overrides the choice with the device that it names.
    #[default]
    Auto,
    /// The processor, on the threads of the current rayon pool.
    Cpu,
    /// The CUDA device with this index; an error if it cannot be used.
    Cuda(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "cuda" => Ok(Self::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|index| index.parse().ok())
                .map(Self::Cuda)
                .ok_or_else(|| Error::UnknownDevice { text: text.into() }),
        }
    }
}

/// A GPU that fits can run on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Its index, for [`Device::Cuda`].
    pub index: usize,
    /// Its name, such as "NVIDIA H200".
    pub name: String,
    /// Its compute capability, such as (9, 0).
    pub compute_capability: (i32, i32),
    /// The class of kernels that runs on it: "portable", "ampere" or "hopper".
    pub tier: &'static str,
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of memory that are free.
    pub free_memory: u64,
}

impl Device {
    /// The GPUs that the driver names, in its order, each with what stands in the way of using it if something does. None
    /// if there is no driver.
    ///
    /// ```
    /// for gpu in kmeans_host::Device::gpus() {
    ///     match gpu {
    ///         Ok(gpu) => println!("{}: {}, {} bytes free", gpu.index, gpu.name, gpu.free_memory),
    ///         Err(error) => println!("{error}"),
    ///     }
    /// }
    /// ```
    pub fn gpus() -> Vec<Result<DeviceInfo, Error>> {
        #[cfg(feature = "cuda")]
        return (0..crate::cuda::count()).map(crate::cuda::info).collect();
        #[cfg(not(feature = "cuda"))]
        return Vec::new();
    }
}
