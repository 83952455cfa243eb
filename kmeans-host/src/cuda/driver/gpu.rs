//! A GPU: opened once per process, with the streams, kernels and pinned memory it has in use.

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::Ptx;
use kmeans_kernels::cubin;
use kmeans_kernels::ptx::{self, PORTABLE, Tier};

use super::stream::Stream;
use super::tiers::{TIER_VARIABLE, best_tier};
use super::transfers::Staging;
use crate::Error;
#[cfg(feature = "kernels")]
use crate::cuda::profile::Profile;
use crate::cuda::profile::{Notes, Step};

/// The driver keeps freed memory, up to this share of all there is, for the next fit: to take it from the system anew costs
/// milliseconds.
const POOL_SHARE: usize = 64;
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
    pub(super) memory: u64,
    pub(super) context: Arc<CudaContext>,
    /// All that were made; those that nobody else has do the next piece of work.
    streams: Mutex<Vec<Arc<CudaStream>>>,
    kernels: Mutex<HashMap<String, Arc<Compiled>>>,
    pub(super) staging: Mutex<Vec<Staging>>,
    pub(super) notes: Notes,
}

/// GPUs that are open, by index.
static OPEN: Mutex<Option<HashMap<usize, Arc<Gpu>>>> = Mutex::new(None);

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

    pub(super) fn failed(&self, error: DriverError) -> Error {
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
    pub(super) fn kernel(&self, entry: &str) -> Result<Arc<Compiled>, Error> {
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
pub(super) struct Compiled {
    pub(super) function: CudaFunction,
    #[cfg(feature = "kernels")]
    pub(super) module: Arc<CudaModule>,
}

/// The pool of memory that arrays come from, on GPUs that have them.
fn default_pool(context: &CudaContext) -> Result<Option<sys::CUmemoryPool>, DriverError> {
    if context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? == 0 {
        return Ok(None);
    }
    // SAFETY: the context's device is one that the driver named.
    unsafe { result::device::get_default_mem_pool(context.cu_device()) }.map(Some)
}

/// The driver's own words.
pub(super) fn describe(error: DriverError) -> String {
    let text =
        |found: Result<&CStr, _>| found.map_or_else(|_| "unknown".into(), |s: &CStr| s.to_string_lossy().into_owned());
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}
