//! Runs the blocks of a grid and the threads of a block, lets them meet, and names who is missing.

use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, Location};
use std::rc::Rc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult};
use kmeans_core::launch::{MAX_GRID, MAX_SHARED_BYTES, MAX_THREADS};

use super::super::WARP;
use super::fault::{Fault, FaultKind};
use super::group::{self, Sums};
use super::matrix::{self, Operands};
use super::memory::Memory;
use super::order::Order;
use super::thread::{Answer, Block, Meeting, Pause, Thread};
use super::wide::{self, Products};
use super::{Clock, Geometry};

/// Bytes of stack per thread: plenty for a kernel, and enough for Rust's panic messages.
const STACK: usize = 256 * 1024;

thread_local! {
    /// Stacks of threads that returned, for later ones: mapping memory anew would take longer than most kernels.
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// The source of every choice: `SplitMix64` (Steele, Lea, Flood, OOPSLA 2014).
pub(super) struct Random(Cell<u64>);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(super) fn below(&self, bound: usize) -> usize {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut z = self.0.get();
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}

/// Runs every block of a grid, in a random order.
pub(super) fn run_grid(
    random: &Random,
    clock: &Rc<Clock>,
    constants: &Memory,
    kernel: &'static str,
    geometry: Geometry,
    body: &dyn Fn(),
) -> Result<(), Fault> {
    let Geometry { grid, block: threads, shared } = geometry;
    assert!(threads.is_multiple_of(WARP) && (WARP..=MAX_THREADS).contains(&threads), "{kernel}: {threads} threads");
    assert!((0..2).all(|i| (1..=MAX_GRID[i]).contains(&grid[i])), "{kernel}: a grid of {grid:?}");
    assert!(shared <= MAX_SHARED_BYTES, "{kernel}: {shared} bytes of shared memory");

    let mut machine = Machine { clock, constants, kernel, geometry, memories: Vec::new() };
    let mut numbers: Vec<u64> = (0..grid[0] as u64 * grid[1] as u64).collect();
    let mut waiting: Vec<Running> = Vec::new();
    let mut ended = None;
    machine.begin_phase();
    while !numbers.is_empty() {
        let block = machine.block(numbers.swap_remove(random.below(numbers.len())));
        machine.run(Running::new(block, body, random), &mut waiting, &mut ended)?;
    }
    // From one barrier of the grid to the next.
    while let Some(first) = waiting.first() {
        if let Some(block) = ended {
            let State::Waiting(_, place) = first.states[0] else { unreachable!("it waits for the grid") };
            let kind = FaultKind::Absent { block };
            return Err(Fault { kernel, block: first.block.index, thread: 0, kind, place });
        }
        machine.begin_phase();
        let mut blocks = std::mem::take(&mut waiting);
        while !blocks.is_empty() {
            let mut running = blocks.swap_remove(random.below(blocks.len()));
            running.go_on();
            machine.run(running, &mut waiting, &mut ended)?;
        }
    }
    Ok(())
}

/// What the blocks of a launch have in common.
struct Machine<'a> {
    clock: &'a Rc<Clock>,
    constants: &'a Memory,
    kernel: &'static str,
    geometry: Geometry,
    /// Shared memory of blocks that have ended, for later ones.
    memories: Vec<Rc<Memory>>,
}

impl<'a> Machine<'a> {
    /// What happened before now happened before whatever blocks do from now on.
    fn begin_phase(&self) {
        self.clock.now.update(|t| t + 1);
        self.clock.launch.set(self.clock.now.get());
    }

    /// A block that has not begun.
    fn block(&mut self, number: u64) -> Rc<Block<'a>> {
        let Geometry { grid, block: threads, shared } = self.geometry;
        let memory = self.memories.pop();
        Rc::new(Block {
            index: [(number % grid[0] as u64) as u32, (number / grid[0] as u64) as u32],
            geometry: self.geometry,
            shared: memory.unwrap_or_else(|| Rc::new(Memory::new_shared(shared as usize, self.clock.clone()))),
            // The interval that `run` begins.
            born: self.clock.now.get() + 1,
            constants: self.constants,
            clock: self.clock.clone(),
            warp_intervals: vec![Cell::new(0); (threads / WARP) as usize],
            fenced: vec![Cell::new(0); threads as usize],
            sums: RefCell::new(vec![Sums::default(); threads as usize]),
            barriers: RefCell::default(),
            published: vec![Cell::new(0); threads as usize],
            order: Order::new(threads as usize),
            products: RefCell::new((0..threads).map(|_| Products::default()).collect()),
        })
    }

    /// Runs a block until it ends, or waits for the grid.
    fn run(
        &mut self,
        mut running: Running<'a>,
        waiting: &mut Vec<Running<'a>>,
        ended: &mut Option<[u32; 2]>,
    ) -> Result<(), Fault> {
        let block = running.block.clone();
        self.clock.now.update(|t| t + 1);
        self.clock.block.set(self.clock.now.get());
        self.clock.born.set(block.born);
        let until = running.run().map_err(|(thread, kind, place)| Fault {
            kernel: self.kernel,
            block: block.index,
            thread,
            kind,
            place,
        })?;
        match until {
            Until::Grid => waiting.push(running),
            Until::End => {
                self.memories.push(block.shared.clone());
                *ended = Some(block.index);
            }
        }
        Ok(())
    }
}

