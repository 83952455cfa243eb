//! A queue of work on a GPU: memory, kernels and the order among them.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, DevicePtr, DriverError, result, sys};
use kmeans_core::launch::{Geometry, Kernel, SHARED_BYTES};

use super::array::{Array, span};
use super::gpu::{Compiled, Gpu};
use crate::Error;
use crate::cuda::arguments::{Arg, Stored, check_arguments, entry};
use crate::cuda::profile::Step;

/// Of work that needs less than this share of all memory nobody asks beforehand whether there is as much: asking the driver takes
/// longer than small work does, and an allocation that fails says the same.
const LITTLE_SHARE: u64 = 64;

/// A queue of work on a GPU. A clone is the same queue.
#[derive(Clone)]
pub struct Stream {
    pub(super) gpu: Arc<Gpu>,
    pub(super) inner: Arc<CudaStream>,
}

impl Stream {
    /// The GPU it belongs to.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(super) fn check<R>(&self, result: Result<R, DriverError>) -> Result<R, Error> {
        result.map_err(|e| self.gpu.failed(e))
    }

    /// Returns an error if `needed` bytes, unless they are few, are more than are free.
    pub fn require(&self, needed: u64) -> Result<(), Error> {
        if needed < self.gpu.memory / LITTLE_SHARE {
            return Ok(());
        }
        let free = self.gpu.free_memory()?;
        if needed <= free { Ok(()) } else { Err(Error::DeviceMemory { index: self.gpu.index, needed, free }) }
    }

    /// An array that something must write before anything reads it.
    pub fn array<E: Stored>(&self, len: usize) -> Result<Array<E>, Error> {
        // The driver does not allocate nothing.
        let len = len.max(1);
        // SAFETY: the kernels' contract names what they write; that nothing is read before is checked by running
        // the tests under initcheck, and every bit pattern is a value of `E`.
        let slice = unsafe { self.inner.alloc::<E>(len) };
        let slice = slice.map_err(|e| match e.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::DeviceMemory {
                index: self.gpu.index,
                needed: (len * size_of::<E>()) as u64,
                free: self.gpu.free_memory().unwrap_or(0),
            },
            _ => self.gpu.failed(e),
        })?;
        let address = slice.device_ptr(&self.inner).0;
        Ok(Array { slice, address })
    }

    /// An array of zeros.
    pub fn zeros<E: Stored>(&self, len: usize) -> Result<Array<E>, Error> {
        let mut array = self.array(len)?;
        self.clear(&mut array)?;
        Ok(array)
    }

    /// Sets all bytes to zero.
    pub fn clear<E: Stored>(&self, array: &mut Array<E>) -> Result<(), Error> {
        self.check(self.inner.context().bind_to_thread())?;
        let bytes = array.len() * size_of::<E>();
        self.noted(Step::Clear, bytes, || {
            // SAFETY: the array has that many bytes, and zeros are a value of every `Stored` type.
            self.check(unsafe { result::memset_d8_async(array.address, 0, bytes, self.inner.cu_stream()) })
        })
    }

    /// Copies a range of `from` to where `to` has its element `at`.
    pub fn copy<E: Stored>(
        &self,
        from: &Array<E>,
        range: Range<usize>,
        to: &mut Array<E>,
        at: usize,
    ) -> Result<(), Error> {
        let len = range.len();
        let (from, to) = (span(from, range), span(to, at..at + len));
        self.check(self.inner.context().bind_to_thread())?;
        let bytes = len * size_of::<E>();
        self.noted(Step::Copy, bytes, || {
            // SAFETY: both ranges have that many bytes, lie within arrays that belong to this stream, and `to` is borrowed
            // mutably, so that they do not overlap.
            self.check(unsafe { result::memcpy_dtod_async(to.address, from.address, bytes, self.inner.cu_stream()) })
        })
    }

    /// Makes what comes on this stream wait for what is queued on another, such as the caller's.
    pub fn wait_for(&self, other: &CudaStream) -> Result<(), Error> {
        let event = self.check(other.record_event(None))?;
        self.check(self.inner.wait(&event))
    }

    /// Waits until all work is done.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.check(self.inner.synchronize())
    }

    /// Blocks of `kernel` that the GPU runs at the same time; 0 where it cannot let all blocks wait for each other.
    pub fn blocks_at_once(&self, kernel: &Kernel, element: &'static str, geometry: Geometry) -> Result<u32, Error> {
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
        if self.check(self.gpu.context.attribute(attribute))? == 0 {
            return Ok(0);
        }
        if self.gpu.shared_bytes < geometry.shared {
            return Ok(0);
        }
        let kernel = self.gpu.kernel(&entry(kernel, element))?;
        let function = self.ready(&kernel, geometry)?;
        let shared = geometry.shared as usize;
        let each = self.check(function.occupancy_max_active_blocks_per_multiprocessor(geometry.block, shared, None))?;
        Ok(each * self.gpu.multiprocessors)
    }

    /// A kernel's function, allowed the shared memory that it will ask for.
    fn ready<'a>(&self, kernel: &'a Compiled, geometry: Geometry) -> Result<&'a CudaFunction, Error> {
        self.check(self.inner.context().bind_to_thread())?;
        if geometry.shared > SHARED_BYTES {
            let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
            self.check(kernel.function.set_attribute(attribute, geometry.shared as i32))?;
        }
        Ok(&kernel.function)
    }

    /// Runs `kernel`, for points stored as `element` if it is compiled for types.
    ///
    /// # Panics
    /// If the arguments are not those of the launch contract: of another type, or an array shorter than its shape.
    pub fn launch(
        &self,
        kernel: &Kernel,
        element: &'static str,
        geometry: Geometry,
        arguments: &[Arg<'_>],
    ) -> Result<(), Error> {
        check_arguments(kernel, element, geometry, arguments);
        let entry = entry(kernel, element);
        let loaded = self.gpu.kernel(&entry)?;
        let function = self.ready(&loaded, geometry)?;
        let mut pointers: Vec<*mut c_void> = arguments.iter().map(Arg::pointer).collect();
        let [x, y] = geometry.grid;
        let launch = if kernel.together { result::launch_cooperative_kernel } else { result::launch_kernel };
        self.noted(Step::Kernel(entry), 0, || {
            // SAFETY: the arguments are those of the contract in number and type, and every array is as long as its shape
            // says, where the shape's sizes are arguments themselves (`check_arguments`). Arrays live as long as their
            // streams' work, since memory is freed in the stream's order. What arrays hold is in range: labels come from
            // kernels that write labels below k, row numbers from draws below n.
            self.check(unsafe {
                launch(
                    function.cu_function(),
                    (x, y, 1),
                    (geometry.block, 1, 1),
                    geometry.shared,
                    self.inner.cu_stream(),
                    &mut pointers,
                )
            })
        })
    }

    /// Queues `work`, and notes how long the device takes for it if somebody asked (`Gpu::profile`).
    pub(super) fn noted(
        &self,
        step: Step,
        bytes: usize,
        work: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if !self.gpu.notes.are_taken() {
            return work();
        }
        let start = self.mark()?;
        work()?;
        self.gpu.notes.add(step, bytes as u64, start, self.mark()?);
        Ok(())
    }

    /// An event that tells when the device has come as far as this.
    fn mark(&self) -> Result<CudaEvent, Error> {
        let event = self.check(self.gpu.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)))?;
        self.check(event.record(&self.inner))?;
        Ok(event)
    }
}

/// What only people who launch single kernels need, such as benchmarks.
#[cfg(feature = "kernels")]
impl Stream {
    /// Milliseconds that the device takes for what `work` queues.
    pub fn time(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f32, Error> {
        let start = self.mark()?;
        work()?;
        let end = self.mark()?;
        self.check(end.synchronize())?;
        self.check(start.elapsed_ms(&end))
    }

    /// Puts `values` into the constant memory of `kernel`.
    pub fn set_constants<E: Stored>(&self, kernel: &Kernel, element: &'static str, values: &[E]) -> Result<(), Error> {
        let module = &self.gpu.kernel(&entry(kernel, element))?.module;
        let symbol = self.check(module.get_global(kmeans_core::launch::CONSTANT_SYMBOL, &self.inner))?;
        assert!(size_of_val(values) <= symbol.len(), "constant memory holds what the contract says");
        let address = symbol.device_ptr(&self.inner).0;
        // SAFETY: the symbol has that many bytes; the copy is over before the function returns.
        self.check(unsafe { result::memcpy_htod_async(address, values, self.inner.cu_stream()) })?;
        self.synchronize()
    }
}
