//! Labels of pixels, one thread per pixel, centroids in shared memory.

use kmeans_core::launch::PIXEL_CENTROIDS;

use super::COLOURS;
use crate::argmin::Nearest;
use crate::device::{self, In, Out, SharedMemory, block_index, block_size, sync_block, thread_index};
use crate::distance::add_square;

/// The label of every pixel; `centroids` is [k, 3]. Shared memory holds some centroids at a time.
#[inline(always)]
pub fn assign(pixels: In<u8>, centroids: In<f32>, labels: Out<u32>, n: u64, k: u32) {
    let staged = SharedMemory::new().array::<f32>(PIXEL_CENTROIDS * COLOURS);
    let pixel = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    let mut colour = [0.0_f32; COLOURS as usize];
    if pixel < n {
        for (channel, value) in colour.iter_mut().enumerate() {
            *value = pixels.get(pixel * COLOURS as u64 + channel as u64) as f32;
        }
    }
    let mut nearest = Nearest::NONE;
    let mut first = 0;
    while first < k {
        let len = if k - first < PIXEL_CENTROIDS { k - first } else { PIXEL_CENTROIDS };
        let mut element = thread_index();
        while element < len * COLOURS {
            staged.set(element, centroids.get(first as u64 * COLOURS as u64 + element as u64));
            element += block_size();
        }
        sync_block();
        for c in 0..len {
            let mut sum = 0.0;
            for (channel, value) in colour.into_iter().enumerate() {
                sum = add_square(sum, value, staged.get(c * COLOURS + channel as u32));
            }
            nearest = nearest.offer(first + c, sum);
        }
        sync_block();
        first += PIXEL_CENTROIDS;
    }
    if pixel < n {
        labels.set(pixel, nearest.label());
    }
}

device::entries! {
    assign(pixels: In<u8>, centroids: In<f32>, labels: Out<u32>, n: u64, k: u32);
    pixel_assign: (),
}
