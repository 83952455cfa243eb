//! Rows drawn in proportion to their amounts: find the range where the running sum first exceeds the draw, then the row.

use kmeans_core::launch::{SEED_DRAW, SEED_ROWS};
use kmeans_core::rng::{Purpose, Random};

use super::{Amounts, NO_ROW};
use crate::device::{self, In, Out, SharedMemory, WARP, block_index, block_size, sync_block, thread_index};
use crate::together::sum_before;

const THREADS: u64 = SEED_DRAW.block as u64;
/// Rows of a range that a thread looks at.
const EACH: u64 = SEED_ROWS as u64 / THREADS;

/// `rows`: a row for each trial, or `u64::MAX` if there is nothing to draw from. A block per trial.
#[inline(always)]
pub fn draw(
    nearest: In<f64>,
    weights: In<f64>,
    largest: In<u64>,
    sums: In<u64>,
    rows: Out<u64>,
    weighted: u32,
    blocks: u64,
    seed: u64,
    restart: u32,
    purpose: u32,
    step: u32,
    n: u64,
) {
    let trial = block_index() as u64;
    let Some(amounts) = Amounts::new(nearest, weights, weighted, largest, n) else {
        if thread_index() == 0 {
            rows.set(trial, NO_ROW);
        }
        return;
    };
    let mut shared = SharedMemory::new();
    let per_warp = shared.array::<u64>(block_size() / WARP);
    let place = shared.array::<u64>(2);

    let run = Run::new(blocks.div_ceil(THREADS), 0, blocks);
    let own = run.sum(|block| sums.get(block));
    let (before, total) = sum_before(own, per_warp);
    let purpose = Purpose::from_number(purpose).unwrap_or(Purpose::PlusPlus);
    let draw = Random::new(seed, restart).below(total, purpose, step, trial);
    if before <= draw && draw - before < own {
        let (block, rest) = run.find(draw - before, |block| sums.get(block));
        place.set(0, block);
        place.set(1, rest);
    }
    sync_block();
    let (block, rest) = (place.get(0), place.get(1));

    let run = Run::new(EACH, block * SEED_ROWS as u64, n);
    let own = run.sum(|row| amounts.of(row));
    let (before, _) = sum_before(own, per_warp);
    if before <= rest && rest - before < own {
        let (row, _) = run.find(rest - before, |row| amounts.of(row));
        rows.set(trial, row);
    }
}

/// What one thread looks at: a run of indices, which all threads' runs together cover in order.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    first: u64,
    end: u64,
}

impl Run {
    /// `each` indices per thread from `first` on, those below `end`.
    #[inline(always)]
    pub fn new(each: u64, first: u64, end: u64) -> Self {
        let first = first + thread_index() as u64 * each;
        let last = first + each;
        Self { first, end: if last < end { last } else { end } }
    }

    #[inline(always)]
    pub fn sum(self, amount: impl Fn(u64) -> u64) -> u64 {
        let (mut sum, mut index) = (0, self.first);
        while index < self.end {
            sum += amount(index);
            index += 1;
        }
        sum
    }

    /// The index where the running sum first exceeds `draw`, and by how much `draw` exceeds the sum before it.
    #[inline(always)]
    pub fn find(self, mut draw: u64, amount: impl Fn(u64) -> u64) -> (u64, u64) {
        let mut index = self.first;
        while index < self.end {
            let here = amount(index);
            if draw < here {
                break;
            }
            draw -= here;
            index += 1;
        }
        (index, draw)
    }
}

device::entries! {
    draw(
        nearest: In<f64>, weights: In<f64>, largest: In<u64>, sums: In<u64>, rows: Out<u64>, weighted: u32, blocks: u64,
        seed: u64, restart: u32, purpose: u32, step: u32, n: u64
    );
    seed_draw: (),
}
