//! The functions and types that kernels see.

use std::marker::PhantomData;
use std::panic::Location;

use super::super::{Atomic, Element, Half, Unsigned, lane};
use super::group::GroupOperands;
use super::matrix::Operands;
use super::memory::{Action, Memory};
use super::thread::{Answer, Meeting, Place, Thread};

/// The thread's position in its block.
pub fn thread_index() -> u32 {
    Thread::with_current(|t| t.index)
}

/// Threads per block.
pub fn block_size() -> u32 {
    Thread::with_current(|t| t.block.geometry.block)
}

/// The block's position in the grid's first dimension.
pub fn block_index() -> u32 {
    Thread::with_current(|t| t.block.index[0])
}

/// The block's position in the grid's second dimension.
pub fn block_row() -> u32 {
    Thread::with_current(|t| t.block.index[1])
}

/// Blocks in the grid's first dimension.
pub fn grid_size() -> u32 {
    Thread::with_current(|t| t.block.geometry.grid[0])
}

/// Blocks in the grid's second dimension.
pub fn grid_rows() -> u32 {
    Thread::with_current(|t| t.block.geometry.grid[1])
}

/// Waits until every thread of the block is here; what they wrote before is visible after.
#[track_caller]
pub fn sync_block() {
    meet(Meeting::Block);
}

/// Waits until every lane of the warp is here; what they wrote before is visible after.
#[track_caller]
pub fn sync_warp() {
    meet(Meeting::Warp);
}

/// The barrier of a grid whose blocks all run at once.
pub struct GridBarrier<'a>(PhantomData<&'a u32>);

impl<'a> GridBarrier<'a> {
    /// With this counter, which the host has set to zero.
    pub fn new(_counter: Out<'a, u32>) -> Self {
        Self(PhantomData)
    }

    /// Waits until every thread of the grid is here; what they wrote before is visible after.
    #[track_caller]
    pub fn sync(&mut self) {
        meet(Meeting::Grid);
    }
}

/// Whether this block is the last of the grid to come here; what all blocks wrote before is visible to it after. `arrivals[0]` is
/// zero before, and again after the last block; `told` is a word of shared memory for this alone.
///
/// Blocks that are not the last should leave: what they touch after is not checked against what the last block does.
#[track_caller]
pub fn is_last_block(arrivals: Out<u32>, told: Shared<u32>) -> bool {
    sync_block();
    if thread_index() == 0 {
        let blocks = grid_size() * grid_rows();
        let is_last = arrivals.fetch_add(0, 1) + 1 == blocks;
        if is_last {
            arrivals.add(0, blocks.wrapping_neg());
            Thread::with_current(|t| t.block.clock.launch.set(t.block.clock.now.get() + 1));
        }
        told.set(0, u32::from(is_last));
    }
    sync_block();
    told.get(0) != 0
}

/// The value of the lane whose number differs in the bits of `mask`.
#[track_caller]
pub fn shuffle_xor<T: Element>(value: T, mask: u32) -> T {
    exchange(value, lane() ^ mask)
}

/// The value of the lane `delta` above, or the thread's own where there is none.
#[track_caller]
pub fn shuffle_down<T: Element>(value: T, delta: u32) -> T {
    let from = lane() + delta;
    exchange(value, if from < 32 { from } else { lane() })
}

/// The value of lane `from`.
#[track_caller]
pub fn shuffle_from<T: Element>(value: T, from: u32) -> T {
    exchange(value, from)
}

/// One bit per lane, in lane order: whether its `predicate` holds.
#[track_caller]
pub fn ballot(predicate: bool) -> u32 {
    meet(Meeting::Vote(predicate))[0]
}

/// a·b + c, rounded once.
pub fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    a.mul_add(b, c)
}

/// a·b + c, rounded once.
pub fn multiply_add_double(a: f64, b: f64, c: f64) -> f64 {
    a.mul_add(b, c)
}

/// The warp of this thread in its block; all lanes take part.
pub fn warp_index() -> u32 {
    thread_index() / super::super::WARP
}

/// 1 where a ≥ b, else 0.
pub fn at_least(a: f32, b: f32) -> f32 {
    if a >= b { 1.0 } else { 0.0 }
}

