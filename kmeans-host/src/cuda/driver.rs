//! The launch layer: GPUs, their memory and their kernels, behind safe functions. The only module of this crate with
//! `unsafe` code.
//!
//! A GPU is opened once per process. Every piece of work has a stream of its own, on which all it does happens in order;
//! arrays belong to one stream, so that nothing has to be synchronised but what the host reads.
#![allow(unsafe_code)]
// Every function here that returns an error returns what the driver reports, as `Error::DeviceFailed` or
// `Error::DeviceMemory`, and panics only where its caller breaks what its documentation asks for.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc)]

use std::collections::HashMap;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, DriverError, PinnedHostSlice,
    result, sys,
};
use cudarc::nvrtc::Ptx;
use kmeans_core::launch::{Geometry, Kernel, SHARED_BYTES};
use kmeans_kernels::cubin;
use kmeans_kernels::ptx::{self, AMPERE, HOPPER, PORTABLE, Tier};
use rayon::prelude::*;

use super::arguments::check_arguments;
pub use super::arguments::{Arg, Span, Stored, entry};
#[cfg(feature = "kernels")]
use super::profile::Profile;
use super::profile::{Notes, Step};
use crate::Error;

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

/// The driver keeps freed memory, up to this share of all there is, for the next fit: to take it from the system anew costs
/// milliseconds.
const POOL_SHARE: usize = 64;
/// Of work that needs less than this share of all memory nobody asks beforehand whether there is as much: asking the driver takes
/// longer than small work does, and an allocation that fails says the same.
const LITTLE_SHARE: u64 = 64;
const RELEASE_THRESHOLD: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
const RESERVED: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
const USED: sys::CUmemPool_attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT;

/// An opened GPU.
pub struct Gpu {
    /// Its index, as the driver counts.
    pub index: usize,
    /// Its name, such as "NVIDIA H200".
    pub name: String,
    /// Its compute capability.
    pub capability: (i32, i32),
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Most bytes of shared memory of a block.
    pub shared_bytes: u32,
    /// The best class of kernels it may use.
    pub tier: Tier,
    /// Bytes of memory in all.
    memory: u64,
    context: Arc<CudaContext>,
    /// All that were made; those that nobody else has do the next piece of work.
    streams: Mutex<Vec<Arc<CudaStream>>>,
    kernels: Mutex<HashMap<String, Arc<Compiled>>>,
    staging: Mutex<Vec<Staging>>,
    notes: Notes,
}

/// GPUs that are open, by index.
static OPEN: Mutex<Option<HashMap<usize, Arc<Gpu>>>> = Mutex::new(None);

/// The environment variable that names the best tier to use, for tests and comparisons.
pub const TIER_VARIABLE: &str = "KMEANS_CUDA_TIER";

/// Whether there is a driver at all; asked once.
fn driver_is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: loading the driver's library runs its initialisers, as every CUDA program does.
    *PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// How many GPUs the driver has; 0 without a driver.
pub fn count() -> usize {
    if !driver_is_present() || result::init().is_err() {
        return 0;
    }
    result::device::get_count().map_or(0, |count| count.max(0) as usize)
}

/// Whether the GPU with this index has been opened.
pub fn is_open(index: usize) -> bool {
    let open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    open.as_ref().is_some_and(|open| open.contains_key(&index))
}

