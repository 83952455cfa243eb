//! A warp per row, which halves the candidates in registers: no shared memory and no barrier. Rungs: see [`super`].

use super::Nearest;
use crate::device::{self, In, Out, WARP, block_index, block_size, lane, thread_index};

/// Labels of the rows of a chunk from their distances, [rows, k].
#[inline(always)]
pub fn shuffle(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32) {
    let row = (block_index() as u64 * block_size() as u64 + thread_index() as u64) / WARP as u64;
    let mut nearest = Nearest::NONE;
    if row < rows {
        let mut label = lane();
        while label < k {
            nearest = nearest.offer(label, distances.get(row * k as u64 + label as u64));
            label += WARP;
        }
    }
    nearest = nearest.merge_lanes(WARP);
    if row < rows && lane() == 0 {
        labels.set(first + row, nearest.label());
    }
}

device::entries! {
    shuffle(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32);
    argmin_shuffle: (),
}
