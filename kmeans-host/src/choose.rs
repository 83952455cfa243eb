//! Which engine does a piece of work.

use crate::engine::Engine;
use crate::{Device, Element, Error};

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Multiplications of the definition: n·k·d per round, for the rounds that are to be expected.
    pub multiplications: f64,
}

/// Below this many multiplications 16 threads of a processor were as fast as an H200 that was open already (docs/kernels.md,
/// C). What opening a GPU costs, once per process, is not counted. `kmeans bench --choose` measures where it should lie.
pub const WORTH_A_GPU: f64 = 2e8;

impl Work {
    /// K clusters and up to `rounds` rounds on points of shape `(n, d)`.
    pub fn new((n, d): (usize, usize), k: usize, rounds: usize) -> Self {
        Self { multiplications: n as f64 * d as f64 * k as f64 * rounds.min(TYPICAL_ROUNDS) as f64 }
    }

    /// All distances between points of shape `(n, d)` and `m` others.
    pub fn of_distances((n, d): (usize, usize), m: usize) -> Self {
        Self { multiplications: n as f64 * d as f64 * m as f64 }
    }

    /// Whether [`Device::Auto`] takes a GPU for it, if there is one.
    pub fn is_worth_a_gpu(self) -> bool {
        self.multiplications >= WORTH_A_GPU
    }
}

/// Rounds that a fit takes where the cap leaves it the choice.
const TYPICAL_ROUNDS: usize = 20;

/// The environment variable that decides for [`Device::Auto`].
const DEVICE_VARIABLE: &str = "KMEANS_DEVICE";

/// The engine for `work` on `device`.
pub fn engine_for<T: Element>(device: Device, work: Work) -> Result<Box<dyn Engine<T>>, Error> {
    match resolve(device)? {
        Device::Cpu => Ok(T::cpu()),
        Device::Cuda(index) => T::cuda(index),
        Device::Auto if !work.is_worth_a_gpu() => Ok(T::cpu()),
        // What is wrong with the GPU does not matter to someone who left the choice open.
        Device::Auto => T::cuda(0).or_else(|_| Ok(T::cpu())),
    }
}

/// `device`, or what the environment says in place of [`Device::Auto`].
pub fn resolve(device: Device) -> Result<Device, Error> {
    match device {
        Device::Auto => std::env::var(DEVICE_VARIABLE).map_or(Ok(Device::Auto), |text| text.parse()),
        device => Ok(device),
    }
}
