//! Each group's record of a round, and whether it goes on: the order of decisions is that of `kmeans_core::reference::lloyd`.

use kmeans_core::launch::{BY_CHANGES, BY_MOVEMENT, BY_TOLERANCE, DECIDE_NUMBERS, FAILED, REPEATED, RUNNING, STOPPED};

use super::inertia::rounded;
use crate::device::{self, In, Out, SharedMemory, ballot, block_index, block_size, sync_block, thread_index};
use crate::scale::means::add_in_order;

/// For every group that runs: its round's record in `inertias` (where there are limbs), `movements` and `changes`, its state, the number of its rounds so
/// far; with `fails`, the first of its empty clusters in `vacant`. Counts in `running[0]` the groups that go on. A warp, which is a
/// block, per group.
///
/// `rule`: the group stops when its movement is at most its limit, or below it, or its changes are.
#[inline(always)]
pub fn decide(
    ranges: In<u64>,
    changed: In<u64>,
    moved_again: In<u64>,
    counts: In<u64>,
    moved: In<f64>,
    limbs: In<u64>,
    limits: In<f64>,
    states: Out<u32>,
    iterations: Out<u32>,
    vacant: Out<u32>,
    inertias: Out<f64>,
    movements: Out<f64>,
    changes: Out<u64>,
    running: Out<u32>,
    rule: u32,
    fails: u32,
    exponent: i32,
    words: u32,
    first: u32,
    k: u32,
) {
    let group = block_index() as u64;
    if states.get(group) != RUNNING {
        return;
    }
    let start = group * k as u64;
    let movement = in_order(moved, start, k);
    let empty = if fails != 0 { first_empty(counts, start, k) } else { k };
    // All lanes have read the state.
    sync_block();
    if thread_index() != 0 {
        return;
    }
    iterations.set(group, iterations.get(group) + 1);
    if words > 0 {
        inertias.set(group, rounded(limbs, group, exponent, words));
    }
    if first == 0 && changed.get(group) == 0 {
        movements.set(group, 0.0);
        changes.set(group, 0);
        states.set(group, REPEATED);
        return;
    }
    if empty < k {
        vacant.set(group, empty);
        states.set(group, FAILED);
        return;
    }
    let rows = ranges.get(2 * group + 1) - ranges.get(2 * group);
    let changed = if first != 0 { rows } else { changed.get(group).wrapping_add(moved_again.get(group)) };
    movements.set(group, movement);
    changes.set(group, changed);
    let limit = limits.get(group);
    let stops = match rule {
        BY_TOLERANCE => movement <= limit,
        BY_MOVEMENT => movement < limit,
        BY_CHANGES => (changed as f64) < limit,
        _ => false,
    };
    if stops {
        states.set(group, STOPPED);
    } else {
        running.add(0, 1);
    }
}

/// The sum of k numbers from `start` on in their order, in thread 0.
#[inline(always)]
fn in_order(numbers: In<f64>, start: u64, k: u32) -> f64 {
    let staged = SharedMemory::new().array::<f64>(DECIDE_NUMBERS);
    let (mut sum, mut first) = (0.0, 0);
    while first < k {
        // Many at a time: each time takes as long as a load from global memory.
        let len = if k - first < DECIDE_NUMBERS { (k - first).next_multiple_of(8) } else { DECIDE_NUMBERS };
        let mut place = thread_index();
        while place < len {
            // Beyond the last there are zeros.
            staged.set(place, if first + place < k { numbers.get(start + (first + place) as u64) } else { 0.0 });
            place += block_size();
        }
        sync_block();
        if thread_index() == 0 {
            sum = add_in_order(sum, staged, 0, len);
        }
        sync_block();
        first += DECIDE_NUMBERS;
    }
    sum
}

/// The first of k clusters from `start` on that has no points; k if all have.
#[inline(always)]
fn first_empty(counts: In<u64>, start: u64, k: u32) -> u32 {
    let mut first = 0;
    while first < k {
        let cluster = first + thread_index();
        let empty = ballot(cluster < k && counts.get(start + cluster as u64) == 0);
        if empty != 0 {
            return first + empty.trailing_zeros();
        }
        first += block_size();
    }
    k
}

device::entries! {
    decide(ranges: In<u64>, changed: In<u64>, moved_again: In<u64>, counts: In<u64>, moved: In<f64>, limbs: In<u64>,
        limits: In<f64>, states: Out<u32>, iterations: Out<u32>, vacant: Out<u32>, inertias: Out<f64>, movements: Out<f64>,
        changes: Out<u64>, running: Out<u32>, rule: u32, fails: u32, exponent: i32, words: u32, first: u32, k: u32);
    groups_decide: (),
}
