//! Members: points of positive weight, which is what makes a cluster empty or not.

use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Adds 1 to the members of the label of every point of positive weight.
#[inline(always)]
pub fn members(labels: In<u32>, weights: In<f64>, members: Out<u64>, n: u64) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row < n && weights.get(row) > 0.0 {
        members.add(labels.get(row) as u64, 1);
    }
}

device::entries! {
    members(labels: In<u32>, weights: In<f64>, members: Out<u64>, n: u64);
    count_members: (),
}
