//! Barriers in shared memory that copies and threads arrive at, and copies of whole tiles.
//!
//! A copy's bytes count as not written until it lands, which it does at any time after it began. What a thread did before it
//! arrived is known to those who have waited for that phase. Not modelled: a barrier that is set up again.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::panic::Location;

use super::super::Element;
use super::fault::FaultKind;
use super::memory::{Action, Memory};
use super::primitives::{In, Shared, SharedMemory};
use super::thread::{Block, Meeting, Place, Thread};

/// A barrier in shared memory.
struct State {
    /// Arrivals of a phase.
    arrivals: u32,
    /// Arrivals, and bytes, that the current phase lacks.
    missing: u32,
    bytes: i64,
    /// Phases that are over.
    phases: u32,
    /// What those who arrived told.
    told: Vec<u32>,
    /// Who set it up, and how many writes there had been then.
    maker: u32,
    made: u32,
}

/// A copy under way.
struct Flying {
    to: u64,
    words: Vec<u64>,
    barrier: u64,
}

/// The barriers and copies of a block.
#[derive(Default)]
pub(super) struct Traffic {
    states: BTreeMap<u64, State>,
    flying: Vec<Flying>,
    /// Barriers of which a phase has ended since somebody looked.
    ended: Vec<u64>,
}

impl Traffic {
    /// Copies under way.
    pub(super) fn flying(&self) -> usize {
        self.flying.len()
    }

    /// Barriers of which a phase has ended since the last call.
    pub(super) fn ended(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended)
    }

    /// Whether the phase of this parity is over, and if so what those who arrived told.
    pub(super) fn passed(&self, address: u64, parity: u32) -> Option<&[u32]> {
        let state = &self.states[&address];
        (state.phases % 2 != parity).then_some(state.told.as_slice())
    }

    /// What a phase lacks: arrivals and bytes.
    pub(super) fn missing(&self, address: u64) -> (u32, i64) {
        let state = &self.states[&address];
        (state.missing, state.bytes)
    }

    /// Lets one of the copies under way land.
    pub(super) fn land(&mut self, which: usize, block: &Block) {
        let Flying { to, words, barrier } = self.flying.swap_remove(which);
        block.shared.land(to, &words, block.clock.now.get());
        let size = words.len() as i64 * 8;
        self.change(barrier, |state| state.bytes -= size);
    }

    fn change(&mut self, address: u64, change: impl FnOnce(&mut State)) {
        let state = self.states.get_mut(&address).expect("a barrier that was set up");
        change(state);
        if state.missing == 0 && state.bytes == 0 {
            state.missing = state.arrivals;
            state.phases += 1;
            self.ended.push(address);
        }
    }
}

/// Barriers of a block: see the table in [`device`](super::super).
#[derive(Clone, Copy)]
pub struct Barriers<'a> {
    start: u32,
    lifetime: PhantomData<&'a u64>,
}

impl SharedMemory {
    /// The next `count` barriers.
    pub fn barriers<'a>(&mut self, count: u32) -> Barriers<'a> {
        Barriers { start: self.array::<u64>(count).address(), lifetime: PhantomData }
    }
}