impl Gpu {
    /// The GPU with this index.
    pub fn open(index: usize) -> Result<Arc<Self>, Error> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(gpu) = open.get(&index) {
            return Ok(gpu.clone());
        }
        let no_device = |reason: String| Error::NoDevice { index, reason };
        if !driver_is_present() {
            return Err(no_device("no NVIDIA driver (libcuda) is installed".into()));
        }
        let count = count();
        if index >= count {
            let s = if count == 1 { "" } else { "s" };
            return Err(no_device(format!("the driver has {count} device{s}, counted from 0")));
        }
        let gpu = Self::create(index).map_err(|e| no_device(describe(e)))?;
        let (major, minor) = PORTABLE.capability;
        if gpu.capability < PORTABLE.capability {
            let (x, y) = gpu.capability;
            return Err(no_device(format!("its compute capability is {x}.{y}, {major}.{minor} or more is needed")));
        }
        let gpu = Arc::new(gpu);
        open.insert(index, gpu.clone());
        Ok(gpu)
    }

    fn create(index: usize) -> Result<Self, DriverError> {
        let context = CudaContext::new(index)?;
        // SAFETY: an array is only used on the stream it was made on (`Stream`), so no other synchronisation is needed.
        unsafe { context.disable_event_tracking() };
        let capability = context.compute_capability()?;
        let count = context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        let shared = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        let shared_bytes = context.attribute(shared)?.max(0) as u32;
        let memory = context.total_mem()?;
        let mut kept = (memory / POOL_SHARE) as u64;
        if let Some(pool) = default_pool(&context)? {
            // SAFETY: the attribute is a number of 64 bits, which the driver copies.
            unsafe { result::mem_pool::set_attribute(pool, RELEASE_THRESHOLD, (&raw mut kept).cast())? };
        }
        Ok(Self {
            index,
            name: context.name()?,
            capability,
            multiprocessors: count.max(1) as u32,
            shared_bytes,
            tier: best_tier(capability, std::env::var(TIER_VARIABLE).ok().as_deref()),
            memory: memory as u64,
            context,
            streams: Mutex::new(Vec::new()),
            kernels: Mutex::new(HashMap::new()),
            staging: Mutex::new(Vec::new()),
            notes: Notes::default(),
        })
    }

    /// Bytes of memory that are free, or that the driver keeps for this process to allocate.
    pub fn free_memory(&self) -> Result<u64, Error> {
        let pooled = |attribute| {
            let mut bytes = 0_u64;
            if let Some(pool) = default_pool(&self.context)? {
                // SAFETY: the attributes asked for are numbers of 64 bits.
                unsafe { result::mem_pool::get_attribute(pool, attribute, (&raw mut bytes).cast())? };
            }
            Ok(bytes)
        };
        let kept = || Ok(pooled(RESERVED)?.saturating_sub(pooled(USED)?));
        let (free, _) = self.context.mem_get_info().map_err(|e| self.failed(e))?;
        Ok(free as u64 + kept().map_err(|e| self.failed(e))?)
    }

    /// Bytes of memory in all.
    pub fn total_memory(&self) -> u64 {
        self.memory
    }

    /// Waits for all work on the device.
    #[cfg(feature = "cust")]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.context.synchronize().map_err(|e| self.failed(e))
    }

    /// A stream for a piece of work.
    pub fn stream(self: &Arc<Self>) -> Result<Stream, Error> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = if let Some(idle) = streams.iter().find(|stream| Arc::strong_count(stream) == 1) {
            idle.clone()
        } else {
            let new = self.context.new_stream().map_err(|e| self.failed(e))?;
            streams.push(new.clone());
            new
        };
        Ok(Stream { gpu: self.clone(), inner })
    }

    /// What `work` returns, and what this GPU did meanwhile, also for others. Events around every step slow it down: total
    /// times are measured without.
    #[cfg(feature = "kernels")]
    pub fn profile<R>(self: &Arc<Self>, work: impl FnOnce() -> Result<R, Error>) -> Result<(R, Profile), Error> {
        self.notes.begin();
        let result = work();
        let tallies = self.notes.end().map_err(|e| self.failed(e))?;
        let stream = self.stream()?;
        let mut empty = [0.0_f32; 21];
        for time in &mut empty {
            *time = stream.time(|| Ok(()))?;
        }
        empty.sort_by(f32::total_cmp);
        Ok((result?, Profile { tallies, empty_milliseconds: empty[10].into() }))
    }

    fn failed(&self, error: DriverError) -> Error {
        Error::DeviceFailed { index: self.index, reason: describe(error) }
    }

    /// The module of an entry point: machine code where there is some for this GPU and the driver takes it, else PTX.
    fn load(&self, entry: &str) -> Result<Arc<CudaModule>, DriverError> {
        if let Some(code) = cubin::entry(entry, self.capability)
            && let Ok(module) = self.context.load_module(Ptx::from_binary(code))
        {
            return Ok(module);
        }
        let text = ptx::entry(entry);
        let text = text.unwrap_or_else(|| unreachable!("{entry} is in the launch contract, so it is in the PTX"));
        self.context.load_module(Ptx::from_src(text))
    }

    /// The entry point of a kernel, loaded when it is first asked for.
    fn kernel(&self, entry: &str) -> Result<Arc<Compiled>, Error> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(entry) {
            return Ok(kernel.clone());
        }
        let begun = Instant::now();
        let module = self.load(entry).map_err(|e| self.failed(e))?;
        self.notes.add_since(Step::Load, begun);
        let function = module.load_function(entry).map_err(|e| self.failed(e))?;
        let compiled = Arc::new(Compiled {
            function,
            #[cfg(feature = "kernels")]
            module,
        });
        kernels.insert(entry.to_string(), compiled.clone());
        Ok(compiled)
    }
}

