//! Which engine does a piece of work.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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
/// From this many on it is worth opening a GPU, which takes a few tenths of a second, once per process. Many pieces of work
/// count together: when the processor has done as much as would have paid for opening a GPU, more of it is likely to come.
pub const WORTH_OPENING_A_GPU: f64 = 2e9;

/// Multiplications of this process for which an open GPU would have been used, had there been one.
static LEFT_TO_CPU: AtomicU64 = AtomicU64::new(0);
/// Whether no GPU could be opened when [`Device::Auto`] wanted one, which is then not tried again.
static NO_GPU: AtomicBool = AtomicBool::new(false);

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

    /// The same for a GPU that is open or not, after so many multiplications that were left to the processor.
    fn is_worth_the_gpu(self, is_open: bool, left_to_cpu: u64) -> bool {
        self.is_worth_a_gpu() && (is_open || self.multiplications + left_to_cpu as f64 >= WORTH_OPENING_A_GPU)
    }
}

/// Rounds that a fit takes where the cap leaves it the choice.
const TYPICAL_ROUNDS: usize = 20;

/// The environment variable that decides for [`Device::Auto`].
const DEVICE_VARIABLE: &str = "KMEANS_DEVICE";

/// The engine for `work` on `device`.
pub fn engine_for<T: Element>(device: Device, work: Work) -> Result<Box<dyn Engine<T>>, Error> {
    if let Some(gpu) = gpu_for(device, work)? {
        return Ok(gpu);
    }
    if work.is_worth_a_gpu() {
        LEFT_TO_CPU.fetch_add(work.multiplications as u64, Ordering::Relaxed);
    }
    Ok(T::cpu())
}

/// The same if it is a GPU.
pub fn gpu_for<T: Element>(device: Device, work: Work) -> Result<Option<Box<dyn Engine<T>>>, Error> {
    match resolve(device)? {
        Device::Cuda(index) => T::cuda(index).map(Some),
        Device::Auto if NO_GPU.load(Ordering::Relaxed) => Ok(None),
        Device::Auto if work.is_worth_the_gpu(is_open(0), LEFT_TO_CPU.load(Ordering::Relaxed)) => {
            // What is wrong with the GPU does not matter to someone who left the choice open.
            let gpu = T::cuda(0).ok();
            NO_GPU.store(gpu.is_none(), Ordering::Relaxed);
            Ok(gpu)
        }
        Device::Cpu | Device::Auto => Ok(None),
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
        assert!(!work(2).is_worth_the_gpu(true, 0) && work(10_000).is_worth_the_gpu(true, 0));
        assert!(!work(2_000).is_worth_the_gpu(false, 0) && work(10_000).is_worth_the_gpu(false, 0));
    }

    #[test]
    fn work_that_comes_again_and_again_opens_a_gpu_when_it_has_added_up() {
        // A frame of a video, in up to 20 rounds.
        let frame = Work::new((640 * 480, 3), 4, 300);
        let before = |frames: u64| frames * frame.multiplications as u64;
        assert!(!frame.is_worth_the_gpu(false, before(20)) && frame.is_worth_the_gpu(false, before(30)));
        // Small work is not done by a GPU however often it comes.
        assert!(!Work::new((10, 3), 4, 300).is_worth_the_gpu(false, u64::MAX));
    }
}
