//! 16 threads per row, which read neighbouring distances and then halve the candidates in shared memory. Rungs: see
//! [`super`].

use super::Nearest;
use crate::device::{self, In, Out, SharedMemory, block_index, block_size, sync_block, thread_index};

/// Threads per row.
const TEAM: u32 = 16;

/// Labels of the rows of a chunk from their distances, [rows, k].
#[inline(always)]
pub fn tree(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32) {
    let mut shared = SharedMemory::new();
    let (least, best) = (shared.array::<f64>(block_size()), shared.array::<u32>(block_size()));
    let (thread, member) = (thread_index(), thread_index() % TEAM);
    let row = (block_index() as u64 * block_size() as u64 + thread as u64) / TEAM as u64;
    let mut nearest = Nearest::NONE;
    if row < rows {
        let mut label = member;
        while label < k {
            nearest = nearest.offer(label, distances.get(row * k as u64 + label as u64));
            label += TEAM;
        }
    }
    let mut half = TEAM / 2;
    while half > 0 {
        least.set(thread, nearest.distance);
        best.set(thread, nearest.label);
        sync_block();
        if member < half {
            nearest = nearest.merge(Nearest { label: best.get(thread + half), distance: least.get(thread + half) });
        }
        sync_block();
        half /= 2;
    }
    if row < rows && member == 0 {
        labels.set(first + row, nearest.label());
    }
}

device::entries! {
    tree(distances: In<f64>, labels: Out<u32>, first: u64, rows: u64, k: u32);
    argmin_tree: (),
}