/// The square root, rounded.
pub fn square_root(value: f32) -> f32 {
    value.sqrt()
}

/// The square root, rounded.
pub fn square_root_double(value: f64) -> f64 {
    value.sqrt()
}

/// `value` without what follows the point; an `i64` must hold it.
pub fn to_integer(value: f64) -> i64 {
    debug_assert!(value.abs() < 9.3e18, "an i64 does not hold {value}");
    value as i64
}

/// The nearest `bf16` of two numbers, the first in the lower half of the word.
pub fn pair_to_bf16(low: f32, high: f32) -> u32 {
    let [low, high] = [low, high].map(|value| half::bf16::nearest(value).to_bits() as u32);
    high << 16 | low
}

/// The nearest `f16`.
pub fn single_to_half(value: f32) -> half::f16 {
    half::f16::from_f32(value)
}

/// The value of an `f16`.
pub fn half_to_single(value: half::f16) -> f32 {
    value.to_f32()
}

/// a·b + c for a warp's tiles, 16 by 16 and 16 by 8: see [`Half`](super::super::Half).
#[track_caller]
pub fn multiply_tiles<T: Half>(a: [u32; 4], b: [u32; 2], c: [f32; 4]) -> [f32; 4] {
    let decode = |bits: u16| T::from_raw(bits as u64).single();
    meet(Meeting::Multiply(Operands { a, b, c, decode })).map(f32::from_bits)
}

/// a·bᵀ + `sums` for four warps, tiles of 64 by 64 in shared memory: see [`Swizzled`](super::super::Swizzled).
#[track_caller]
pub fn multiply_group<T: Half>(a: u64, b: u64, sums: &mut [[f32; 4]; 8]) {
    let place = Location::caller();
    let decode = |bits: u16| T::from_raw(bits as u64).single();
    Thread::with_current(|t| t.multiply_group(GroupOperands { a, b, decode }, sums, place));
}

/// Lets tensor cores see, after the next barrier, what this thread has written to shared memory.
pub fn fence_tiles() {
    Thread::with_current(|t| {
        t.fence_tiles();
    });
}

/// Makes a group of the copies that this thread has begun.
pub fn commit_copies() {
    Thread::with_current(|t| {
        t.commit_copies();
    });
}

/// Waits until at most `PENDING` of this thread's groups of copies are under way.
#[track_caller]
pub fn wait_copies<const PENDING: usize>() {
    let place = Location::caller();
    Thread::with_current(|t| t.wait_copies(PENDING, place));
}

#[track_caller]
fn exchange<T: Element>(value: T, from: u32) -> T {
    let [low, high, ..] = meet(Meeting::Exchange { value: value.to_raw(), from });
    T::from_raw((high as u64) << 32 | low as u64)
}

#[track_caller]
fn meet(meeting: Meeting) -> Answer {
    let place = Location::caller();
    Thread::with_current(|t| t.meet(meeting, place))
}

/// Some bytes of memory, whose every access is checked.
#[derive(Clone, Copy)]
struct View<'a> {
    memory: &'a Memory,
    start: u64,
    end: u64,
}

impl View<'_> {
    /// The address of element `index`, once `thread` may do `action` there.
    fn address<T: Element>(self, index: u64, action: Action, thread: &Thread, place: Place) -> u64 {
        let address = self.start.saturating_add(index.saturating_mul(T::SIZE as u64));
        thread.check(self.memory, address, T::SIZE, self.end, action, place);
        address
    }

    fn get<T: Element>(self, index: u64, thread: &Thread, place: Place) -> T {
        let address = self.address::<T>(index, Action::Read, thread, place);
        T::from_raw(self.memory.load(address, T::SIZE))
    }

    fn set<T: Element>(self, index: u64, value: T, thread: &Thread, place: Place) {
        let address = self.address::<T>(index, Action::Write, thread, place);
        self.memory.store(address, T::SIZE, value.to_raw());
    }

    fn fetch_add<T: Atomic>(self, index: u64, value: T, thread: &Thread, place: Place) -> T {
        let address = self.address::<T>(index, Action::Add, thread, place);
        let old = self.memory.load(address, T::SIZE);
        // Adding in 64 bits and storing the low ones wraps as the type does.
        self.memory.store(address, T::SIZE, old.wrapping_add(value.to_raw()));
        T::from_raw(old)
    }
}

