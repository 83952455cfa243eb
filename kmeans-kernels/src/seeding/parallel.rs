//! k-means||: the rows that become candidates in a round, in ascending order, and the nearest candidate of every row.
//!
//! Whether a row is a candidate is a draw of its own. Two passes make it: [`count`] per range of `SEED_ROWS` rows and
//! [`offsets`], then [`write()`] each to its place. [`merge`] takes the labels and distances that an assignment to the
//! new candidates gives.

use kmeans_core::amounts::is_candidate;
use kmeans_core::launch::{PARALLEL_COUNT, PARALLEL_OFFSETS, SEED_ROWS};
use kmeans_core::rng::Random;

use super::{Amounts, Weights, larger, raise};
use crate::device::{self, In, Out, Shared, SharedMemory, WARP, block_index, block_size, grid_size, thread_index};
use crate::together::sum_before;

/// Rows of a range that a thread looks at, one after the other.
const EACH: u32 = SEED_ROWS / PARALLEL_COUNT.block;

/// A round of k-means||.
#[derive(Clone, Copy)]
struct Round<'a> {
    amounts: Amounts<'a>,
    total: u64,
    k: u32,
    round: u32,
    random: Random,
    n: u64,
}

impl<'a> Round<'a> {
    /// Nothing if there is nothing to draw from. Every block sums all ranges: there are few blocks.
    #[inline(always)]
    fn new(
        amounts: Option<Amounts<'a>>,
        sums: In<u64>,
        per_warp: Shared<u64>,
        (k, round): (u32, u32),
        random: Random,
        n: u64,
    ) -> Option<Self> {
        let amounts = amounts?;
        let (mut own, mut range) = (0, thread_index() as u64);
        while range < n.div_ceil(SEED_ROWS as u64) {
            own += sums.get(range);
            range += block_size() as u64;
        }
        let (_, total) = sum_before(own, per_warp);
        Some(Self { amounts, total, k, round, random, n })
    }

    /// The first row of a range that this thread looks at, and one bit per row: whether it is a candidate.
    #[inline(always)]
    fn candidates(self, range: u64) -> (u64, u32) {
        let first = range * SEED_ROWS as u64 + (thread_index() * EACH) as u64;
        let mut bits = 0;
        for i in 0..EACH {
            let row = first + i as u64;
            if row < self.n {
                let amount = self.amounts.of(row);
                let is = is_candidate(row as usize, amount, self.total, self.k as usize, self.round, &self.random);
                bits |= (is as u32) << i;
            }
        }
        (first, bits)
    }
}

/// `counts`: the candidates of each range. Blocks go round over the ranges.
#[inline(always)]
pub fn count(
    nearest: In<f64>,
    weights: In<f64>,
    largest: In<u64>,
    sums: In<u64>,
    counts: Out<u64>,
    weighted: u32,
    k: u32,
    round: u32,
    seed: u64,
    restart: u32,
    n: u64,
) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let amounts = Amounts::new(nearest, weights, weighted, largest, n);
    let Some(round) = Round::new(amounts, sums, per_warp, (k, round), Random::new(seed, restart), n) else { return };
    let mut range = block_index() as u64;
    while range < n.div_ceil(SEED_ROWS as u64) {
        let (_, bits) = round.candidates(range);
        let (_, total) = sum_before(bits.count_ones() as u64, per_warp);
        if thread_index() == 0 {
            counts.set(range, total);
        }
        range += grid_size() as u64;
    }
}

/// `offsets`: the sum of the counts before each; `total[0]`: of all. One block.
#[inline(always)]
pub fn offsets(counts: In<u64>, offsets: Out<u64>, total: Out<u64>, blocks: u64) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let each = blocks.div_ceil(PARALLEL_OFFSETS.block as u64);
    let first = thread_index() as u64 * each;
    let end = if first + each < blocks { first + each } else { blocks };
    let (mut own, mut block) = (0, first);
    while block < end {
        own += counts.get(block);
        block += 1;
    }
    let (mut before, all) = sum_before(own, per_warp);
    block = first;
    while block < end {
        offsets.set(block, before);
        before += counts.get(block);
        block += 1;
    }
    if thread_index() == 0 {
        total.set(0, all);
    }
}

/// `rows`: the candidates in ascending order, those of a range from `offsets` of it on.
#[inline(always)]
pub fn write(
    nearest: In<f64>,
    weights: In<f64>,
    largest: In<u64>,
    sums: In<u64>,
    offsets: In<u64>,
    rows: Out<u64>,
    weighted: u32,
    k: u32,
    round: u32,
    seed: u64,
    restart: u32,
    n: u64,
) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let amounts = Amounts::new(nearest, weights, weighted, largest, n);
    let Some(round) = Round::new(amounts, sums, per_warp, (k, round), Random::new(seed, restart), n) else { return };
    let mut range = block_index() as u64;
    while range < n.div_ceil(SEED_ROWS as u64) {
        let (first, mut bits) = round.candidates(range);
        let (before, _) = sum_before(bits.count_ones() as u64, per_warp);
        let mut at = offsets.get(range) + before;
        while bits != 0 {
            rows.set(at, first + bits.trailing_zeros() as u64);
            at += 1;
            bits &= bits - 1;
        }
        range += grid_size() as u64;
    }
}

/// Takes candidates `base` on into account: `labels` counts from there, `distances` is D to that one. Raises `largest[0]`
/// to the bits of the largest cost. The lower candidate keeps a row that is as near to two.
#[inline(always)]
pub fn merge(
    distances: In<f64>,
    labels: In<u32>,
    nearest: Out<f64>,
    owner: Out<u32>,
    weights: In<f64>,
    largest: Out<u64>,
    weighted: u32,
    base: u32,
    first: u32,
    n: u64,
) {
    let weights = Weights::new(weights, weighted);
    let mut most = 0;
    let mut row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    while row < n {
        let distance = distances.get(row);
        let mut near = distance;
        if first != 0 || distance < nearest.get(row) {
            nearest.set(row, distance);
            owner.set(row, base + labels.get(row));
        } else {
            near = nearest.get(row);
        }
        most = larger(most, weights.of(row) * near);
        row += grid_size() as u64 * block_size() as u64;
    }
    raise(largest, most);
}

device::entries! {
    count(
        nearest: In<f64>, weights: In<f64>, largest: In<u64>, sums: In<u64>, counts: Out<u64>, weighted: u32, k: u32,
        round: u32, seed: u64, restart: u32, n: u64
    );
    parallel_count: (),
}

device::entries! {
    offsets(counts: In<u64>, offsets: Out<u64>, total: Out<u64>, blocks: u64);
    parallel_offsets: (),
}

device::entries! {
    write(
        nearest: In<f64>, weights: In<f64>, largest: In<u64>, sums: In<u64>, offsets: In<u64>, rows: Out<u64>,
        weighted: u32, k: u32, round: u32, seed: u64, restart: u32, n: u64
    );
    parallel_write: (),
}

device::entries! {
    merge(
        distances: In<f64>, labels: In<u32>, nearest: Out<f64>, owner: Out<u32>, weights: In<f64>, largest: Out<u64>,
        weighted: u32, base: u32, first: u32, n: u64
    );
    parallel_merge: (),
}
