//! Empty clusters take over the farthest points of their group, as `kmeans_core::reference::fill_empty_clusters` has it
//! ([`crate::empty::farthest`] says why looking for the farthest anew for each is the same).
//!
//! The rows that move are taken from one cluster's sums and added to the other's, so that nothing is summed again.

use kmeans_core::launch::RUNNING;

use super::Table;
use crate::device::{self, In, Number, Out, SharedMemory, WARP, block_index, block_size, sync_block, thread_index};
use crate::distance::between_rows;
use crate::empty::farthest::Farthest;
use crate::together::sum_before;
use crate::update::fixed::{Format, Limbs, Narrow, Wide};

/// How many clusters of each group have no points, in `vacant`; 0 for groups that do not run, or whose labels repeat, which
/// those of the first round do not. A block per group.
#[inline(always)]
pub fn count(counts: In<u64>, states: In<u32>, changed: In<u64>, vacant: Out<u32>, first: u32, k: u32) {
    let per_warp = SharedMemory::new().array::<u64>(block_size() / WARP);
    let group = block_index() as u64;
    let mut own = 0;
    if states.get(group) == RUNNING && (first != 0 || changed.get(group) != 0) {
        let mut cluster = thread_index();
        while cluster < k {
            own += (counts.get(group * k as u64 + cluster as u64) == 0) as u64;
            cluster += block_size();
        }
    }
    let (_, total) = sum_before(own, per_warp);
    if thread_index() == 0 {
        vacant.set(group, total as u32);
    }
}

/// D of every row of a group that has empty clusters to the centroid of its own.
#[inline(always)]
pub fn distances<T: Number>(
    points: In<T>,
    centroids: In<T>,
    labels: In<u32>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    vacant: In<u32>,
    distances: Out<f64>,
    tile_rows: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile_of_running(vacant, u32::MAX) else { return };
    if vacant.get(tile.group as u64) == 0 {
        return;
    }
    let mut row = tile.first + thread_index() as u64;
    while row < tile.end {
        let c = labels.get(row) as u64 * d as u64;
        distances.set(row, between_rows(points, row * d as u64, centroids, c, d));
        row += block_size() as u64;
    }
}

/// Gives each empty cluster of a group the farthest point that its own cluster can spare, and corrects labels, sums, counts
/// and, by way of `moved_again`, the number of changes. A block per group.
#[inline(always)]
pub fn fill<T: Number, F: Format>(
    points: In<T>,
    distances: In<f64>,
    ranges: In<u64>,
    vacant: In<u32>,
    before: In<u32>,
    labels: Out<u32>,
    sums: Out<u64>,
    counts: Out<u64>,
    moved_again: Out<u64>,
    exponent: i32,
    words: u32,
    k: u32,
    d: u32,
) {
    let group = block_index() as u64;
    let mut left = vacant.get(group);
    if left == 0 {
        return;
    }
    let format = F::new(exponent, words);
    let mut shared = SharedMemory::new();
    let per_warp = shared.array::<u64>(2 * block_size() / WARP);
    let chosen = shared.array::<u64>(2);
    let (first, end) = (ranges.get(2 * group), ranges.get(2 * group + 1));
    let mut cluster = 0;
    while cluster < k && left > 0 {
        let empty = group * k as u64 + cluster as u64;
        cluster += 1;
        // The same for all threads of the block.
        if counts.get(empty) != 0 {
            continue;
        }
        left -= 1;
        let mut found = Farthest::NONE;
        let mut row = first + thread_index() as u64;
        while row < end {
            let distance = distances.get(row);
            if distance > 0.0 && distance.to_bits() > found.distance && counts.get(labels.get(row) as u64) > 1 {
                found = Farthest { distance: distance.to_bits(), row };
            }
            row += block_size() as u64;
        }
        found = found.of_block(per_warp);
        if thread_index() == 0 {
            chosen.set(0, found.distance);
            chosen.set(1, found.row);
        }
        sync_block();
        let (distance, row) = (chosen.get(0), chosen.get(1));
        if distance == 0 {
            return;
        }
        let donor = labels.get(row) as u64;
        let mut column = thread_index() as u64;
        while column < d as u64 {
            let value = points.get(row * d as u64 + column).double();
            format.add(sums, (donor * d as u64 + column) * format.words() as u64, -value);
            format.add(sums, (empty * d as u64 + column) * format.words() as u64, value);
            column += block_size() as u64;
        }
        sync_block();
        if thread_index() == 0 {
            let old = before.get(row);
            let correction = (old as u64 != empty) as u64;
            moved_again
                .set(group, moved_again.get(group).wrapping_add(correction).wrapping_sub((old as u64 != donor) as u64));
            labels.set(row, empty as u32);
            counts.set(donor, counts.get(donor) - 1);
            counts.set(empty, 1);
        }
        sync_block();
    }
}

device::entries! {
    count(counts: In<u64>, states: In<u32>, changed: In<u64>, vacant: Out<u32>, first: u32, k: u32);
    groups_vacant: (),
}

device::entries! {
    distances(points: In<T>, centroids: In<T>, labels: In<u32>, ranges: In<u64>, starts: In<u32>, owners: In<u32>,
        vacant: In<u32>, distances: Out<f64>, tile_rows: u32, d: u32);
    groups_distances_f32: (f32),
    groups_distances_f64: (f64),
    groups_distances_f16: (half::f16),
    groups_distances_bf16: (half::bf16),
}

device::entries! {
    fill(points: In<T>, distances: In<f64>, ranges: In<u64>, vacant: In<u32>, before: In<u32>, labels: Out<u32>,
        sums: Out<u64>, counts: Out<u64>, moved_again: Out<u64>, exponent: i32, words: u32, k: u32, d: u32);
    groups_fill_narrow_f32: (f32, Narrow),
    groups_fill_narrow_f64: (f64, Narrow),
    groups_fill_narrow_f16: (half::f16, Narrow),
    groups_fill_narrow_bf16: (half::bf16, Narrow),
    groups_fill_wide_f32: (f32, Wide),
    groups_fill_wide_f64: (f64, Wide),
    groups_fill_wide_f16: (half::f16, Wide),
    groups_fill_wide_bf16: (half::bf16, Wide),
    groups_fill_limbs_f32: (f32, Limbs),
    groups_fill_limbs_f64: (f64, Limbs),
    groups_fill_limbs_f16: (half::f16, Limbs),
    groups_fill_limbs_bf16: (half::bf16, Limbs),
}
