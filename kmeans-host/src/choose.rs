//! Which engine does a piece of work.

use crate::engine::Engine;
use crate::{Device, Element, Error};

/// How much there is to do.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Multiplications of the definition: n·k·d per round, for the rounds that are to be expected.
    pub multiplications: f64,
}

/// From this many multiplications on an H200 that was open already was as fast as 16 threads of a processor, or faster:
/// `kmeans bench --choose` measures where that is.
pub const WORTH_A_GPU: f64 = 1e6;
/// From this many on it is worth opening a GPU, which takes a few tenths of a second, once per process.
pub const WORTH_OPENING_A_GPU: f64 = 2e9;

impl Work {
    /// K clusters and up to `rounds` rounds on points of shape `(n, d)`.
    pub fn new((n, d): (usize, usize), k: usize, rounds: usize) -> Self {
        Self { multiplications: n as f64 * d as f64 * k as f64 * rounds.min(TYPICAL_ROUNDS) as f64 }
    }

    /// All distances between points of shape `(n, d)` and `m` others.
    pub fn of_distances((n, d): (usize, usize), m: usize) -> Self {
        Self { multiplications: n as f64 * d as f64 * m as f64 }
    }

    /// Whether [`Device::Auto`] takes a GPU for it, if there is one that this process has opened.
    pub fn is_worth_a_gpu(self) -> bool {
        self.multiplications >= WORTH_A_GPU
    }

    /// The same for a GPU that this process has opened or not.
    fn is_worth_the_gpu(self, is_open: bool) -> bool {
        self.multiplications >= if is_open { WORTH_A_GPU } else { WORTH_OPENING_A_GPU }
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
        Device::Auto if !work.is_worth_the_gpu(is_open(0)) => Ok(T::cpu()),
        // What is wrong with the GPU does not matter to someone who left the choice open.
        Device::Auto => T::cuda(0).or_else(|_| Ok(T::cpu())),
    }
}

/// Whether this process has opened the GPU.
#[cfg(feature = "cuda")]
fn is_open(index: usize) -> bool {
    crate::cuda::is_open(index)
}

/// There is none.
#[cfg(not(feature = "cuda"))]
fn is_open(_: usize) -> bool {
    false
}

/// `device`, or what the environment says in place of [`Device::Auto`].
pub fn resolve(device: Device) -> Result<Device, Error> {
    match device {
        Device::Auto => std::env::var(DEVICE_VARIABLE).map_or(Ok(Device::Auto), |text| text.parse()),
        device => Ok(device),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_opened_for_more_work_than_an_open_one_is_used_for() {
        let work = |n| Work::new((n, 128), 100, 300);
        assert!(!work(2).is_worth_the_gpu(true) && work(10_000).is_worth_the_gpu(true));
        assert!(!work(2_000).is_worth_the_gpu(false) && work(10_000).is_worth_the_gpu(false));
    }
}