/// A kernel that the driver has loaded, in a module of its own.
struct Compiled {
    function: CudaFunction,
    #[cfg(feature = "kernels")]
    module: Arc<CudaModule>,
}

/// The pool of memory that arrays come from, on GPUs that have them.
fn default_pool(context: &CudaContext) -> Result<Option<sys::CUmemoryPool>, DriverError> {
    if context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? == 0 {
        return Ok(None);
    }
    // SAFETY: the context's device is one that the driver named.
    unsafe { result::device::get_default_mem_pool(context.cu_device()) }.map(Some)
}

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

/// The driver's own words.
fn describe(error: DriverError) -> String {
    let text = |found: Result<&std::ffi::CStr, _>| {
        found.map_or_else(|_| "unknown".into(), |s: &std::ffi::CStr| s.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}

/// The tiers, in increasing order.
const TIERS: [Tier; 3] = [PORTABLE, AMPERE, HOPPER];

/// Whether GPUs of a compute capability can run a tier.
fn can_run(capability: (i32, i32), tier: &Tier) -> bool {
    match tier.name {
        // Hopper's own instructions exist on no other class of GPU, later ones included.
        "hopper" => capability == tier.capability,
        _ => capability >= tier.capability,
    }
}

/// The best tier for a compute capability; at most the one named `limit`.
fn best_tier(capability: (i32, i32), limit: Option<&str>) -> Tier {
    let limit = TIERS.iter().position(|tier| Some(tier.name) == limit).unwrap_or(TIERS.len() - 1);
    *TIERS[..=limit].iter().rev().find(|tier| can_run(capability, tier)).unwrap_or(&PORTABLE)
}

/// The names of the tiers that GPUs of a compute capability can run, in increasing order: what [`TIER_VARIABLE`] may say.
#[cfg(feature = "kernels")]
pub fn tiers(capability: (i32, i32)) -> Vec<&'static str> {
    TIERS.iter().filter(|tier| can_run(capability, tier)).map(|tier| tier.name).collect()
}

/// Pinned memory on the way between host and device, and when the copy that uses it has ended. Those that nobody uses may
/// have a copy to the device under way.
struct Staging {
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

/// A number of a device's array, on its way to the host.
pub struct Coming {
    gpu: Arc<Gpu>,
    /// There until it is dropped.
    staging: Option<Staging>,
}

impl Coming {
    /// The number, if it has arrived. Does not wait.
    pub fn value(&self) -> Result<Option<u32>, Error> {
        let Some(staging) = &self.staging else { return Ok(None) };
        if !staging.copied.try_is_complete().map_err(|e| self.gpu.failed(e))? {
            return Ok(None);
        }
        let memory = staging.memory.as_ptr().map_err(|e| self.gpu.failed(e))?.cast::<u32>();
        // SAFETY: the copy into these bytes has ended.
        Ok(Some(unsafe { memory.read() }))
    }
}

/// The pinned memory goes back to where it is from, once the copy has ended.
impl Drop for Coming {
    fn drop(&mut self) {
        if let Some(staging) = self.staging.take()
            && staging.copied.synchronize().is_ok()
        {
            self.gpu.staging.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
        }
    }
}

/// A queue of work on a GPU. A clone is the same queue.
#[derive(Clone)]
pub struct Stream {
    gpu: Arc<Gpu>,
    inner: Arc<CudaStream>,
}

/// Values in device memory.
pub struct Array<E> {
    slice: CudaSlice<E>,
    address: u64,
}

impl<E: Stored> Array<E> {
    /// What lies before `at`, to read, and the rest, to write or add to.
    pub fn split(&mut self, at: usize) -> (Arg<'_>, Arg<'_>) {
        let array = &*self;
        (Arg::In(span(array, 0..at)), Arg::Out(span(array, at..array.len())))
    }
}

impl<E> Array<E> {
    /// Values.
    pub fn len(&self) -> usize {
        self.slice.len()
    }

    /// Whether there are none: never, since an array has room for one value at least.
    #[cfg(feature = "kernels")]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slice, for callers who go on with it.
    pub fn into_slice(self) -> CudaSlice<E> {
        self.slice
    }
}

/// Values on their way to the host.
pub struct Incoming<E> {
    stream: Stream,
    /// Where they arrive, as many as fit in each.
    buffers: Vec<Staging>,
    len: usize,
    element: PhantomData<E>,
}

impl<E: Stored + Default> Incoming<E> {
    /// The values, once they are there: waits for the work that was queued before them, not for what came after.
    pub fn wait(self) -> Result<Vec<E>, Error> {
        let Self { stream, buffers, len, .. } = self;
        let mut host = vec![E::default(); len];
        for (buffer, chunk) in buffers.iter().zip(host.chunks_mut(STAGING_BYTES / size_of::<E>())) {
            stream.check(buffer.copied.synchronize())?;
            let memory = stream.check(buffer.memory.as_ptr())?.cast::<E>();
            // SAFETY: the copy into these bytes has ended; every bit pattern is a value of `E`.
            copy_slice(chunk, unsafe { std::slice::from_raw_parts(memory, chunk.len()) });
        }
        stream.give_back(buffers);
        Ok(host)
    }
}

/// Points in device memory, which somebody else owns.
pub fn borrowed<'a, E: Stored>(slice: &'a (impl DevicePtr<E> + ?Sized), stream: &Stream) -> Span<'a> {
    let (address, _) = slice.device_ptr(&stream.inner);
    Span { address, bytes: (slice.len() * size_of::<E>()) as u64, element: E::STORED, life: PhantomData }
}

