//! Between images and the arrays that the library cuts into patches.

use image::{Rgb, RgbImage};
use ndarray::{Array3, ArrayView1, ArrayView3};

/// The pixels, [h, w, 3].
pub fn as_array(image: &RgbImage) -> ArrayView3<'_, u8> {
    let (width, height) = image.dimensions();
    let samples = &image.as_raw()[..3 * width as usize * height as usize];
    ArrayView3::from_shape((height as usize, width as usize, 3), samples).expect("three bytes per pixel")
}

/// An image of [h, w, 3] values from 0 to 255.
pub fn from_array(values: &Array3<f32>) -> RgbImage {
    let (height, width, _) = values.dim();
    RgbImage::from_fn(width as u32, height as u32, |x, y| {
        Rgb([0, 1, 2].map(|c| values[[y as usize, x as usize, c]].round() as u8))
    })
}

/// One patch, or centroid, as an image of `side` × `side` pixels.
pub fn as_image(patch: ArrayView1<'_, f32>, side: u32) -> RgbImage {
    RgbImage::from_fn(side, side, |x, y| {
        let at = 3 * (y * side + x) as usize;
        Rgb([patch[at], patch[at + 1], patch[at + 2]].map(|value| value.round() as u8))
    })
}

#[cfg(test)]
mod tests {
    use kmeans_host::image::Patches;

    use super::*;

    #[test]
    fn a_patch_becomes_the_image_it_was_cut_from() {
        let image = RgbImage::from_fn(2, 2, |x, y| Rgb([0, 1, 2].map(|c| (100 * y + 10 * x) as u8 + c)));
        let patches = Patches::new((2, 2, 3), 2, 1).unwrap().extract(&as_array(&image)).unwrap();
        assert_eq!(as_image(patches.row(0), 2), image);
        assert_eq!(from_array(&as_array(&image).mapv(f32::from)), image);
    }
}
