//! The element types, tied to the engines that can work on them.

use half::{bf16, f16};
use kmeans_core::Scalar;

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
    use super::{CpuEngine, Engine, Scalar, bf16, f16};

    pub trait Engines: Scalar {
        /// The CPU engine for this type.
        fn cpu() -> Box<dyn Engine<Self>>;
    }

    impl Engines for f32 {
        fn cpu() -> Box<dyn Engine<Self>> {
            Box::new(CpuEngine::new())
        }
    }

    impl Engines for f64 {
        fn cpu() -> Box<dyn Engine<Self>> {
            Box::new(CpuEngine::new())
        }
    }

    impl Engines for f16 {
        fn cpu() -> Box<dyn Engine<Self>> {
            Box::new(CpuEngine::new())
        }
    }

    impl Engines for bf16 {
        fn cpu() -> Box<dyn Engine<Self>> {
            Box::new(CpuEngine::new())
        }
    }
}
