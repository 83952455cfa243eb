//! Where a fit runs.

/// The machine's part that does the work. The result is the same bits on all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Device {
    /// A GPU if one can be used, else the processor.
    #[default]
    Auto,
    /// The processor, on the threads of the current rayon pool.
    Cpu,
    /// The CUDA device with this index; an error if it cannot be used.
    Cuda(usize),
}