/// An array that the kernel reads.
#[derive(Clone, Copy)]
pub struct In<'a, T>(View<'a>, PhantomData<T>);

impl<'a, T: Element> In<'a, T> {
    pub(super) fn new(memory: &'a Memory) -> Self {
        Self(View { memory, start: 0, end: memory.len() as u64 }, PhantomData)
    }

    /// The memory it lies in, and the byte of element `index`.
    pub(super) fn bytes(self, index: u64) -> (&'a Memory, u64) {
        (self.0.memory, self.0.start.saturating_add(index.saturating_mul(T::SIZE as u64)))
    }

    /// The array without its first `elements`.
    pub fn skip(self, elements: u64) -> Self {
        let (_, start) = self.bytes(elements);
        Self(View { start, ..self.0 }, PhantomData)
    }

    /// The 16 bytes from element `index` on, a multiple of 16 bytes.
    #[track_caller]
    pub fn get16(self, index: u64) -> [u32; 4] {
        let place = Location::caller();
        let (memory, address) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(memory, address, 16, self.0.end, Action::Read, place);
            [0, 4, 8, 12].map(|further| memory.load(address + further, 4) as u32)
        })
    }

    /// The 8 bytes from element `index` on, a multiple of 8 bytes.
    #[track_caller]
    pub fn get8(self, index: u64) -> [u32; 2] {
        let place = Location::caller();
        let (memory, address) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(memory, address, 8, self.0.end, Action::Read, place);
            [0, 4].map(|further| memory.load(address + further, 4) as u32)
        })
    }

    /// The 4 bytes from element `index` on, a multiple of 4 bytes.
    #[track_caller]
    pub fn get4(self, index: u64) -> u32 {
        let place = Location::caller();
        let (memory, address) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(memory, address, 4, self.0.end, Action::Read, place);
            memory.load(address, 4) as u32
        })
    }

    /// Element `index`.
    #[track_caller]
    pub fn get(self, index: u64) -> T {
        let place = Location::caller();
        Thread::with_current(|t| self.0.get(index, t, place))
    }
}

/// An array that the kernel writes, and may read.
#[derive(Clone, Copy)]
pub struct Out<'a, T>(View<'a>, PhantomData<T>);

impl<'a, T: Element> Out<'a, T> {
    pub(super) fn new(memory: &'a Memory) -> Self {
        Self(View { memory, start: 0, end: memory.len() as u64 }, PhantomData)
    }

    /// The array without its first `elements`.
    pub fn skip(self, elements: u64) -> Self {
        let start = self.0.start.saturating_add(elements.saturating_mul(T::SIZE as u64));
        Self(View { start, ..self.0 }, PhantomData)
    }

    /// Element `index`.
    #[track_caller]
    pub fn get(self, index: u64) -> T {
        let place = Location::caller();
        Thread::with_current(|t| self.0.get(index, t, place))
    }

    /// Writes element `index`.
    #[track_caller]
    pub fn set(self, index: u64, value: T) {
        let place = Location::caller();
        Thread::with_current(|t| self.0.set(index, value, t, place));
    }

    /// The 16 bytes from element `index` on, a multiple of 16 bytes.
    #[track_caller]
    pub fn get16(self, index: u64) -> [u32; 4] {
        let place = Location::caller();
        let memory = self.0.memory;
        let address = self.0.start.saturating_add(index.saturating_mul(T::SIZE as u64));
        Thread::with_current(|t| {
            t.check(memory, address, 16, self.0.end, Action::Read, place);
            [0, 4, 8, 12].map(|further| memory.load(address + further, 4) as u32)
        })
    }

