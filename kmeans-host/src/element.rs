//! The element types, tied to the engines that can work on them.

use half::{bf16, f16};
use kmeans_core::Scalar;

use crate::Error;
use crate::cpu::CpuEngine;
use crate::engine::Engine;

/// An element type of points: `f32`, `f64`, [`struct@f16`] or [`bf16`].
///
/// Sealed, and separate from [`Scalar`] so that the engines are compiled once, in this crate, and not again in every
/// crate that calls `fit`.
pub trait Element: Scalar + engines::Engines {}

impl<T: Scalar + engines::Engines> Element for T {}

/// Out of reach of other crates, so that nobody else can implement or call it.
pub(crate) mod engines {
    #[cfg(feature = "cuda")]
    use {
        crate::KMeans,
        crate::cuda::{DevicePoints, FittedOnDevice},
        cudarc::driver::CudaSlice,
        ndarray::ArrayView2,
    };

    use super::{CpuEngine, Engine, Error, Scalar, bf16, f16};

    pub trait Engines: Scalar {
        /// The CPU engine for this type.
        fn cpu() -> Box<dyn Engine<Self>>;
        /// The engine of a CUDA device for this type.
        fn cuda(index: usize) -> Result<Box<dyn Engine<Self>>, Error>;
        /// A fit of points that are on a device.
        #[cfg(feature = "cuda")]
        fn fit_on_device(
            settings: &KMeans,
            points: &DevicePoints<'_, Self>,
            weights: Option<Vec<f64>>,
        ) -> Result<FittedOnDevice<Self>, Error>;
        /// The labels of points that are on a device.
        #[cfg(feature = "cuda")]
        fn predict_on_device(
            points: &DevicePoints<'_, Self>,
            centroids: ArrayView2<'_, Self>,
        ) -> Result<CudaSlice<u32>, Error>;
    }

    // A macro, because a generic implementation would be compiled where it is used.
    macro_rules! engines {
        ($($type:ty),*) => { $(
            impl Engines for $type {
                fn cpu() -> Box<dyn Engine<Self>> {
                    Box::new(CpuEngine::new())
                }

                #[cfg(feature = "cuda")]
                fn cuda(index: usize) -> Result<Box<dyn Engine<Self>>, Error> {
                    Ok(Box::new(crate::cuda::CudaEngine::new(index)?))
                }

                #[cfg(feature = "cuda")]
                fn fit_on_device(
                    settings: &KMeans,
                    points: &DevicePoints<'_, Self>,
                    weights: Option<Vec<f64>>,
                ) -> Result<FittedOnDevice<Self>, Error> {
                    crate::cuda::fit(settings, points, weights)
                }

                #[cfg(feature = "cuda")]
                fn predict_on_device(
                    points: &DevicePoints<'_, Self>,
                    centroids: ArrayView2<'_, Self>,
                ) -> Result<CudaSlice<u32>, Error> {
                    crate::cuda::predict(points, centroids)
                }

                #[cfg(not(feature = "cuda"))]
                fn cuda(index: usize) -> Result<Box<dyn Engine<Self>>, Error> {
                    let reason = "this build has no CUDA engine: enable the feature `cuda` of kmeans-host".into();
                    Err(Error::NoDevice { index, reason })
                }
            }
        )* };
    }

    engines!(f32, f64, f16, bf16);
}