type FaultAt = (u32, FaultKind, &'static Location<'static>);
type Fiber = Coroutine<Answer, Pause, (), DefaultStack>;

/// What a thread of the block does now.
#[derive(Clone, Copy)]
enum State {
    /// It can run; the value is the answer to what it waited for.
    Ready(Answer),
    Waiting(Meeting, &'static Location<'static>),
    Returned,
}

/// How far a block ran.
enum Until {
    /// All its threads have returned.
    End,
    /// All its threads wait at the barrier of the grid.
    Grid,
}

/// The threads of a block under way.
struct Running<'a> {
    block: Rc<Block<'a>>,
    random: &'a Random,
    fibers: Vec<Fiber>,
    states: Vec<State>,
    ready: Vec<usize>,
}

impl<'a> Running<'a> {
    fn new(block: Rc<Block<'a>>, body: &'a dyn Fn(), random: &'a Random) -> Self {
        let threads = block.geometry.block as usize;
        let fibers = (0..block.geometry.block)
            .map(|thread| {
                let stack = STACKS
                    .with_borrow_mut(Vec::pop)
                    .unwrap_or_else(|| DefaultStack::new(STACK).expect("memory for a stack"));
                let block = block.clone();
                // SAFETY: the closure borrows `body`, and what `block` borrows, for 'a, and `Running`, which owns the
                // coroutine, is dropped (which ends the coroutine) before 'a is over.
                unsafe {
                    Coroutine::with_stack_unchecked(stack, move |yielder, _| Thread::run(thread, &block, yielder, body))
                }
            })
            .collect();
        Self { block, random, fibers, states: vec![State::Ready([0; 4]); threads], ready: (0..threads).collect() }
    }

    /// Lets a block go on that waited for the grid.
    fn go_on(&mut self) {
        self.states.fill(State::Ready([0; 4]));
        self.ready.extend(0..self.states.len());
    }

    /// Runs the block to its end, or to the barrier of the grid.
    fn run(&mut self) -> Result<Until, FaultAt> {
        loop {
            loop {
                // Copies land at any time.
                let flying = self.block.barriers.borrow().flying();
                if flying > 0 && (self.ready.is_empty() || self.random.below(4) == 0) {
                    self.block.barriers.borrow_mut().land(self.random.below(flying), &self.block);
                    self.wake();
                    continue;
                }
                if self.ready.is_empty() {
                    break;
                }
                let thread = self.ready.swap_remove(self.random.below(self.ready.len()));
                self.step(thread)?;
            }
            if self.states.iter().all(|s| matches!(s, State::Returned)) {
                STACKS.with_borrow_mut(|stacks| stacks.extend(self.fibers.drain(..).map(Fiber::into_stack)));
                return Ok(Until::End);
            }
            if self.pass_block_barrier()? {
                return Ok(Until::Grid);
            }
        }
    }

    /// Lets a thread run until it waits, returns or fails.
    fn step(&mut self, thread: usize) -> Result<(), FaultAt> {
        let State::Ready(answer) = self.states[thread] else { unreachable!("only ready threads are picked") };
        let fiber = &mut self.fibers[thread];
        let result = panic::catch_unwind(AssertUnwindSafe(|| fiber.resume(answer)));
        Thread::leave();
        self.states[thread] = match result {
            Ok(CoroutineResult::Return(())) => State::Returned,
            Ok(CoroutineResult::Yield(Pause::Meet(meeting, place))) => State::Waiting(meeting, place),
            Ok(CoroutineResult::Yield(Pause::Fault(kind, place))) => return Err((thread as u32, kind, place)),
            Err(payload) => {
                eprintln!("the panic is in block {:?}, thread {thread}", self.block.index);
                panic::resume_unwind(payload)
            }
        };
        self.wake();
        self.meet(thread)
    }

    /// Lets threads go on that wait at barriers in shared memory of which a phase has ended.
    fn wake(&mut self) {
        let ended = self.block.barriers.borrow_mut().ended();
        if ended.is_empty() {
            return;
        }
        for thread in 0..self.states.len() {
            if matches!(self.states[thread], State::Waiting(Meeting::Barrier { address, .. }, _) if ended.contains(&address))
            {
                self.pass_barrier(thread);
            }
        }
    }

