//! The running thread: where it is, what it touches, how it pauses.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::Location;
use std::ptr;
use std::rc::Rc;

use corosensei::Yielder;

use super::super::WARP;
use super::barrier::Traffic;
use super::fault::FaultKind;
use super::group::{GroupOperands, Sums};
use super::matrix::Operands;
use super::memory::{Access, Action, Memory};
use super::order::Order;
use super::wide::{Products, WideOperands};
use super::{Clock, Geometry};

/// A place in a kernel's code.
pub(super) type Place = &'static Location<'static>;

/// A block while it runs.
pub(super) struct Block<'a> {
    pub(super) index: [u32; 2],
    pub(super) geometry: Geometry,
    pub(super) shared: Rc<Memory>,
    /// The block's first interval in this launch: what its shared memory held before does not count.
    pub(super) born: u32,
    pub(super) constants: &'a Memory,
    pub(super) clock: Rc<Clock>,
    /// Warp barriers passed, per warp.
    pub(super) warp_intervals: Vec<Cell<u16>>,
    /// Per thread, how many writes there had been when it last fenced its own for tensor cores.
    pub(super) fenced: Vec<Cell<u32>>,
    /// Per thread, its share of the sums of a product by four warps, while they meet.
    pub(super) sums: RefCell<Vec<Sums>>,
    /// Barriers in shared memory, and what arrives there.
    pub(super) barriers: RefCell<Traffic>,
    /// Per thread, how many writes there had been when it last published barriers.
    pub(super) published: Vec<Cell<u32>>,
    /// What threads know of each other by way of those barriers.
    pub(super) order: Order,
    /// Per thread, its products under way.
    pub(super) products: RefCell<Vec<Products>>,
}

/// Why a thread hands control back.
pub(super) enum Pause {
    /// It waits for others.
    Meet(Meeting, &'static Location<'static>),
    /// It did something wrong and ends here.
    Fault(FaultKind, &'static Location<'static>),
}

/// What a thread waits for others to do together.
#[derive(Clone, Copy)]
pub(super) enum Meeting {
    /// The barrier of the block.
    Block,
    /// The barrier of all blocks of the grid.
    Grid,
    /// The barrier of the warp.
    Warp,
    /// Gives `value` to the warp, takes the value of lane `from`.
    Exchange { value: u64, from: u32 },
    /// Gives one bit to the warp, takes those of all lanes.
    Vote(bool),
    /// Gives its share of two tiles and a sum to the warp, takes its share of the result.
    Multiply(Operands),
    /// The same by four warps, with tiles in shared memory.
    MultiplyGroup(GroupOperands),
    /// Begins a product of four warps.
    Begin(WideOperands),
    /// Lets all but the last so many groups of products be done.
    Products { pending: usize },
    /// A barrier in shared memory, for the end of the phase of this parity.
    Barrier { address: u64, parity: u32 },
}

/// What a meeting gives a thread.
pub(super) type Answer = [u32; 4];

impl Meeting {
    pub(super) fn name(self) -> &'static str {
        match self {
            Meeting::Block => "barrier of the block",
            Meeting::Grid => "barrier of the grid",
            Meeting::Warp => "barrier of the warp",
            Meeting::Exchange { .. } => "shuffle",
            Meeting::Vote(_) => "vote",
            Meeting::Multiply(_) => "matrix product",
            Meeting::MultiplyGroup(_) | Meeting::Begin(_) => "matrix product of four warps",
            Meeting::Products { .. } => "wait for products",
            Meeting::Barrier { .. } => "barrier in shared memory",
        }
    }

    /// The threads that must be there, for one of them, in a block of `threads`.
    pub(super) fn members(self, thread: usize, threads: usize) -> Range<usize> {
        let size = match self {
            Meeting::Block | Meeting::Grid => threads,
            Meeting::MultiplyGroup(_) | Meeting::Begin(_) | Meeting::Products { .. } => 4 * WARP as usize,
            Meeting::Barrier { .. } => 1,
            _ => WARP as usize,
        };
        let start = thread / size * size;
        start..(start + size).min(threads)
    }
}

/// A thread of the block that runs.
pub(super) struct Thread<'a> {
    pub(super) index: u32,
    pub(super) block: &'a Block<'a>,
    yielder: &'a Yielder<Answer, Pause>,
    copies: RefCell<Copies>,
}

/// The asynchronous copies that a thread has begun and not waited for.
#[derive(Default)]
struct Copies {
    /// Since the last commit.
    open: Vec<Copy>,
    /// Committed groups, the oldest first.
    groups: VecDeque<Vec<Copy>>,
}

