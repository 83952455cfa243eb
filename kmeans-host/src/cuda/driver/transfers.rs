//! Copies between host and device, through pinned memory.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Arc, PoisonError};

use cudarc::driver::{CudaEvent, PinnedHostSlice, result};
use rayon::prelude::*;

use super::array::{Array, span};
use super::gpu::Gpu;
use super::stream::Stream;
use crate::Error;
use crate::cuda::arguments::{Span, Stored};
use crate::cuda::profile::Step;

/// Bytes of the pinned memory that a copy goes through.
const STAGING_BYTES: usize = 8 << 20;
/// Such memory that is kept; beyond it, who needs some waits until a copy is over.
const MOST_STAGING: usize = 8;
/// Pieces that a copy is cut into at least, so that the host fills or empties one while another is on its way.
const PIECES: usize = 4;
/// Smaller pieces would cost more to wait for than to copy.
const LEAST_PIECE: usize = 1 << 20;
/// Values that a thread copies at a time.
pub const TOGETHER: usize = 1 << 16;

/// Values of a piece of a copy of `len`.
fn piece<E>(len: usize) -> usize {
    (len.div_ceil(PIECES) * size_of::<E>()).clamp(LEAST_PIECE, STAGING_BYTES) / size_of::<E>()
}

/// Copies `from` to `to`, on all threads where that is worth it.
pub fn copy_slice<E: Copy + Send + Sync>(to: &mut [E], from: &[E]) {
    if to.len() <= TOGETHER {
        return to.copy_from_slice(from);
    }
    to.par_chunks_mut(TOGETHER).zip(from.par_chunks(TOGETHER)).for_each(|(to, from)| to.copy_from_slice(from));
}

/// Pinned memory on the way between host and device, and when the copy that uses it has ended. Those that nobody uses may
/// have a copy to the device under way.
pub(super) struct Staging {
    memory: PinnedHostSlice<u64>,
    copied: CudaEvent,
}

/// A copy may still use the memory when an error ends the work.
impl Drop for Staging {
    fn drop(&mut self) {
        // With nothing left to be done about a driver that fails again.
        let _ = self.copied.synchronize();
    }
}

/// Values on their way to the host.
pub struct Incoming<E> {
    gpu: Arc<Gpu>,
    /// Where they arrive, as many as fit in each.
    buffers: Vec<Staging>,
    len: usize,
    element: PhantomData<E>,
}