/// The values, called `element` in the launch contract, of a buffer of the crate `cust`, which begins at `address`.
#[cfg(feature = "cust")]
pub fn at_address<'a, E: cust::memory::DeviceCopy>(
    address: u64,
    buffer: &'a cust::memory::DeviceBuffer<E>,
    element: &'static str,
) -> Span<'a> {
    use cust::memory::GpuBuffer;
    Span { address, bytes: (buffer.len() * size_of::<E>()) as u64, element, life: PhantomData }
}

/// Copies `labels` to a buffer of the crate `cust` of the same length, which begins at `address`.
#[cfg(feature = "cust")]
pub fn copy_out(
    labels: &CudaSlice<u32>,
    address: u64,
    buffer: &mut cust::memory::DeviceBuffer<u32>,
) -> Result<(), Error> {
    use cust::memory::GpuBuffer;
    assert_eq!(labels.len(), buffer.len(), "the caller compares lengths");
    let stream = labels.stream();
    let failed = |e| Error::DeviceFailed { index: labels.ordinal(), reason: describe(e) };
    stream.context().bind_to_thread().map_err(failed)?;
    let (from, _guard) = labels.device_ptr(stream);
    // SAFETY: both have that many bytes, in one address space; the buffer is borrowed mutably until the copy is over.
    unsafe { result::memcpy_dtod_async(address, from, labels.num_bytes(), stream.cu_stream()) }.map_err(failed)?;
    stream.synchronize().map_err(failed)
}

fn span<E: Stored>(array: &Array<E>, range: Range<usize>) -> Span<'_> {
    assert!(range.start <= range.end && range.end <= array.len(), "a part of an array lies within it");
    Span {
        address: array.address + (range.start * size_of::<E>()) as u64,
        bytes: ((range.end - range.start) * size_of::<E>()) as u64,
        element: E::STORED,
        life: PhantomData,
    }
}

/// The array to read.
pub fn read<E: Stored>(array: &Array<E>) -> Arg<'_> {
    Arg::In(span(array, 0..array.len()))
}

/// The array to write or add to.
pub fn write<E: Stored>(array: &mut Array<E>) -> Arg<'_> {
    Arg::Out(span(array, 0..array.len()))
}

