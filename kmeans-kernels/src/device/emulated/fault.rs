//! What can go wrong in a kernel, and how it reads.

use std::fmt;
use std::panic::Location;

/// The first fault of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The block, x and y.
    pub block: [u32; 2],
    /// The thread in its block.
    pub thread: u32,
    /// What it did.
    pub kind: FaultKind,
    /// Where in the code.
    pub place: &'static Location<'static>,
}

/// What a thread did wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum FaultKind {
    /// It reached beyond an array.
    OutOfBounds {
        /// The array.
        memory: &'static str,
        /// The byte it reached for.
        address: u64,
        /// Where the array ends.
        end: u64,
    },
    /// It reached for bytes at an address that is not a multiple of their number.
    Misaligned {
        /// The array.
        memory: &'static str,
        /// The first byte.
        address: u64,
        /// The number of bytes.
        size: u32,
    },
    /// It read bytes that nothing wrote, or whose asynchronous copy has not been waited for.
    Unwritten {
        /// The array.
        memory: &'static str,
        /// The first such byte.
        address: u64,
    },
    /// It let tensor cores read bytes that a thread wrote and did not fence.
    Unfenced {
        /// The first byte, in shared memory.
        address: u64,
        /// Who wrote it.
        writer: u32,
    },
    /// It reached bytes that another thread reached since the last barrier, and one of the two wrote.
    Race {
        /// The array.
        memory: &'static str,
        /// The first such byte.
        address: u64,
        /// What this thread did: `"reads"`, `"writes"` or `"adds to"`.
        now: &'static str,
        /// What the other did.
        before: &'static str,
        /// The other thread, in its block.
        other: u32,
        /// Whether the other belongs to another block.
        other_block: bool,
    },
    /// It waits at a barrier in shared memory for what never comes.
    Starved {
        /// The barrier, in shared memory.
        address: u64,
        /// Arrivals that its phase lacks.
        arrivals: u32,
        /// Bytes that its phase lacks.
        bytes: i64,
    },
    /// It waits at the barrier of the grid, to which a block does not come.
    Absent {
        /// The block, x and y.
        block: [u32; 2],
    },
    /// It waits for others of its block or warp that cannot come.
    Stuck {
        /// What it waits at.
        at: &'static str,
        /// The first thread that is not there.
        missing: u32,
        /// Where that one waits, or `None` if it has returned.
        elsewhere: Option<(&'static str, &'static Location<'static>)>,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, block: [x, y], thread, kind, place } = self;
        write!(f, "{kernel}: block ({x}, {y}), thread {thread}: {kind}, at {place}")
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { memory, address, end } => {
                write!(f, "out of bounds: byte {address} of `{memory}`, which ends at {end}")
            }
            Self::Misaligned { memory, address, size } => {
                write!(f, "misaligned: {size} bytes at byte {address} of `{memory}`")
            }
            Self::Unwritten { memory, address } => {
                write!(f, "reads what nothing wrote: byte {address} of `{memory}`")
            }
            Self::Unfenced { address, writer } => {
                write!(
                    f,
                    "unfenced: tensor cores read byte {address} of `shared memory`, which thread {writer} wrote"
                )?;
                f.write_str(" with no fence after")
            }
            Self::Starved { address, arrivals, bytes } => {
                write!(f, "starved: the barrier at byte {address} of `shared memory` lacks {arrivals} arrivals")?;
                write!(f, " and {bytes} bytes")
            }
            Self::Race { memory, address, now, before, other, other_block } => {
                let whose = if *other_block { " of another block" } else { "" };
                write!(f, "data race: {now} byte {address} of `{memory}`, which thread {other}{whose} {before}")?;
                f.write_str(" with no barrier between")
            }
            Self::Absent { block: [x, y] } => {
                write!(f, "barrier of the grid not reached by all: block ({x}, {y}) has ended")
            }
            Self::Stuck { at, missing, elsewhere } => {
                write!(f, "{at} not reached by all: thread {missing} ")?;
                match elsewhere {
                    None => f.write_str("has returned"),
                    Some((what, place)) => write!(f, "waits at a {what} at {place}"),
                }
            }
        }
    }
}

impl std::error::Error for Fault {}
