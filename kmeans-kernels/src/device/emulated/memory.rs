//! Bytes with a shadow: who touched them last, and when.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use super::super::{Element, WARP};
use super::Clock;
use super::fault::FaultKind;

/// A piece of memory. Addresses are in bytes from its start.
pub(super) struct Memory {
    name: &'static str,
    clock: Rc<Clock>,
    /// Whether only one block sees it, so that what earlier blocks did is not there.
    shared: bool,
    /// Bytes that one shadow stands for. Global arrays hold one type, so an element each; shared memory is cut anew by
    /// every kernel, so a byte each. As a power of two, since a division per access would take half of all time.
    granule_shift: u32,
    bytes: RefCell<Vec<u8>>,
    shadows: RefCell<Vec<Shadow>>,
}

/// What the checks need to know about a granule.
#[derive(Clone, Copy, Default)]
struct Shadow {
    /// The interval of the last write, 0 for never.
    written: u32,
    /// Which write of all that was.
    write: u32,
    writes: Pair,
    reads: Pair,
}

/// One access: when, and by whom.
#[derive(Clone, Copy, Default)]
pub(super) struct Access {
    /// The interval between two barriers of a block; 0 for no access.
    interval: u32,
    /// Warp barriers that the thread's warp had passed in its block.
    warp_interval: u16,
    thread: u16,
    atomic: bool,
    /// The thread's epoch: see `order`.
    epoch: u32,
}

impl Access {
    pub(super) fn new(interval: u32, warp_interval: u16, thread: u32, epoch: u32) -> Self {
        Self { interval, warp_interval, thread: thread as u16, atomic: false, epoch }
    }

    /// Whether nothing orders the two, given where the current block's intervals begin, and what this thread knows.
    fn unordered(self, earlier: Access, block: u32, known: &[u32]) -> bool {
        if self.atomic && earlier.atomic {
            return false;
        }
        if earlier.interval < block {
            return true; // another block of this launch
        }
        let same_warp = self.thread as u32 / WARP == earlier.thread as u32 / WARP;
        self.thread != earlier.thread
            && self.interval == earlier.interval
            && !(same_warp && self.warp_interval != earlier.warp_interval)
            && known.get(earlier.thread as usize).is_none_or(|&epoch| epoch < earlier.epoch)
    }
}

/// The last accesses of two different threads: whoever comes third races with at least one of them, or with neither.
#[derive(Clone, Copy, Default)]
struct Pair([Access; 2]);

impl Pair {
    fn note(&mut self, access: Access, block: u32) {
        let same_thread = self.0[0].thread == access.thread && self.0[0].interval >= block;
        if !same_thread {
            self.0[1] = self.0[0];
        }
        self.0[0] = access;
    }
}

/// What a thread does to memory.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Action {
    Read,
    Write,
    Add,
}

impl Action {
    fn verb(self) -> &'static str {
        match self {
            Action::Read => "reads",
            Action::Write => "writes",
            Action::Add => "adds to",
        }
    }
}

fn past_verb(write: bool, atomic: bool) -> &'static str {
    match (write, atomic) {
        (_, true) => "added to",
        (true, _) => "wrote",
        (false, _) => "read",
    }
}

impl Memory {
    /// An array in global memory.
    pub(super) fn new(name: &'static str, len: usize, granule: u32, clock: Rc<Clock>) -> Self {
        let shadows = vec![Shadow::default(); len.div_ceil(granule as usize)];
        let granule_shift = granule.trailing_zeros();
        Self {
            name,
            clock,
            shared: false,
            granule_shift,
            bytes: RefCell::new(vec![0; len]),
            shadows: RefCell::new(shadows),
        }
    }

    /// A block's shared memory. Kept from block to block: what an earlier one wrote does not count as written.
    pub(super) fn new_shared(len: usize, clock: Rc<Clock>) -> Self {
        Self { shared: true, ..Self::new("shared memory", len, 1, clock) }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.borrow().len()
    }

    /// Writes an element from the host.
    pub(super) fn fill<T: Element>(&self, index: u64, value: T) {
        let address = index * T::SIZE as u64;
        self.store(address, T::SIZE, value.to_raw());
        for shadow in &mut self.shadows.borrow_mut()[self.granules(address, T::SIZE)] {
            shadow.written = 1;
        }
    }

    /// The granules that an access touches.
    fn granules(&self, address: u64, size: u32) -> Range<usize> {
        let last = (address + size as u64 - 1) >> self.granule_shift;
        (address >> self.granule_shift) as usize..last as usize + 1
    }

