//! One thread per row. Rungs: see [`super`].

use super::Nearest;
use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Labels of the rows of a chunk from their distances, [rows, k].
#[inline(always)]
pub fn serial(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32) {
    let row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if row >= rows {
        return;
    }
    let mut nearest = Nearest::NONE;
    for label in 0..k {
        nearest = nearest.offer(label, distances.get(row * k as u64 + label as u64));
    }
    labels.set(first + row, nearest.label());
}

device::entries! {
    serial(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32);
    argmin_serial: (),
}