impl Barriers<'_> {
    fn address(self, index: u32) -> u64 {
        self.start as u64 + index as u64 * 8
    }

    /// Reaches the barrier, as `action`.
    fn touch(self, index: u32, action: Action, thread: &Thread, place: Place) -> u64 {
        let address = self.address(index);
        thread.check(&thread.block.shared, address, 8, u64::MAX, action, place);
        address
    }

    /// Sets up barrier `index` for `arrivals` arrivals per phase; one thread does it, and then [`publish_barriers`].
    #[track_caller]
    pub fn init(self, index: u32, arrivals: u32) {
        let place = Location::caller();
        Thread::with_current(|t| {
            let address = self.touch(index, Action::Write, t, place);
            let made = t.block.clock.writes.get();
            let state =
                State { arrivals, missing: arrivals, bytes: 0, phases: 0, told: Vec::new(), maker: t.index, made };
            t.block.barriers.borrow_mut().states.insert(address, state);
        });
    }

    /// Arrives: what this thread did before is seen by who waits for the phase.
    #[track_caller]
    pub fn arrive(self, index: u32) {
        self.arrive_expecting(index, 0);
    }

    /// Arrives, and lets the phase last until `bytes` more have been copied.
    #[track_caller]
    pub fn arrive_expecting(self, index: u32, bytes: u32) {
        let place = Location::caller();
        Thread::with_current(|t| {
            let address = self.touch(index, Action::Add, t, place);
            t.block.barriers.borrow_mut().change(address, |state| {
                t.block.order.tell(t.index as usize, &mut state.told);
                state.bytes += bytes as i64;
                state.missing -= 1;
            });
        });
    }

    /// Waits until the phase of this parity is over: phases alternate, the first is 0, and the one before it counts as
    /// over.
    #[track_caller]
    pub fn wait(self, index: u32, parity: u32) {
        let place = Location::caller();
        Thread::with_current(|t| {
            let address = self.touch(index, Action::Add, t, place);
            t.meet(Meeting::Barrier { address, parity }, place);
        });
    }
}

/// Lets copies, and after the block's next barrier all threads, see the barriers that this thread has set up.
pub fn publish_barriers() {
    Thread::with_current(|t| t.block.published[t.index as usize].set(t.block.clock.writes.get()));
}

impl<T: Element> Shared<'_, T> {
    /// Begins to copy `len` elements from element `from` of `source` to element `to`, all multiples of 16 bytes, which
    /// arrive at barrier `index`.
    ///
    /// # Panics
    /// If it is no multiple of 16 bytes.
    #[track_caller]
    pub fn copy_bulk(self, to: u32, source: In<T>, from: u64, len: u32, barriers: Barriers, index: u32) {
        let place = Location::caller();
        let bytes = len as u64 * T::SIZE as u64;
        assert!(bytes.is_multiple_of(16), "copies are of multiples of 16 bytes");
        let (memory, from): (&Memory, u64) = source.bytes(from);
        let (to, end) = self.bytes(to);
        Thread::with_current(|t| {
            let barrier = barriers.touch(index, Action::Add, t, place);
            {
                let states = t.block.barriers.borrow();
                let state = &states.states[&barrier];
                if state.made > t.block.published[state.maker as usize].get() {
                    t.fail(FaultKind::Unfenced { address: barrier, writer: state.maker }, place);
                }
            }
            let mut words = Vec::with_capacity(bytes as usize / 8);
            for piece in (0..bytes).step_by(16) {
                t.check(memory, from + piece, 16, memory.len() as u64, Action::Read, place);
                t.check(&t.block.shared, to + piece, 16, end, Action::Write, place);
                t.block.shared.forget(to + piece, 16);
                words.extend([memory.load(from + piece, 8), memory.load(from + piece + 8, 8)]);
            }
            t.block.barriers.borrow_mut().flying.push(Flying { to, words, barrier });
            // Who waits for the barrier knows of the copy.
            let mut states = t.block.barriers.borrow_mut();
            let state = states.states.get_mut(&barrier).expect("a barrier that was set up");
            t.block.order.tell(t.index as usize, &mut state.told);
        });
    }
}

impl<T: Element> In<'_, T> {
    /// Begins to bring `len` elements from element `from` on, all multiples of 16 bytes, to the cache that all blocks share; a
    /// hint.
    ///
    /// # Panics
    /// If it is no multiple of 16 bytes.
    #[track_caller]
    pub fn prefetch(self, from: u64, len: u32) {
        let place = Location::caller();
        let bytes = len as u64 * T::SIZE as u64;
        assert!(bytes.is_multiple_of(16), "prefetches are of multiples of 16 bytes");
        let (memory, from) = self.bytes(from);
        Thread::with_current(|t| {
            for piece in (0..bytes).step_by(16) {
                t.check(memory, from + piece, 16, memory.len() as u64, Action::Read, place);
            }
        });
    }
}
