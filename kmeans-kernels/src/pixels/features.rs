//! Points of five columns from pixels: colour and position, so that clusters are also compact in the image.

use super::COLOURS;
use crate::device::{self, In, Out, block_index, block_size, thread_index};

/// Columns of a point.
const COLUMNS: u32 = COLOURS + 2;

/// Writes `points`, [n, 5]: red, green, blue, and `weight` times x and y, for an image `width` pixels wide.
#[inline(always)]
pub fn features(pixels: In<u8>, points: Out<f32>, n: u64, width: u32, weight: f32) {
    let pixel = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    if pixel >= n {
        return;
    }
    let at = pixel * COLUMNS as u64;
    for channel in 0..COLOURS as u64 {
        points.set(at + channel, pixels.get(pixel * COLOURS as u64 + channel) as f32);
    }
    let y = pixel.checked_div(width as u64).unwrap_or(0);
    let x = pixel - y * width as u64;
    points.set(at + COLOURS as u64, x as f32 * weight);
    points.set(at + COLOURS as u64 + 1, y as f32 * weight);
}

device::entries! {
    features(pixels: In<u8>, points: Out<f32>, n: u64, width: u32, weight: f32);
    pixel_features: (),
}
