//! Counter-based random labels: each thread draws its own, the same as any other engine.

use kmeans_core::rng::{Purpose, Random};

use crate::device::{self, Out, block_index, block_size, thread_index};

/// Label i is `kmeans_core::seeding::random_label(i)` for the seed and restart.
#[inline(always)]
pub fn random(labels: Out<u32>, seed: u64, restart: u32, n: u64, k: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        labels.set(row, Random::new(seed, restart).below(k as u64, Purpose::Label, 0, row) as u32);
    }
}

device::entries! {
    random(labels: Out<u32>, seed: u64, restart: u32, n: u64, k: u32);
    labels_random: (),
}
