//! A picture of centroids of patches.

use image::{Rgb, RgbImage};
use ndarray::ArrayView2;

use super::palette::PAPER;

/// A patch is enlarged to about this many pixels, if there is room.
const ENLARGED: u32 = 48;
/// Pixels between patches.
const GAP: u32 = 4;
/// The picture is no wider or higher than this, if patches need not be made smaller than they are.
const LARGEST: u32 = 4096;

/// The centroids `[k, side·side·c]` in the order given, in a square of squares; `white` is white, `black` black.
pub fn montage(centroids: ArrayView2<'_, f32>, order: &[usize], side: usize, black: f32, white: f32) -> RgbImage {
    let across = (order.len() as f64).sqrt().ceil().max(1.0) as u32;
    let down = (order.len() as u32).div_ceil(across);
    let side = side as u32;
    let room = (LARGEST / across).saturating_sub(GAP);
    let scale = (ENLARGED.min(room) / side).max(1);
    let step = side * scale + GAP;
    let mut canvas = RgbImage::from_pixel(across * step + GAP, down * step + GAP, PAPER);
    let channels = centroids.ncols() as u32 / (side * side);
    let level = |value: f32| ((value - black) / (white - black) * 255.0).round().clamp(0.0, 255.0) as u8;
    for (place, &cluster) in (0..).zip(order) {
        let (left, top) = (GAP + place % across * step, GAP + place / across * step);
        let centroid = centroids.row(cluster);
        for y in 0..side * scale {
            for x in 0..side * scale {
                let first = channels * (y / scale * side + x / scale);
                let colour = [0, 1, 2].map(|c| level(centroid[(first + c.min(channels - 1)) as usize]));
                canvas.put_pixel(left + x, top + y, Rgb(colour));
            }
        }
    }
    canvas
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn centroids_are_enlarged_in_order() {
        let centroids = array![[0.0_f32, 0.0, 0.0, 51.0], [255.0, 255.0, 300.0, -4.0], [10.0, 10.0, 10.0, 10.0]];
        let picture = montage(centroids.view(), &[1, 0, 2], 2, 0.0, 255.0);
        assert_eq!(picture.dimensions(), (2 * 52 + 4, 2 * 52 + 4));
        let at = |x, y| picture.get_pixel(x, y).0;
        // Quarters of the first square, the last of the second, the gap, the third.
        assert_eq!([at(4, 4), at(4, 51), at(51, 51)], [[255; 3], [255; 3], [0; 3]]);
        assert_eq!([at(103, 51), at(52, 4), at(4, 56)], [[51; 3], PAPER.0, [10; 3]]);
        assert_eq!(at(60, 60), PAPER.0);
    }

    #[test]
    fn many_or_large_centroids_are_not_enlarged() {
        let centroids = ndarray::Array2::<f32>::zeros((1000, 30 * 30 * 3));
        let order: Vec<usize> = (0..1000).collect();
        assert_eq!(montage(centroids.view(), &order, 30, 0.0, 1.0).width(), 32 * 34 + 4);
    }
}