/// Words of `array` as values of another type, to write or add to.
pub fn write_as<E: Stored>(array: &mut Array<u64>, words: Range<usize>) -> Arg<'_> {
    Arg::Out(Span { element: E::STORED, ..span(array, words) })
}

/// The array, its bytes taken as values of another type, to read.
pub fn read_as<E: Stored>(array: &Array<impl Stored>) -> Arg<'_> {
    Arg::In(Span { element: E::STORED, ..span(array, 0..array.len()) })
}

/// Parts of the array, in ascending order, to write or add to.
pub fn write_parts<const N: usize>(array: &mut Array<u64>, parts: [Range<usize>; N]) -> [Arg<'_>; N] {
    assert!(parts.windows(2).all(|pair| pair[0].end <= pair[1].start), "parts do not overlap");
    let array = &*array;
    parts.map(|part| Arg::Out(span(array, part)))
}

/// Part of the array to read.
pub fn read_part<E: Stored>(array: &Array<E>, range: Range<usize>) -> Arg<'_> {
    Arg::In(span(array, range))
}

/// Part of the array to write or add to.
pub fn write_part<E: Stored>(array: &mut Array<E>, range: Range<usize>) -> Arg<'_> {
    Arg::Out(span(array, range))
}

impl Stream {
    /// The GPU it belongs to.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    fn check<R>(&self, result: Result<R, DriverError>) -> Result<R, Error> {
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
        self.give_back(buffers);
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
        self.give_back(buffers);
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
        let step = STAGING_BYTES / size_of::<E>();
        let mut buffers = Vec::new();
        for start in (0..array.len()).step_by(step) {
            let (len, buffer) = (step.min(array.len() - start), self.staging()?);
            let memory = self.check(buffer.memory.as_ptr())?.cast_mut().cast::<E>();
            let address = array.address + (start * size_of::<E>()) as u64;
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
        Ok(Incoming { stream: self.clone(), buffers, len: array.len(), element: PhantomData })
    }

    /// Sends element `at` of `array`, as it is when all work before is done, to the host, which need not wait for it.
    pub fn send(&self, array: &Array<u32>, at: usize) -> Result<Coming, Error> {
        let from = span(array, at..at + 1);
        let staging = self.staging()?;
        let memory = self.check(staging.memory.as_ptr())?.cast_mut().cast::<u32>();
        // SAFETY: the buffer has `STAGING_BYTES` aligned bytes that nobody else has, and the host reads them only after
        // `copied`.
        let to = unsafe { std::slice::from_raw_parts_mut(memory, 1) };
        self.noted(Step::ToHost, size_of_val(to), || {
            // SAFETY: as above; the element lies within the array.
            self.check(unsafe { result::memcpy_dtoh_async(to, from.address, self.inner.cu_stream()) })
        })?;
        self.check(staging.copied.record(&self.inner))?;
        Ok(Coming { gpu: self.gpu.clone(), staging: Some(staging) })
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

    fn give_back(&self, buffers: impl IntoIterator<Item = Staging>) {
        self.gpu.staging.lock().unwrap_or_else(PoisonError::into_inner).extend(buffers);
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
    fn noted(&self, step: Step, bytes: usize, work: impl FnOnce() -> Result<(), Error>) -> Result<(), Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_tier_is_one_the_gpu_can_run() {
        let name = |capability, limit| best_tier(capability, limit).name;
        assert_eq!(name((7, 5), None), "portable");
        assert_eq!(name((8, 9), None), "ampere");
        assert_eq!(name((9, 0), None), "hopper");
        assert_eq!(name((10, 0), None), "ampere");
        assert_eq!(name((9, 0), Some("ampere")), "ampere");
        assert_eq!(name((9, 0), Some("portable")), "portable");
        assert_eq!(name((8, 0), Some("hopper")), "ampere");
    }

    #[cfg(feature = "kernels")]
    #[test]
    fn the_tiers_of_a_gpu_are_those_it_can_be_limited_to() {
        for capability in [(7, 5), (8, 0), (9, 0), (10, 0)] {
            let tiers = tiers(capability);
            assert_eq!(tiers.last(), Some(&best_tier(capability, None).name));
            assert!(tiers.iter().all(|tier| best_tier(capability, Some(tier)).name == *tier));
        }
    }
}