impl<E: Stored + Default> Incoming<E> {
    /// Whether they are there. Does not wait.
    pub fn have_arrived(&self) -> Result<bool, Error> {
        for buffer in &self.buffers {
            if !buffer.copied.try_is_complete().map_err(|e| self.gpu.failed(e))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values, once they are there: waits for the work that was queued before them, not for what came after.
    pub fn wait(self) -> Result<Vec<E>, Error> {
        let mut host = vec![E::default(); self.len];
        for (buffer, chunk) in self.buffers.iter().zip(host.chunks_mut(STAGING_BYTES / size_of::<E>())) {
            buffer.copied.synchronize().map_err(|e| self.gpu.failed(e))?;
            let memory = buffer.memory.as_ptr().map_err(|e| self.gpu.failed(e))?.cast::<E>();
            // SAFETY: the copy into these bytes has ended; every bit pattern is a value of `E`.
            copy_slice(chunk, unsafe { std::slice::from_raw_parts(memory, chunk.len()) });
        }
        Ok(host)
    }
}

/// The pinned memory goes back to where it is from, each piece once its copy has ended.
impl<E> Drop for Incoming<E> {
    fn drop(&mut self) {
        let ended = self.buffers.drain(..).filter(|buffer| buffer.copied.synchronize().is_ok());
        give_back(&self.gpu, ended);
    }
}

/// Keeps memory for the next copy.
fn give_back(gpu: &Gpu, buffers: impl IntoIterator<Item = Staging>) {
    gpu.staging.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
}

impl Stream {
    /// An array with the values of `host`.
    pub fn upload<E: Stored>(&self, host: &[E]) -> Result<Array<E>, Error> {
        let mut array = self.array(host.len())?;
        self.fill(&mut array, host.len(), |range, chunk| copy_slice(chunk, &host[range]))?;
        Ok(array)
    }

    /// Fills `array` with `len` values that `write` puts into one chunk of host memory after the other: it is given a range of
    /// the array and a place for its values.
    pub fn fill<E: Stored>(
        &self,
        array: &mut Array<E>,
        len: usize,
        mut write: impl FnMut(Range<usize>, &mut [E]),
    ) -> Result<(), Error> {
        assert!(len <= array.len(), "an array is filled within its length");
        let step = piece::<E>(len);
        let mut buffers = [self.staging()?, self.staging()?];
        for (i, start) in (0..len).step_by(step).enumerate() {
            let range = start..len.min(start + step);
            let buffer = &mut buffers[i % 2];
            // Wait for the last copy that used this buffer.
            self.check(buffer.copied.synchronize())?;
            let memory = self.check(buffer.memory.as_mut_ptr())?.cast::<E>();
            // SAFETY: the buffer has `STAGING_BYTES` aligned bytes, nobody else has it and no copy uses it any more; every
            // bit pattern is a value of `E`.
            let chunk = unsafe { std::slice::from_raw_parts_mut(memory, range.len()) };
            write(range.clone(), chunk);
            let address = array.address + (range.start * size_of::<E>()) as u64;
            self.noted(Step::ToDevice, size_of_val(chunk), || {
                // SAFETY: the range lies within the array; the buffer is not touched before `copied` has passed.
                self.check(unsafe { result::memcpy_htod_async(address, chunk, self.inner.cu_stream()) })
            })?;
            self.check(buffer.copied.record(&self.inner))?;
        }
        // Whoever takes a buffer next waits for its copy.
        give_back(&self.gpu, buffers);
        Ok(())
    }

    /// `host.len()` values of `array` from `start` on. Waits for all work before.
    pub fn download_into<E: Stored>(&self, array: &Array<E>, start: usize, host: &mut [E]) -> Result<(), Error> {
        self.download_span(span(array, start..array.len()), host)
    }

    /// The first `host.len()` values at `from`. Waits for all work before.
    pub fn download_span<E: Stored>(&self, from: Span<'_>, host: &mut [E]) -> Result<(), Error> {
        let host: *mut [E] = host;
        // SAFETY: the same values, to which nothing but values is written.
        self.receive(from, unsafe { &mut *(host as *mut [MaybeUninit<E>]) })
    }

    /// Puts the first values at `from` into `host`, all of it.
    fn receive<E: Stored>(&self, from: Span<'_>, host: &mut [MaybeUninit<E>]) -> Result<(), Error> {
        assert!(
            from.element == E::STORED && size_of_val(host) as u64 <= from.bytes,
            "an array is read within its length"
        );
        let step = piece::<E>(host.len());
        let buffers = [self.staging()?, self.staging()?];
        for buffer in &buffers {
            // A copy to the device, of other work perhaps, may still be reading it.
            self.check(buffer.copied.synchronize())?;
        }
        let chunks = host.len().div_ceil(step);
        // Each chunk is taken from its buffer while the next one is on its way.
        for i in 0..=chunks {
            if i < chunks {
                let (at, buffer) = (i * step, &buffers[i % 2]);
                let len = step.min(host.len() - at);
                let memory = self.check(buffer.memory.as_ptr())?.cast_mut().cast::<E>();
                let address = from.address + (at * size_of::<E>()) as u64;
                // SAFETY: the buffer has `STAGING_BYTES` aligned bytes that nobody else has, and the host reads them
                // only after `copied`; the range lies within the array.
                let chunk = unsafe { std::slice::from_raw_parts_mut(memory, len) };
                self.noted(Step::ToHost, size_of_val(chunk), || {
                    // SAFETY: as above.
                    self.check(unsafe { result::memcpy_dtoh_async(chunk, address, self.inner.cu_stream()) })
                })?;
                self.check(buffer.copied.record(&self.inner))?;
            }
            if i > 0 {
                let (at, buffer) = ((i - 1) * step, &buffers[(i - 1) % 2]);
                let len = step.min(host.len() - at);
                self.check(buffer.copied.synchronize())?;
                let memory = self.check(buffer.memory.as_ptr())?.cast::<MaybeUninit<E>>();
                // SAFETY: the copy into these bytes has ended.
                copy_slice(&mut host[at..at + len], unsafe { std::slice::from_raw_parts(memory, len) });
            }
        }
        give_back(&self.gpu, buffers);
        Ok(())
    }

    /// The first `len` values of `array`. Waits for all work before.
    pub fn download<E: Stored>(&self, array: &Array<E>, len: usize) -> Result<Vec<E>, Error> {
        let mut host = Vec::with_capacity(len);
        self.receive(span(array, 0..array.len()), &mut host.spare_capacity_mut()[..len])?;
        // SAFETY: that many values were received.
        unsafe { host.set_len(len) };
        Ok(host)
    }

    /// Begins to copy all values of `array`, as they are when all work before is done, and waits for nothing.
    pub fn fetch<E: Stored>(&self, array: &Array<E>) -> Result<Incoming<E>, Error> {
        self.fetch_part(array, 0..array.len())
    }

    /// The same of a part.
    pub fn fetch_part<E: Stored>(&self, array: &Array<E>, part: Range<usize>) -> Result<Incoming<E>, Error> {
        let (from, len) = (span(array, part.clone()), part.len());
        let step = STAGING_BYTES / size_of::<E>();
        let mut buffers = Vec::new();
        for start in (0..len).step_by(step) {
            let (len, buffer) = (step.min(len - start), self.staging()?);
            let memory = self.check(buffer.memory.as_ptr())?.cast_mut().cast::<E>();
            let address = from.address + (start * size_of::<E>()) as u64;
            // SAFETY: the buffer has `STAGING_BYTES` aligned bytes that nobody else has, and the host reads them only
            // after `copied` (`Incoming::wait`); the range lies within the array.
            let chunk = unsafe { std::slice::from_raw_parts_mut(memory, len) };
            self.noted(Step::ToHost, size_of_val(chunk), || {
                // SAFETY: as above.
                self.check(unsafe { result::memcpy_dtoh_async(chunk, address, self.inner.cu_stream()) })
            })?;
            self.check(buffer.copied.record(&self.inner))?;
            buffers.push(buffer);
        }
        Ok(Incoming { gpu: self.gpu.clone(), buffers, len, element: PhantomData })
    }

    /// Memory that no copy uses any more.
    fn staging(&self) -> Result<Staging, Error> {
        let mut kept = self.gpu.staging.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(done) = kept.iter().position(|staging| staging.copied.is_complete()) {
            return Ok(kept.swap_remove(done));
        }
        if kept.len() >= MOST_STAGING {
            let oldest = kept.remove(0);
            drop(kept);
            self.check(oldest.copied.synchronize())?;
            return Ok(oldest);
        }
        drop(kept);
        let context = &self.gpu.context;
        // SAFETY: bytes are written, by the host or by a copy, before they are read. Flags 0: cached, since the host reads
        // some of them.
        let memory = unsafe { context.alloc_pinned_with_flags::<u64>(STAGING_BYTES / 8, 0) };
        Ok(Staging { memory: self.check(memory)?, copied: self.check(context.new_event(None))? })
    }
}
