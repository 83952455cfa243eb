//! Products of 64 rows by 128 that are under way while the threads go on, as Hopper's `wgmma` computes them.
//!
//! The tiles may be read at any time from the beginning of a product to where it is waited for: they are checked at both
//! ends, and read at the end. Until then the threads' sums are no numbers.

use std::collections::VecDeque;
use std::panic::Location;

use super::super::{Half, WARP, Wide};
use super::fault::FaultKind;
use super::group;
use super::matrix;
use super::schedule::Random;
use super::thread::{Block, Meeting, Thread};

/// The tiles of a product, of 64 and 128 rows.
#[derive(Clone, Copy)]
pub(super) struct WideOperands {
    pub(super) a: u64,
    pub(super) b: u64,
    /// Columns.
    depth: usize,
    /// Whether the sums so far count.
    adds: bool,
    /// Which of a thread's sums.
    slot: usize,
    decode: fn(u16) -> f32,
}

/// A thread's products.
#[derive(Default)]
pub(super) struct Products {
    /// Where its sums are, and what they will be.
    slots: Vec<(*const Wide, Wide)>,
    /// Since the last commit, and committed groups, the oldest first.
    open: Vec<WideOperands>,
    groups: VecDeque<Vec<WideOperands>>,
}

/// Rows of the tiles, and columns of one instruction.
const ROWS: (usize, usize) = (64, 128);
const DEPTH: usize = 16;

/// Checks the tiles of a product that begins.
pub(super) fn begin(operands: WideOperands, block: &Block, first: usize, random: &Random) -> Result<(), FaultKind> {
    // Any of the four warps may be the one that reads too late or too early.
    let reader = first + WARP as usize * random.below(4);
    group::read(operands.a, (ROWS.0, operands.depth), operands.decode, block, reader)?;
    group::read(operands.b, (ROWS.1, operands.depth), operands.decode, block, reader)?;
    Ok(())
}

/// Completes all but the last `pending` groups of the four warps from thread `first` on.
pub(super) fn complete(pending: usize, block: &Block, first: usize, random: &Random) -> Result<(), FaultKind> {
    let threads = first..first + 4 * WARP as usize;
    let mut products = block.products.borrow_mut();
    let mut done: Vec<WideOperands> = Vec::new();
    for thread in threads {
        let groups = &mut products[thread].groups;
        let count = groups.len().saturating_sub(pending);
        done = groups.drain(..count).flatten().collect();
    }
    for operands in done {
        let reader = first + WARP as usize * random.below(4);
        let depth = operands.depth;
        let a = group::read(operands.a, (ROWS.0, depth), operands.decode, block, reader)?;
        let b = group::read(operands.b, (ROWS.1, depth), operands.decode, block, reader)?;
        for row in 0..ROWS.0 {
            for column in 0..ROWS.1 {
                let thread = first + row / 16 * WARP as usize + row % 8 * 4 + column % 8 / 2;
                let sums = &mut products[thread].slots[operands.slot].1;
                let sum = &mut sums[column / 8][row % 16 / 8 * 2 + column % 2];
                for step in (0..depth).step_by(DEPTH) {
                    let before = if operands.adds || step > 0 { *sum as f64 } else { 0.0 };
                    let mut terms = [before; DEPTH + 1];
                    for k in 0..DEPTH {
                        terms[k] = a[row * depth + step + k] * b[column * depth + step + k];
                    }
                    *sum = matrix::add(&terms, 24 + random.below(4) as i32);
                }
            }
        }
    }
    Ok(())
}

#[track_caller]
fn start<T: Half>(a: u64, b: u64, depth: usize, adds: bool, sums: &mut Wide) {
    let place = Location::caller();
    let decode = |bits: u16| T::from_raw(bits as u64).single();
    Thread::with_current(|t| {
        let operands = {
            let products = &mut t.block.products.borrow_mut()[t.index as usize];
            let at: *const Wide = sums;
            let slot = products.slots.iter().position(|s| s.0 == at).unwrap_or_else(|| {
                products.slots.push((at, *sums));
                products.slots.len() - 1
            });
            let is_under_way = products.groups.iter().flatten().chain(&products.open).any(|o| o.slot == slot);
            if !is_under_way && !sums[0][0].is_nan() {
                products.slots[slot].1 = *sums;
            }
            *sums = [[f32::NAN; 4]; 16];
            let operands = WideOperands { a, b, depth, adds, slot, decode };
            products.open.push(operands);
            operands
        };
        t.meet(Meeting::Begin(operands), place);
    });
}

/// Begins `sums` += a·bᵀ for four warps, tiles of 64 and 128 rows in shared memory: see [`Wide`].
#[track_caller]
pub fn begin_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    start::<T>(a, b, 64, true, sums);
}

/// Begins `sums` += a·bᵀ for 32 columns, half of those of a [`Swizzled`](super::super::Swizzled) and a
/// [`Slim`](super::super::Slim): see [`begin_product`].
#[track_caller]
pub fn begin_slim_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    start::<T>(a, b, 32, true, sums);
}

/// Begins `sums` = a·bᵀ, whatever they were, for such tiles.
#[track_caller]
pub fn begin_first_slim_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    start::<T>(a, b, 32, false, sums);
}

/// Begins `sums` = a·bᵀ, whatever they were, for tiles of 16 columns: see [`Narrow`](super::super::Narrow).
#[track_caller]
pub fn begin_narrow_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    start::<T>(a, b, 16, false, sums);
}

/// Makes a group of the products begun since the last one.
pub fn commit_products() {
    Thread::with_current(|t| {
        let products = &mut t.block.products.borrow_mut()[t.index as usize];
        let group = std::mem::take(&mut products.open);
        products.groups.push_back(group);
    });
}

/// Waits until at most `PENDING` groups of products are under way; `sums` are then those of a group that is done.
#[track_caller]
pub fn wait_products<const PENDING: usize>(sums: &mut Wide) {
    let place = Location::caller();
    Thread::with_current(|t| {
        t.meet(Meeting::Products { pending: PENDING }, place);
        let products = &t.block.products.borrow()[t.index as usize];
        let at: *const Wide = sums;
        let Some(slot) = products.slots.iter().position(|s| s.0 == at) else { return };
        if !products.groups.iter().flatten().chain(&products.open).any(|o| o.slot == slot) {
            *sums = products.slots[slot].1;
        }
    });
}

/// Waits until at most `PENDING` groups of products are under way, and leaves their sums alone.
#[track_caller]
pub fn wait_earlier_products<const PENDING: usize>() {
    let place = Location::caller();
    Thread::with_current(|t| {
        t.meet(Meeting::Products { pending: PENDING }, place);
    });
}
