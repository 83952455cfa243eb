//! Labels and sums in one pass over the points: rows are added to the sums while they are in shared memory.
//!
//! The 64 rows of a step are put in the order of their labels, so that a thread, which has a column, adds up a run of rows of one
//! label in a register and adds to memory once per run. Sums of the block are in shared memory where they fit, and are
//! brought to global memory at its end; else runs are added to global memory.

use kmeans_core::launch::{GROUP_ROWS as ROWS, group_sum_words};

use super::Table;
use super::assign::{Labels, add_changes};
use super::nearest::{Nearby, row, speaks};
use crate::device::{self, In, Number, Out, Shared, SharedMemory, block_size, sync_block, thread_index};
use crate::update::fixed::{Narrow, Wide};
use crate::update::registers::InRegisters;

/// Threads of a block.
const THREADS: u32 = kmeans_core::launch::GROUPS_FUSED_NARROW.block;

/// The rows of a step in the order of their labels.
#[derive(Clone, Copy)]
struct Order<'a> {
    /// By row: its label in the group, `u32::MAX` beyond the tile.
    labels: Shared<'a, u32>,
    /// By place: the row there, and its label.
    rows: Shared<'a, u32>,
    sorted: Shared<'a, u32>,
}

impl Order<'_> {
    /// Puts the rows in order, rows of one label as they come. Labels were written before a barrier; one must follow.
    #[inline(always)]
    fn sort(self) {
        if thread_index() < ROWS {
            let (own, mut place) = (self.labels.get(thread_index()), 0);
            for other in 0..ROWS {
                let label = self.labels.get(other);
                place += (label < own || (label == own && other < thread_index())) as u32;
            }
            self.rows.set(place, thread_index());
            self.sorted.set(place, own);
        }
    }
}

/// Labels, those before, how many of each group's changed, and sums and counts, which were zero, for groups of a state up to
/// `most`. A block takes a tile, 64 rows at a time.
#[inline(always)]
pub fn fused<T: Number, F: InRegisters>(
    points: In<T>,
    centroids: In<T>,
    ranges: In<u64>,
    starts: In<u32>,
    owners: In<u32>,
    states: In<u32>,
    labels: Out<u32>,
    before: Out<u32>,
    changed: Out<u64>,
    sums: Out<u64>,
    counts: Out<u64>,
    exponent: i32,
    tile_rows: u32,
    most: u32,
    k: u32,
    d: u32,
) {
    let table = Table { ranges, starts, owners, tile_rows };
    let Some(tile) = table.tile_of_running(states, most) else { return };
    let format = F::new(exponent, 0);
    let words = format.words();
    let cluster = tile.group as u64 * k as u64;
    let mut shared = SharedMemory::new();
    let nearby = Nearby::new(&mut shared, points, centroids.skip(cluster * d as u64), k, d);
    let order = Order { labels: shared.array(ROWS), rows: shared.array(ROWS), sorted: shared.array(ROWS) };
    // Sums, and then counts; nothing where they do not fit.
    let own_words = group_sum_words(k, d, words);
    let cells = shared.array::<u64>(own_words);
    let mut word = thread_index();
    while word < own_words {
        cells.set(word, 0);
        word += block_size();
    }
    let (sum_words, counted) = (k * d * words, own_words != 0);
    nearby.prepare();
    let labels = Labels { labels, before };
    let mut changes = 0;
    let mut first = tile.first;
    while first < tile.end {
        let found = nearby.label(tile, first);
        for (a, &label) in (0..).zip(&found) {
            let place = first + row(a) as u64;
            if speaks() {
                order.labels.set(row(a), if place < tile.end { label } else { u32::MAX });
                if place < tile.end {
                    changes += labels.set(place, tile.group * k + label);
                }
            }
        }
        sync_block();
        order.sort();
        sync_block();
        let flush = |sum: F::Integer, run: u32, label: u32, column: u32| {
            let at = (label * d + column) as u64 * words as u64;
            if counted {
                format.merge(cells, at, |word| F::word(sum, word));
            } else {
                format.merge(sums, cluster * d as u64 * words as u64 + at, |word| F::word(sum, word));
            }
            if column == 0 {
                if counted {
                    cells.add(sum_words + label, run as u64);
                } else {
                    counts.add(cluster + label as u64, run as u64);
                }
            }
        };
        add_rows(format, nearby, order, points, first, d, flush);
        first += ROWS as u64;
    }
    add_changes(changed, tile, changes);
    sync_block();
    let mut sum = thread_index();
    while counted && sum < k * d {
        format.merge(sums, (cluster * d as u64 + sum as u64) * words as u64, |word| cells.get(sum * words + word));
        sum += block_size();
    }
    let mut label = thread_index();
    while counted && label < k {
        let count = cells.get(sum_words + label);
        if count != 0 {
            counts.add(cluster + label as u64, count);
        }
        label += block_size();
    }
}

/// Adds up runs of rows of one label, and hands each run's sum, length, label and column on.
#[inline(always)]
fn add_rows<T: Number, F: InRegisters>(
    format: F,
    nearby: Nearby<T>,
    order: Order,
    points: In<T>,
    first: u64,
    d: u32,
    flush: impl Fn(F::Integer, u32, u32, u32),
) {
    // Threads beside each other take columns beside each other; a power of two, so that the threads of a column share the
    // rows evenly.
    let mut across = THREADS;
    while across / 2 >= d && across > 1 {
        across /= 2;
    }
    let shares = THREADS.checked_div(across).unwrap_or(1);
    let share = (ROWS + shares - 1).checked_div(shares).unwrap_or(ROWS);
    let begin = thread_index().checked_div(across).unwrap_or(0) * share;
    let end = if begin + share < ROWS { begin + share } else { ROWS };
    let mut column = thread_index() & (across - 1);
    while column < d {
        let (mut sum, mut run, mut label) = (F::ZERO, 0, u32::MAX);
        let mut place = begin;
        while place < end {
            let next = order.sorted.get(place);
            if next != label {
                if run > 0 {
                    flush(sum, run, label, column);
                }
                (sum, run, label) = (F::ZERO, 0, next);
            }
            if next == u32::MAX {
                break;
            }
            let row = order.rows.get(place);
            let value = if nearby.has_whole_rows() {
                nearby.staged(row, column) as f64
            } else {
                points.get((first + row as u64) * d as u64 + column as u64).double()
            };
            sum = format.plus(sum, value);
            run += 1;
            place += 1;
        }
        if run > 0 {
            flush(sum, run, label, column);
        }
        column += THREADS;
    }
}

device::entries! {
    fused(points: In<T>, centroids: In<T>, ranges: In<u64>, starts: In<u32>, owners: In<u32>, states: In<u32>,
        labels: Out<u32>, before: Out<u32>, changed: Out<u64>, sums: Out<u64>, counts: Out<u64>, exponent: i32, tile_rows: u32,
        most: u32, k: u32, d: u32);
    groups_fused_narrow_f32: (f32, Narrow),
    groups_fused_narrow_f16: (half::f16, Narrow),
    groups_fused_narrow_bf16: (half::bf16, Narrow),
    groups_fused_wide_f32: (f32, Wide),
    groups_fused_wide_f16: (half::f16, Wide),
    groups_fused_wide_bf16: (half::bf16, Wide),
}
