//! One thread per point, an atomic addition each. Rungs: see [`super`].

use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Adds 1 to the count of every point's label.
#[inline(always)]
pub fn global(labels: In<u32>, counts: Out<u64>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n {
        counts.add(labels.get(row) as u64, 1);
    }
}

device::entries! {
    global(labels: In<u32>, counts: Out<u64>, n: u64);
    count_global: (),
}
