//! Buffers of the crate `cust`.

use std::marker::PhantomData;

use cudarc::driver::{CudaSlice, DevicePtr, result};
use cust::memory::{DeviceBuffer, DeviceCopy, GpuBuffer};

use super::gpu::describe;
use crate::Error;
use crate::cuda::arguments::Span;

/// The values, called `element` in the launch contract, of a buffer of the crate `cust`, which begins at `address`.
pub fn at_address<'a, E: DeviceCopy>(address: u64, buffer: &'a DeviceBuffer<E>, element: &'static str) -> Span<'a> {
    Span { address, bytes: (buffer.len() * size_of::<E>()) as u64, element, life: PhantomData }
}

/// Copies `labels` to a buffer of the crate `cust` of the same length, which begins at `address`.
pub fn copy_out(labels: &CudaSlice<u32>, address: u64, buffer: &mut DeviceBuffer<u32>) -> Result<(), Error> {
    assert_eq!(labels.len(), buffer.len(), "the caller compares lengths");
    let stream = labels.stream();
    let failed = |e| Error::DeviceFailed { index: labels.ordinal(), reason: describe(e) };
    stream.context().bind_to_thread().map_err(failed)?;
    let (from, _guard) = labels.device_ptr(stream);
    // SAFETY: both have that many bytes, in one address space; the buffer is borrowed mutably until the copy is over.
    unsafe { result::memcpy_dtod_async(address, from, labels.num_bytes(), stream.cu_stream()) }.map_err(failed)?;
    stream.synchronize().map_err(failed)
}
