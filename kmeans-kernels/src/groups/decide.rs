//! Each group's record of a round, and whether it goes on: the order of decisions is that of `kmeans_core::reference::lloyd`.

use kmeans_core::launch::{BY_CHANGES, BY_MOVEMENT, BY_TOLERANCE, FAILED, REPEATED, RUNNING, STOPPED};

use super::inertia::rounded;
use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// For every group that runs: its round's record in `inertias` (where there are limbs), `movements` and `changes`, its state, the number of its rounds so
/// far; with `fails`, the first of its empty clusters in `vacant`. Counts in `running[0]` the groups that go on. A thread per
/// group.
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
    groups: u32,
) {
    let group = (block_index() * block_size() + thread_index()) as u64;
    if group >= groups as u64 || states.get(group) != RUNNING {
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
    let start = group * k as u64;
    if fails != 0 {
        let mut cluster = 0;
        while cluster < k && counts.get(start + cluster as u64) > 0 {
            cluster += 1;
        }
        if cluster < k {
            vacant.set(group, cluster);
            states.set(group, FAILED);
            return;
        }
    }
    let mut movement = 0.0;
    for cluster in 0..k as u64 {
        movement += moved.get(start + cluster);
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

device::entries! {
    decide(ranges: In<u64>, changed: In<u64>, moved_again: In<u64>, counts: In<u64>, moved: In<f64>, limbs: In<u64>,
        limits: In<f64>, states: Out<u32>, iterations: Out<u32>, vacant: Out<u32>, inertias: Out<f64>, movements: Out<f64>,
        changes: Out<u64>, running: Out<u32>, rule: u32, fails: u32, exponent: i32, words: u32, first: u32, k: u32, groups: u32);
    groups_decide: (),
}
