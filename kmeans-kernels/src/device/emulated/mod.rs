//! A SIMT machine on the host: runs a kernel's grid and reports what a GPU would silently get wrong.
//!
//! Blocks run one after the other, those of kernels with a barrier of the grid from one such barrier to the next. The threads of a block are coroutines on one host thread; which one runs next is
//! drawn from a seed, and they meet at barriers, shuffles and votes. Every memory access is checked, and the first fault
//! ends the launch with a [`Fault`] that names kernel, block, thread and address:
//!
//! - an access outside an array, or at an address that does not suit its size,
//! - a read of memory that nothing wrote, or whose asynchronous copy nobody waited for,
//! - a data race: two threads reach the same bytes, one of them writes, not both by atomics, and no barrier lies between
//!   (between blocks nothing but a barrier of the grid or the end of the kernel separates accesses),
//! - a product of tiles whose bytes were written without the fence that tensor cores need,
//! - a barrier in shared memory that lacks arrivals or bytes for ever,
//! - a barrier, shuffle or vote that some thread does not reach, or reaches at another place in the code,
//! - a barrier of the grid that some block does not reach.
//!
//! ```
//! use kmeans_kernels::device::emulated::{Emulator, Geometry};
//! use kmeans_kernels::device::{block_index, block_size, thread_index};
//!
//! let emulator = Emulator::new(1);
//! let numbers = emulator.buffer("numbers", &[1_u32, 2, 3]);
//! let doubled = emulator.uninitialised::<u32>("doubled", 3);
//! let geometry = Geometry { grid: [1, 1], block: 32, shared: 0 };
//! emulator
//!     .launch("double", geometry, || {
//!         let i = (block_index() * block_size() + thread_index()) as u64;
//!         if i < 3 {
//!             doubled.output().set(i, 2 * numbers.input().get(i));
//!         }
//!     })
//!     .unwrap();
//! assert_eq!(doubled.to_vec(), [2, 4, 6]);
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `memory` | bytes with a shadow: who touched them last, and when |
//! | `schedule` | runs the threads of a block, lets them meet, names who is missing |
//! | `thread` | the running thread: where it is, how it pauses |
//! | `matrix` | products of a warp's tiles, with a tensor core's rounding |
//! | `group` | products of tiles in shared memory by four warps, descriptors and swizzle included |
//! | `wide` | such products that are under way while the threads go on |
//! | `barrier` | barriers in shared memory, and copies of whole tiles that arrive there |
//! | `order` | what threads know of each other by way of those barriers |
//! | `primitives` | the functions and types that kernels see |
//! | `fault` | what can go wrong, and how it reads |
//!
//! Not modelled: time, caches, the order of memory within one barrier interval other than by the order of threads, whether
//! a GPU can hold all blocks of a grid at once, as a barrier of the grid needs.

pub(super) mod barrier;
mod fault;
mod group;
mod matrix;
mod memory;
mod order;
pub(super) mod primitives;
mod schedule;
mod thread;
pub(super) mod wide;

use std::cell::Cell;
use std::marker::PhantomData;
use std::rc::Rc;

pub use fault::{Fault, FaultKind};
use kmeans_core::launch;
use memory::Memory;

use super::Element;
use primitives::{In, Out};

pub use launch::Geometry;

/// The machine: a seed for the order of threads, and a clock.
pub struct Emulator {
    random: schedule::Random,
    clock: Rc<Clock>,
    constants: Memory,
}

/// Numbers every interval between barriers, over all blocks and launches.
struct Clock {
    /// The current interval. Interval 0 is never; 1 belongs to the host.
    now: Cell<u32>,
    /// The first interval of the current launch, or since all blocks last met.
    launch: Cell<u32>,
    /// The first interval of the current block, or since all blocks last met.
    block: Cell<u32>,
    /// The first interval of the current block in the launch.
    born: Cell<u32>,
    /// Writes so far, over all memory.
    writes: Cell<u32>,
}

impl Emulator {
    /// A machine whose threads run in an order drawn from `seed`.
    pub fn new(seed: u64) -> Self {
        let clock = Clock {
            now: Cell::new(1),
            launch: Cell::new(1),
            block: Cell::new(1),
            born: Cell::new(1),
            writes: Cell::new(0),
        };
        let clock = Rc::new(clock);
        let constants = Memory::new("constant memory", launch::CONSTANT_BYTES as usize, 1, clock.clone());
        Self { random: schedule::Random::new(seed), clock, constants }
    }

    /// An array in global memory with these values; the name is for messages.
    pub fn buffer<T: Element>(&self, name: &'static str, values: &[T]) -> Buffer<T> {
        let buffer = self.uninitialised(name, values.len());
        for (index, &value) in values.iter().enumerate() {
            buffer.memory.fill(index as u64, value);
        }
        buffer
    }

    /// An array of `len` elements that nothing has written yet.
    pub fn uninitialised<T: Element>(&self, name: &'static str, len: usize) -> Buffer<T> {
        Buffer { memory: Memory::new(name, len * T::SIZE as usize, T::SIZE, self.clock.clone()), element: PhantomData }
    }

    /// Fills constant memory from its start; the rest of it is as if never written.
    ///
    /// # Panics
    /// If there are more values than constant memory holds.
    pub fn fill_constants<T: Element>(&self, values: &[T]) {
        self.constants.clear();
        for (index, &value) in values.iter().enumerate() {
            self.constants.fill(index as u64, value);
        }
    }

    /// Runs `kernel` once per thread of the grid.
    ///
    /// # Errors
    /// The first fault found.
    ///
    /// # Panics
    /// If the kernel's own code panics (an overflow, say), or the geometry is impossible on a GPU.
    pub fn launch(&self, name: &'static str, geometry: Geometry, kernel: impl Fn()) -> Result<(), Fault> {
        schedule::run_grid(&self.random, &self.clock, &self.constants, name, geometry, &kernel)
    }
}

/// An array in the emulator's global memory.
pub struct Buffer<T> {
    memory: Memory,
    element: PhantomData<T>,
}

impl<T: Element> Buffer<T> {
    /// The array as a kernel reads it.
    pub fn input(&self) -> In<'_, T> {
        In::new(&self.memory)
    }

    /// The array as a kernel writes it.
    pub fn output(&self) -> Out<'_, T> {
        Out::new(&self.memory)
    }

    /// Writes element `index` from the host.
    pub fn set(&self, index: u64, value: T) {
        self.memory.fill(index, value);
    }

    /// The values, copied to the host.
    ///
    /// # Panics
    /// If an element was never written.
    pub fn to_vec(&self) -> Vec<T> {
        (0..self.memory.len() as u64 / T::SIZE as u64).map(|index| self.memory.inspect(index)).collect()
    }
}