    /// Lets a thread go on that waits at a barrier in shared memory, if the phase it waits for is over.
    fn pass_barrier(&mut self, thread: usize) {
        let State::Waiting(Meeting::Barrier { address, parity }, _) = self.states[thread] else { return };
        let barriers = self.block.barriers.borrow();
        if let Some(told) = barriers.passed(address, parity) {
            self.block.order.learn(thread, told);
            self.states[thread] = State::Ready([0; 4]);
            self.ready.push(thread);
        }
    }

    /// Completes the meeting that `thread` came to, if all are there and it is not the block's.
    fn meet(&mut self, thread: usize) -> Result<(), FaultAt> {
        let State::Waiting(first, place) = self.states[thread] else { return Ok(()) };
        let members = first.members(thread, self.states.len());
        let together = |&state: &State| match state {
            State::Waiting(meeting, other) => meeting.name() == first.name() && other == place,
            _ => false,
        };
        if matches!(first, Meeting::Barrier { .. }) {
            self.pass_barrier(thread);
            return Ok(());
        }
        if matches!(first, Meeting::Block | Meeting::Grid) || !self.states[members.clone()].iter().all(together) {
            return Ok(());
        }
        let meetings: Vec<Meeting> = self.states[members.clone()]
            .iter()
            .filter_map(|state| if let State::Waiting(meeting, _) = state { Some(*meeting) } else { None })
            .collect();
        if let Meeting::MultiplyGroup(operands) = first {
            group::multiply(operands, &self.block, members.start, self.random)
                .map_err(|kind| (members.start as u32, kind, place))?;
        }
        let begun = match first {
            Meeting::Begin(operands) => wide::begin(operands, &self.block, members.start, self.random),
            Meeting::Products { pending } => wide::complete(pending, &self.block, members.start, self.random),
            _ => Ok(()),
        };
        begun.map_err(|kind| (members.start as u32, kind, place))?;
        if matches!(first, Meeting::Warp) {
            self.block.order.share(members.clone());
            self.block.warp_intervals[thread / WARP as usize].update(|t| t + 1);
        }
        for (thread, answer) in members.zip(answers(&meetings, self.random)) {
            self.states[thread] = State::Ready(answer);
            self.ready.push(thread);
        }
        Ok(())
    }

    /// Lets all threads pass the barrier of the block if all are there, and says who is missing otherwise. True where it is
    /// the barrier of the grid, which they do not pass.
    fn pass_block_barrier(&mut self) -> Result<bool, FaultAt> {
        let waiting = |state: &State| match *state {
            State::Waiting(meeting, place) => Some((meeting, place)),
            _ => None,
        };
        // A meeting of a warp that is still open is missing a lane: report it first, since the block waits for it.
        let is_warp = |s: &State| waiting(s).is_some_and(|(m, _)| !matches!(m, Meeting::Block | Meeting::Grid));
        let stuck = self.states.iter().position(is_warp);
        let first = stuck.or_else(|| self.states.iter().position(|s| waiting(s).is_some()));
        let first = first.expect("a thread that waits");
        let (meeting, place) = waiting(&self.states[first]).expect("it waits");
        if let Meeting::Barrier { address, .. } = meeting {
            let (arrivals, bytes) = self.block.barriers.borrow().missing(address);
            return Err((first as u32, FaultKind::Starved { address, arrivals, bytes }, place));
        }
        let members = meeting.members(first, self.states.len());
        let here = |state: &State| waiting(state).is_some_and(|(m, p)| m.name() == meeting.name() && p == place);
        let missing = members.clone().find(|&t| !here(&self.states[t]));
        if let Some(missing) = missing {
            let elsewhere = waiting(&self.states[missing]).map(|(m, p)| (m.name(), p));
            let kind = FaultKind::Stuck { at: meeting.name(), missing: missing as u32, elsewhere };
            return Err((first as u32, kind, place));
        }
        if matches!(meeting, Meeting::Grid) {
            return Ok(true);
        }
        self.block.clock.now.update(|t| t + 1);
        self.go_on();
        Ok(false)
    }
}

/// What the lanes of a warp get from what they bring to a meeting.
fn answers(meetings: &[Meeting], random: &Random) -> Vec<Answer> {
    let votes = meetings.iter().rev().fold(0, |bits, m| bits << 1 | u32::from(matches!(m, Meeting::Vote(true))));
    let operands: Vec<Operands> =
        meetings.iter().filter_map(|m| if let Meeting::Multiply(o) = m { Some(*o) } else { None }).collect();
    let products = if operands.is_empty() { Vec::new() } else { matrix::multiply(&operands, random) };
    let answer = |(lane, &meeting): (usize, &Meeting)| match meeting {
        Meeting::Exchange { from, .. } => match meetings[from as usize] {
            Meeting::Exchange { value, .. } => [value as u32, (value >> 32) as u32, 0, 0],
            _ => unreachable!("all lanes meet for the same"),
        },
        Meeting::Vote(_) => [votes, 0, 0, 0],
        Meeting::Multiply(_) => products[lane].map(f32::to_bits),
        _ => [0; 4],
    };
    meetings.iter().enumerate().map(answer).collect()
}
