//! Every pixel takes its cluster's colour.

use super::COLOURS;
use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Writes `recoloured`, [n, 3]: the centroid of each pixel's label, rounded to the nearest byte, halves up.
#[inline(always)]
pub fn recolour(labels: In<u32>, centroids: In<f32>, recoloured: Out<u8>, n: u64) {
    let pixel = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if pixel >= n {
        return;
    }
    let centroid = labels.get(pixel) as u64 * COLOURS as u64;
    for channel in 0..COLOURS as u64 {
        // In f64, so that adding the half is exact; the conversion saturates.
        let value = centroids.get(centroid + channel) as f64 + 0.5;
        recoloured.set(pixel * COLOURS as u64 + channel, value as u8);
    }
}

device::entries! {
    recolour(labels: In<u32>, centroids: In<f32>, recoloured: Out<u8>, n: u64);
    pixel_recolour: (),
}
