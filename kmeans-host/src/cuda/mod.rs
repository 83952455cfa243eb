//! The CUDA engine: the kernels of kmeans-kernels, from the first copy to the last label on the GPU.
//!
//! [`driver`] launches and allocates, what [`arguments`] has checked; everything else is safe code over it. A [`job`] has the points; [`lloyd`] runs
//! [`round`]s over [`assigner`] ([`stream`], on Hopper with [`pruned`]), [`sums`], [`inertia`] and [`empty`]; [`seeding`] picks rows. [`groups`] does all of it for
//! many groups of rows at once. [`profile`] is for benchmarks.

mod arguments;
pub(crate) mod assigner;
pub(crate) mod driver;
mod empty;
mod groups;
mod inertia;
mod job;
mod lloyd;
mod memory;
mod on_device;
// Steps are noted for benchmarks alone (feature `kernels`).
#[cfg_attr(not(feature = "kernels"), allow(dead_code))]
pub(crate) mod profile;
pub(crate) mod pruned;
mod round;
mod seeding;
mod silhouette;
mod stream;
mod sums;
mod whole;

use std::sync::Arc;

use kmeans_core::Scalar;

use self::driver::{Gpu, Stored};
use self::groups::{CudaBatch, CudaGroups};
use self::job::CudaJob;
use crate::Error;
use crate::device::DeviceInfo;
use crate::engine::{Batch, Engine, Grouped, Groups, Job, Task};
use crate::points::Points;

pub(crate) use self::driver::{count, is_open};
pub use self::on_device::{DevicePoints, FittedOnDevice};
pub(crate) use self::on_device::{fit, predict};

/// An element type that points on a GPU can have.
pub(crate) trait Number: Scalar + Stored + Default {}

impl<T: Scalar + Stored + Default> Number for T {}

/// Runs on one GPU.
pub(crate) struct CudaEngine {
    gpu: Arc<Gpu>,
}

impl CudaEngine {
    /// On the GPU with this index.
    pub fn new(index: usize) -> Result<Self, Error> {
        Ok(Self { gpu: Gpu::open(index)? })
    }

    /// For people, such as "cuda:0 (NVIDIA H200, hopper)".
    fn describe(&self) -> String {
        format!("cuda:{} ({}, {})", self.gpu.index, self.gpu.name, self.gpu.tier.name)
    }
}

impl<T: Number> Engine<T> for CudaEngine {
    fn name(&self) -> String {
        self.describe()
    }

    fn is_gpu(&self) -> bool {
        true
    }

    fn silhouettes(&self, grouped: &Grouped) -> Result<Vec<f64>, Error> {
        silhouette::silhouettes(&self.gpu.stream()?, grouped)
    }

    fn load<'a>(&self, points: &'a Points<'_, T>, task: Task) -> Result<Box<dyn Job<T> + 'a>, Error> {
        Ok(Box::new(CudaJob::load(self.gpu.stream()?, points, task)?))
    }

    fn load_batch<'a>(
        &self,
        points: &'a Points<'_, T>,
        problems: usize,
        k: usize,
    ) -> Result<Option<Box<dyn Batch<T> + 'a>>, Error> {
        // Numbers of clusters, and one more, are labels.
        if problems.saturating_mul(k) >= u32::MAX as usize {
            return Ok(None);
        }
        let stream = self.gpu.stream()?;
        if !CudaBatch::<T>::pays(&stream, points.facts(), problems, k) {
            return Ok(None);
        }
        Ok(Some(Box::new(CudaBatch::load(stream, points, problems, k)?)))
    }

    fn load_groups<'a>(&self, points: &'a Points<'_, T>, _: usize) -> Result<Box<dyn Groups<T> + 'a>, Error> {
        Ok(Box::new(CudaGroups::load(self.gpu.stream()?, points)?))
    }
}

/// What the GPU with this index is.
pub(crate) fn info(index: usize) -> Result<DeviceInfo, Error> {
    let gpu = Gpu::open(index)?;
    Ok(DeviceInfo {
        index,
        name: gpu.name.clone(),
        compute_capability: gpu.capability,
        tier: gpu.tier.name,
        memory: gpu.total_memory(),
        free_memory: gpu.free_memory()?,
    })
}
