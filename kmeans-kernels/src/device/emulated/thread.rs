//! The running thread: where it is, what it touches, how it pauses.

use std::cell::Cell;
use std::panic::Location;
use std::ptr;
use std::rc::Rc;

use corosensei::Yielder;

use super::super::WARP;
use super::fault::FaultKind;
use super::memory::{Access, Action, Memory};
use super::{Clock, Geometry};

/// A block while it runs.
pub(super) struct Block<'a> {
    pub(super) index: [u32; 2],
    pub(super) geometry: Geometry,
    pub(super) shared: &'a Memory,
    pub(super) constants: &'a Memory,
    pub(super) clock: Rc<Clock>,
    /// Warp barriers passed, per warp.
    pub(super) warp_intervals: Vec<Cell<u16>>,
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
    /// The barrier of the warp.
    Warp,
    /// Gives `value` to the warp, takes the value of lane `from`.
    Exchange { value: u64, from: u32 },
    /// Gives one bit to the warp, takes those of all lanes.
    Vote(bool),
}

impl Meeting {
    pub(super) fn name(self) -> &'static str {
        match self {
            Meeting::Block => "barrier of the block",
            Meeting::Warp => "barrier of the warp",
            Meeting::Exchange { .. } => "shuffle",
            Meeting::Vote(_) => "vote",
        }
    }
}

/// A thread of the block that runs.
pub(super) struct Thread<'a> {
    pub(super) index: u32,
    pub(super) block: &'a Block<'a>,
    yielder: &'a Yielder<u64, Pause>,
}

thread_local! {
    /// The thread that runs now. It lives on its coroutine's stack.
    static CURRENT: Cell<*const ()> = const { Cell::new(ptr::null()) };
}

impl<'a> Thread<'a> {
    /// Runs `kernel` as this thread.
    pub(super) fn run(index: u32, block: &'a Block<'a>, yielder: &'a Yielder<u64, Pause>, kernel: &dyn Fn()) {
        let thread = Thread { index, block, yielder };
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
    pub(super) fn meet(&self, meeting: Meeting, place: &'static Location<'static>) -> u64 {
        let answer = self.yielder.suspend(Pause::Meet(meeting, place));
        self.enter();
        answer
    }

    /// Ends the launch.
    fn fail(&self, kind: FaultKind, place: &'static Location<'static>) -> ! {
        self.yielder.suspend(Pause::Fault(kind, place));
        unreachable!("a thread at fault is not resumed")
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
        let access = Access::new(self.block.clock.now.get(), warp_interval, self.index);
        if let Err(kind) = memory.check(address, size, end, action, access) {
            self.fail(kind, place);
        }
    }
}