    /// Writes the 16 bytes from element `index` on, a multiple of 16 bytes.
    #[track_caller]
    pub fn set16(self, index: u64, words: [u32; 4]) {
        let place = Location::caller();
        let memory = self.0.memory;
        let address = self.0.start.saturating_add(index.saturating_mul(T::SIZE as u64));
        Thread::with_current(|t| {
            t.check(memory, address, 16, self.0.end, Action::Write, place);
            for (i, word) in (0..).zip(words) {
                memory.store(address + 4 * i, 4, word as u64);
            }
        });
    }
}

impl<T: Atomic> Out<'_, T> {
    /// Adds to element `index`, wrapping.
    #[track_caller]
    pub fn add(self, index: u64, value: T) {
        let place = Location::caller();
        Thread::with_current(|t| self.0.fetch_add(index, value, t, place));
    }

    /// Adds to element `index`, wrapping, and returns what it was.
    #[track_caller]
    pub fn fetch_add(self, index: u64, value: T) -> T {
        let place = Location::caller();
        Thread::with_current(|t| self.0.fetch_add(index, value, t, place))
    }
}

impl<T: Unsigned> Out<'_, T> {
    /// Raises element `index` to `value` if it is less.
    #[track_caller]
    pub fn raise(self, index: u64, value: T) {
        let place = Location::caller();
        Thread::with_current(|t| {
            let address = self.0.address::<T>(index, Action::Add, t, place);
            let raised = self.0.memory.load(address, T::SIZE).max(value.to_raw());
            self.0.memory.store(address, T::SIZE, raised);
        });
    }
}

/// The module's constant memory, which the host fills before it launches.
#[derive(Clone, Copy, Default)]
pub struct Constants<T>(PhantomData<T>);

impl<T: Element> Constants<T> {
    /// All of it.
    pub fn new() -> Self {
        Self(PhantomData)
    }

    /// Element `index`.
    #[track_caller]
    pub fn get(self, index: u32) -> T {
        let place = Location::caller();
        Thread::with_current(|t| {
            View { memory: t.block.constants, start: 0, end: u64::MAX }.get(index as u64, t, place)
        })
    }
}

/// The block's shared memory, handed out piece by piece from its start.
#[derive(Default)]
pub struct SharedMemory {
    next: u32,
}

impl SharedMemory {
    /// All of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out bytes up to a multiple of `bytes`.
    pub fn align(&mut self, bytes: u32) {
        self.next = self.next.next_multiple_of(bytes);
    }

    /// The next `len` elements, from a multiple of 16 bytes on.
    pub fn array<'a, T: Element>(&mut self, len: u32) -> Shared<'a, T> {
        let start = self.next.next_multiple_of(16);
        self.next = start + len * T::SIZE;
        Shared { start, len, lifetime: PhantomData }
    }
}

/// An array in shared memory.
#[derive(Clone, Copy)]
pub struct Shared<'a, T> {
    start: u32,
    len: u32,
    lifetime: PhantomData<&'a T>,
}

impl<T: Element> Shared<'_, T> {
    /// Lets `f` see the array as part of the running block's memory.
    fn with<R>(self, f: impl FnOnce(View, &Thread) -> R) -> R {
        let (start, end) = (self.start as u64, self.start as u64 + self.len as u64 * T::SIZE as u64);
        Thread::with_current(|t| f(View { memory: &t.block.shared, start, end }, t))
    }

    /// Element `index`.
    #[track_caller]
    pub fn get(self, index: u32) -> T {
        let place = Location::caller();
        self.with(|view, t| view.get(index as u64, t, place))
    }

    /// Writes element `index`.
    #[track_caller]
    pub fn set(self, index: u32, value: T) {
        let place = Location::caller();
        self.with(|view, t| view.set(index as u64, value, t, place));
    }
}

impl<'a, T: Element> Shared<'a, T> {
    /// Begins to copy 16 bytes from element `from` of `source` to element `to`, both at multiples of 16 bytes.
    #[track_caller]
    pub fn copy_async(self, to: u32, source: In<T>, from: u64) {
        let place = Location::caller();
        Thread::with_current(|t| t.copy_async(source.bytes(from), self.bytes(to), place));
    }

    /// The byte of element `index`, and where the array ends.
    pub(super) fn bytes(self, index: u32) -> (u64, u64) {
        let start = self.start as u64;
        (start + index as u64 * T::SIZE as u64, start + self.len as u64 * T::SIZE as u64)
    }