    /// The thread that last wrote some of the bytes after its last fence, if there is one; `fenced` has, per thread, the
    /// number of writes before that fence.
    pub(super) fn unfenced(&self, address: u64, size: u32, fenced: &[Cell<u32>]) -> Option<u32> {
        let shadows = &self.shadows.borrow()[self.granules(address, size)];
        let writer = |shadow: &Shadow| shadow.writes.0[0].thread;
        shadows.iter().find(|s| s.write > fenced[writer(s) as usize].get()).map(|s| writer(s) as u32)
    }

    /// Lets some bytes count as not written.
    pub(super) fn forget(&self, address: u64, size: u32) {
        for shadow in &mut self.shadows.borrow_mut()[self.granules(address, size)] {
            shadow.written = 0;
        }
    }

    /// Writes what a copy that began earlier brings; it needs no fence.
    pub(super) fn land(&self, address: u64, words: &[u64], interval: u32) {
        for (i, &word) in words.iter().enumerate() {
            self.store(address + i as u64 * 8, 8, word);
        }
        for shadow in &mut self.shadows.borrow_mut()[self.granules(address, words.len() as u32 * 8)] {
            shadow.written = interval;
            shadow.write = 0;
        }
    }

    /// Forgets what was written.
    pub(super) fn clear(&self) {
        self.shadows.borrow_mut().fill(Shadow::default());
    }

    /// Reads an element from the host.
    pub(super) fn inspect<T: Element>(&self, index: u64) -> T {
        assert!(self.shadows.borrow()[index as usize].written > 0, "nothing wrote element {index} of `{}`", self.name);
        T::from_raw(self.load(index * T::SIZE as u64, T::SIZE))
    }

    /// Checks and records one access of `size` bytes to an array that ends at `end`.
    pub(super) fn check(
        &self,
        address: u64,
        size: u32,
        end: u64,
        action: Action,
        by: Access,
        known: &[u32],
    ) -> Result<(), FaultKind> {
        let end = end.min(self.len() as u64);
        if address.saturating_add(size as u64) > end {
            return Err(FaultKind::OutOfBounds { memory: self.name, address, end });
        }
        if !address.is_multiple_of(size as u64) {
            return Err(FaultKind::Misaligned { memory: self.name, address, size });
        }
        let by = Access { atomic: action == Action::Add, ..by };
        let (block, launch) = (self.clock.block.get(), self.clock.launch.get());
        let oldest = if self.shared { block } else { launch };
        let oldest_write = if self.shared { self.clock.born.get() } else { 1 };
        self.clock.writes.update(|w| w + u32::from(action != Action::Read));
        let mut shadows = self.shadows.borrow_mut();
        let granules = self.granules(address, size);
        for (position, shadow) in granules.clone().zip(&mut shadows[granules]) {
            let address = (position as u64) << self.granule_shift;
            if action != Action::Write && shadow.written < oldest_write {
                return Err(FaultKind::Unwritten { memory: self.name, address });
            }
            let race =
                |before: &Pair| before.0.into_iter().find(|&a| a.interval >= oldest && by.unordered(a, block, known));
            let before = race(&shadow.writes).map(|a| (true, a));
            let before =
                before.or_else(|| if action == Action::Read { None } else { race(&shadow.reads).map(|a| (false, a)) });
            if let Some((write, other)) = before {
                return Err(FaultKind::Race {
                    memory: self.name,
                    address,
                    now: action.verb(),
                    before: past_verb(write, other.atomic),
                    other: other.thread as u32,
                    other_block: other.interval < block,
                });
            }
            if action == Action::Read {
                shadow.reads.note(by, block);
            } else {
                shadow.writes.note(by, block);
                shadow.written = by.interval;
                shadow.write = self.clock.writes.get();
            }
        }
        Ok(())
    }

    /// The bytes at `address`, which `check` has passed.
    pub(super) fn load(&self, address: u64, size: u32) -> u64 {
        let bytes = &self.bytes.borrow()[address as usize..][..size as usize];
        bytes.iter().rev().fold(0, |raw, &byte| raw << 8 | byte as u64)
    }

    /// Replaces the bytes at `address`, which `check` has passed.
    pub(super) fn store(&self, address: u64, size: u32, raw: u64) {
        let mut bytes = self.bytes.borrow_mut();
        bytes[address as usize..][..size as usize].copy_from_slice(&raw.to_le_bytes()[..size as usize]);
    }
}
