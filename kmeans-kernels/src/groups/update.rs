//! New centroids, in place of the old ones, and how far each moved.

use kmeans_core::launch::{MEANS_CLUSTERS, RUNNING};

use crate::device::{self, In, Number, Out, block_index, thread_index};
use crate::distance::add_square;
use crate::scale::means::{Quotient, add_columns, own_cluster};
use crate::update::fixed::{Limbs, Narrow, Wide};

/// The centroid of every cluster of the groups that run, and D to the one before in `moved`, `[groups, k]`; a cluster without
/// points keeps its centroid. Nothing is done for groups whose labels repeat, which those of the first round do not. A warp
/// per cluster.
#[inline(always)]
pub fn update<T: Number, F: Quotient>(
    sums: In<u64>,
    counts: In<u64>,
    states: In<u32>,
    changed: In<u64>,
    centroids: Out<T>,
    moved: Out<f64>,
    exponent: i32,
    words: u32,
    first: u32,
    groups: u32,
    k: u32,
    d: u32,
) {
    let clusters = groups as u64 * k as u64;
    let runs = |cluster: u64| {
        let group = cluster.checked_div(k as u64).unwrap_or(0);
        cluster < clusters && states.get(group) == RUNNING && (first != 0 || changed.get(group) != 0)
    };
    let cluster = own_cluster();
    let count = if runs(cluster) { counts.get(cluster) } else { 0 };
    let start = cluster * d as u64;
    // A warp without points to divide reads nothing either: what it would read is written in place, by the warp whose it is.
    let own = if count == 0 { 0 } else { d };
    let read = |column: u32| {
        let at = start + column as u64;
        (F::read(sums, at, words), centroids.get(at))
    };
    let distance = add_columns(d, own, F::TOGETHER, read, |column, (sum, before)| {
        let mean: T = F::mean(sum, exponent, count);
        centroids.set(start + column as u64, mean);
        add_square(0.0, mean, before)
    });
    let own = block_index() as u64 * MEANS_CLUSTERS as u64 + thread_index() as u64;
    if thread_index() < MEANS_CLUSTERS && runs(own) {
        moved.set(own, distance);
    }
}

device::entries! {
    update(sums: In<u64>, counts: In<u64>, states: In<u32>, changed: In<u64>, centroids: Out<T>, moved: Out<f64>,
        exponent: i32, words: u32, first: u32, groups: u32, k: u32, d: u32);
    groups_update_narrow_f32: (f32, Narrow),
    groups_update_narrow_f64: (f64, Narrow),
    groups_update_narrow_f16: (half::f16, Narrow),
    groups_update_narrow_bf16: (half::bf16, Narrow),
    groups_update_wide_f32: (f32, Wide),
    groups_update_wide_f64: (f64, Wide),
    groups_update_wide_f16: (half::f16, Wide),
    groups_update_wide_bf16: (half::bf16, Wide),
    groups_update_limbs_f32: (f32, Limbs),
    groups_update_limbs_f64: (f64, Limbs),
    groups_update_limbs_f16: (half::f16, Limbs),
    groups_update_limbs_bf16: (half::bf16, Limbs),
}