/// 16 bytes on their way to shared memory.
struct Copy {
    to: u64,
    end: u64,
    words: [u64; 2],
}

thread_local! {
    /// The thread that runs now. It lives on its coroutine's stack.
    static CURRENT: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

impl<'a> Thread<'a> {
    /// Runs `kernel` as this thread.
    pub(super) fn run(index: u32, block: &'a Block<'a>, yielder: &'a Yielder<Answer, Pause>, kernel: &dyn Fn()) {
        let thread = Thread { index, block, yielder, copies: RefCell::default() };
        thread.enter();
        kernel();
    }

    fn enter(&self) {
        CURRENT.set(ptr::from_ref(self).cast());
    }

    /// Lets `f` see the thread that calls.
    pub(super) fn with_current<R>(f: impl FnOnce(&Thread) -> R) -> R {
        let current = CURRENT.get().cast::<Thread>();
        assert!(!current.is_null(), "device functions can only be called by a kernel that the emulator runs");
        // SAFETY: a coroutine sets the pointer to its `Thread` whenever it starts or goes on (`enter`), and `run` keeps
        // that alive until the kernel returns. The scheduler clears the pointer when no coroutine runs.
        f(unsafe { &*current })
    }

    /// No thread runs.
    pub(super) fn leave() {
        CURRENT.set(ptr::null());
    }

    /// Waits for others; returns what the meeting gives this thread.
    pub(super) fn meet(&self, meeting: Meeting, place: &'static Location<'static>) -> Answer {
        let answer = self.yielder.suspend(Pause::Meet(meeting, place));
        self.enter();
        answer
    }

    /// Ends the launch.
    pub(super) fn fail(&self, kind: FaultKind, place: &'static Location<'static>) -> ! {
        self.yielder.suspend(Pause::Fault(kind, place));
        unreachable!("a thread at fault is not resumed")
    }

    /// Begins to copy 16 bytes, from `from` in `memory`, to `to` in shared memory, whose array ends at `end`. Until the
    /// thread waits for them, the bytes there count as not written.
    pub(super) fn copy_async(
        &self,
        (memory, from): (&Memory, u64),
        (to, end): (u64, u64),
        place: &'static Location<'static>,
    ) {
        let shared = &self.block.shared;
        self.check(memory, from, 16, memory.len() as u64, Action::Read, place);
        self.check(shared, to, 16, end, Action::Write, place);
        shared.forget(to, 16);
        let words = [memory.load(from, 8), memory.load(from + 8, 8)];
        self.copies.borrow_mut().open.push(Copy { to, end, words });
    }

    /// Makes a group of the copies begun since the last one.
    pub(super) fn commit_copies(&self) {
        let copies = &mut *self.copies.borrow_mut();
        copies.groups.push_back(std::mem::take(&mut copies.open));
    }

    /// Lets all groups but the `pending` last ones arrive.
    pub(super) fn wait_copies(&self, pending: usize, place: &'static Location<'static>) {
        let shared = &self.block.shared;
        let arrived: Vec<Copy> = {
            let groups = &mut self.copies.borrow_mut().groups;
            let count = groups.len().saturating_sub(pending);
            groups.drain(..count).flatten().collect()
        };
        for Copy { to, end, words } in arrived {
            self.check(shared, to, 16, end, Action::Write, place);
            shared.store(to, 8, words[0]);
            shared.store(to + 8, 8, words[1]);
        }
    }

    /// Lets tensor cores see what this thread has written to shared memory.
    pub(super) fn fence_tiles(&self) {
        self.block.fenced[self.index as usize].set(self.block.clock.writes.get());
    }

    /// Takes part in a product of four warps.
    pub(super) fn multiply_group(&self, operands: GroupOperands, sums: &mut Sums, place: &'static Location<'static>) {
        self.block.sums.borrow_mut()[self.index as usize] = *sums;
        self.meet(Meeting::MultiplyGroup(operands), place);
        *sums = self.block.sums.borrow()[self.index as usize];
    }

    /// Checks and records an access before it is made.
    pub(super) fn check(
        &self,
        memory: &Memory,
        address: u64,
        size: u32,
        end: u64,
        action: Action,
        place: &'static Location<'static>,
    ) {
        let warp_interval = self.block.warp_intervals[(self.index / WARP) as usize].get();
        let (now, order) = (self.block.clock.now.get(), &self.block.order);
        let access = Access::new(now, warp_interval, self.index, order.epoch(self.index as usize));
        let checked = memory.check(address, size, end, action, access, &order.known(self.index as usize));
        if let Err(kind) = checked {
            self.fail(kind, place);
        }
    }
}