    /// Words of four squares of 8 rows of 16 bytes: squares 0 and 1 are the first and the next 8 rows of their left half, 2 and 3
    /// of their right half. `at` says where row y of 16 begins in half 0 or 1, a multiple of 16 bytes. Of each square the
    /// lane has word lane % 4 of row lane / 4. All 32 lanes take part.
    ///
    /// # Panics
    /// If a row begins elsewhere.
    #[track_caller]
    pub fn square(self, at: impl Fn(u32, u32) -> u32) -> [u32; 4] {
        // Lanes meet; no memory is ordered by that.
        ballot(true);
        let (row, word) = (lane() / 4, lane() % 4);
        let words = self.cast::<u32>();
        [0, 1, 2, 3].map(|square| {
            let first = at(row + 8 * (square % 2), square / 2) * T::SIZE;
            assert!(first.is_multiple_of(16), "rows of a square begin at multiples of 16 bytes");
            words.get(first / 4 + word)
        })
    }

    /// Writes 16 bytes of zeros from element `to` on, a multiple of 16 bytes.
    #[track_caller]
    pub fn clear16(self, to: u32) {
        let place = Location::caller();
        let (address, end) = self.bytes(to);
        Thread::with_current(|t| {
            t.check(&t.block.shared, address, 16, end, Action::Write, place);
            t.block.shared.store(address, 8, 0);
            t.block.shared.store(address + 8, 8, 0);
        });
    }

    /// Its address in shared memory.
    pub fn address(self) -> u32 {
        self.start
    }

    /// The same bytes as elements of another type.
    pub fn cast<U: Element>(self) -> Shared<'a, U> {
        Shared { start: self.start, len: self.len * T::SIZE / U::SIZE, lifetime: PhantomData }
    }
}

impl Shared<'_, f32> {
    /// Elements `index` to `index + 3`, a multiple of 16 bytes.
    #[track_caller]
    pub fn get4(self, index: u32) -> [f32; 4] {
        let place = Location::caller();
        let (address, end) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(&t.block.shared, address, 16, end, Action::Read, place);
            [0, 4, 8, 12].map(|further| f32::from_bits(t.block.shared.load(address + further, 4) as u32))
        })
    }

    /// Writes elements `index` to `index + 3`, a multiple of 16 bytes.
    #[track_caller]
    pub fn set4(self, index: u32, values: [f32; 4]) {
        let place = Location::caller();
        let (address, end) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(&t.block.shared, address, 16, end, Action::Write, place);
            for (i, value) in (0..).zip(values) {
                t.block.shared.store(address + 4 * i, 4, value.to_bits() as u64);
            }
        });
    }
}

impl Shared<'_, u32> {
    /// Elements `index` and `index + 1`, a multiple of 8 bytes.
    #[track_caller]
    pub fn get2(self, index: u32) -> [u32; 2] {
        let place = Location::caller();
        let (address, end) = self.bytes(index);
        Thread::with_current(|t| {
            t.check(&t.block.shared, address, 8, end, Action::Read, place);
            [0, 4].map(|further| t.block.shared.load(address + further, 4) as u32)
        })
    }
}

impl Shared<'_, u64> {
    /// Adds `values[i]` to element `indices[i]` for each i, wrapping. A zero may have any index.
    #[track_caller]
    pub fn add_each<const N: usize>(self, indices: [u32; N], values: [u64; N]) {
        for (index, value) in indices.into_iter().zip(values) {
            if value != 0 {
                self.add(index, value);
            }
        }
    }
}

impl<T: Atomic> Shared<'_, T> {
    /// Adds to element `index`, wrapping.
    #[track_caller]
    pub fn add(self, index: u32, value: T) {
        let place = Location::caller();
        self.with(|view, t| view.fetch_add(index as u64, value, t, place));
    }

    /// Adds to element `index`, wrapping, and returns what it was.
    #[track_caller]
    pub fn fetch_add(self, index: u32, value: T) -> T {
        let place = Location::caller();
        self.with(|view, t| view.fetch_add(index as u64, value, t, place))
    }
}
