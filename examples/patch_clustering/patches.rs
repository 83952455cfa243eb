//! Overlapping patches of an image as the rows of a matrix, and an image from patches.

use anyhow::{Result, anyhow, ensure};
use image::{Rgb, RgbImage};
use ndarray::{Array2, ArrayView1, ArrayView2};

/// Where the patches lie: squares of `side` pixels, one every `stride` pixels, row after row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    width: u32,
    height: u32,
    side: u32,
    stride: u32,
}

impl Grid {
    /// The grid on an image of (width, height) pixels, which must hold at least one patch.
    pub fn new((width, height): (u32, u32), side: u32, stride: u32) -> Result<Self> {
        ensure!(
            width.min(height) >= side,
            "the image is {width} × {height} pixels, too small for patches of {side} × {side}: use a larger image or a \
             smaller --patch"
        );
        Ok(Self { width, height, side, stride })
    }

    /// Patches per row of patches.
    fn columns(&self) -> usize {
        ((self.width - self.side) / self.stride + 1) as usize
    }

    /// N, the number of patches.
    pub fn len(&self) -> usize {
        self.columns() * ((self.height - self.side) / self.stride + 1) as usize
    }

    /// D, the values of a patch: its rows, in them its columns, in them red, green and blue.
    pub fn values(&self) -> usize {
        3 * (self.side * self.side) as usize
    }

    /// Where in the image's bytes the rows of patch `i` lie.
    fn rows(&self, i: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
        let (stride, side) = (self.stride as usize, self.side as usize);
        let (x, y) = (i % self.columns() * stride, i / self.columns() * stride);
        let width = self.width as usize;
        (y..y + side).map(move |y| 3 * (y * width + x)..3 * (y * width + x + side))
    }

    /// All patches, [n, d], values 0 to 255.
    ///
    /// Two strides cannot describe overlapping squares, so the patches are copied, once. `f32` rather than the half as
    /// large `f16`, which holds 0 to 255 exactly too: centroids have the type of the points, and are means.
    pub fn extract(&self, image: &RgbImage) -> Result<Array2<f32>> {
        let (n, d) = (self.len(), self.values());
        let mut values = Vec::new();
        values.try_reserve_exact(n.saturating_mul(d)).map_err(|_| {
            anyhow!(
                "no memory for {n} patches of {d} values: use a smaller --patch, a larger --stride or a smaller image"
            )
        })?;
        for row in (0..n).flat_map(|i| self.rows(i)) {
            values.extend(image.as_raw()[row].iter().map(|&byte| f32::from(byte)));
        }
        Ok(Array2::from_shape_vec((n, d), values)?)
    }

    /// The image in which each patch is replaced by the centroid of its label: every pixel is the mean of the centroids
    /// that cover it. Pixels that no patch covers, left over by a large stride, stay black.
    pub fn rebuild(&self, centroids: ArrayView2<'_, f32>, labels: ArrayView1<'_, u32>) -> RgbImage {
        let mut image = RgbImage::new(self.width, self.height);
        let mut sums = vec![(0.0_f32, 0.0_f32); image.len()];
        for (i, &label) in labels.iter().enumerate() {
            let mut centroid = centroids.row(label as usize).into_iter();
            for (sum, value) in self.rows(i).flatten().zip(&mut centroid) {
                sums[sum].0 += value;
                sums[sum].1 += 1.0;
            }
        }
        for (byte, (sum, count)) in image.iter_mut().zip(sums) {
            *byte = (sum / count.max(1.0)).round() as u8;
        }
        image
    }
}

/// One patch, or centroid, as an image of `side` × `side` pixels.
pub fn as_image(patch: ArrayView1<'_, f32>, side: u32) -> RgbImage {
    RgbImage::from_fn(side, side, |x, y| {
        let at = 3 * (y * side + x) as usize;
        Rgb([patch[at], patch[at + 1], patch[at + 2]].map(|value| value.round() as u8))
    })
}

/// The peak signal-to-noise ratio of `rebuilt` against `original`, in dB; infinite if they are equal.
pub fn psnr(original: &RgbImage, rebuilt: &RgbImage) -> f64 {
    let squares: f64 = original.iter().zip(rebuilt.iter()).map(|(&a, &b)| f64::from(a.abs_diff(b)).powi(2)).sum();
    10.0 * (255.0_f64.powi(2) * original.len() as f64 / squares).log10()
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    /// Every byte differs: 100·row + 10·column + channel.
    fn numbered(width: u32, height: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| Rgb([0, 1, 2].map(|c| (100 * y + 10 * x) as u8 + c)))
    }

    #[test]
    fn patches_go_row_by_row_and_hold_rows_then_columns_then_channels() {
        let image = numbered(4, 3);
        let patches = Grid::new((4, 3), 2, 1).unwrap().extract(&image).unwrap();
        assert_eq!(patches.dim(), (6, 12));
        assert_eq!(patches.row(0).to_vec(), [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112].map(|v| v as f32));
        assert_eq!(patches.column(0).to_vec(), [0, 10, 20, 100, 110, 120].map(|v| v as f32));
    }

    #[test]
    fn a_stride_leaves_out_patches_in_both_directions() {
        let patches = Grid::new((6, 2), 1, 2).unwrap().extract(&numbered(6, 2)).unwrap();
        assert_eq!(patches.column(0).to_vec(), [0.0, 20.0, 40.0]);
    }

    #[test]
    fn the_job_of_the_astronaut_has_63504_patches_of_75_values() {
        let grid = Grid::new((256, 256), 5, 1).unwrap();
        assert_eq!((grid.len(), grid.values()), (63_504, 75));
    }

    #[test]
    fn an_image_of_one_patch_is_large_enough_and_a_pixel_less_is_not() {
        assert_eq!(Grid::new((5, 5), 5, 1).unwrap().len(), 1);
        let error = Grid::new((5, 4), 5, 1).unwrap_err().to_string();
        assert!(error.starts_with("the image is 5 × 4 pixels, too small for patches of 5 × 5"), "{error}");
    }

    #[test]
    fn with_a_cluster_per_patch_the_rebuilt_image_is_the_source() {
        let image = numbered(9, 3);
        for stride in 1..=3 {
            let grid = Grid::new((9, 3), 3, stride).unwrap();
            let patches = grid.extract(&image).unwrap();
            let rebuilt = grid.rebuild(patches.view(), Array1::from_iter(0..grid.len() as u32).view());
            assert_eq!(rebuilt, image, "stride {stride}");
            assert_eq!(psnr(&image, &rebuilt), f64::INFINITY);
        }
    }

    #[test]
    fn a_rebuilt_pixel_is_the_mean_of_the_centroids_over_it() {
        let grid = Grid::new((3, 1), 1, 1).unwrap();
        assert_eq!(grid.len(), 3);
        let grid = Grid::new((3, 2), 2, 1).unwrap();
        let centroids = Array2::from_shape_fn((2, 12), |(k, _)| if k == 0 { 10.0 } else { 30.0 });
        let rebuilt = grid.rebuild(centroids.view(), Array1::from(vec![0, 1]).view());
        assert_eq!(rebuilt.rows().next().unwrap().map(|p| p.0[0]).collect::<Vec<_>>(), [10, 20, 30]);
    }

    #[test]
    fn a_patch_becomes_the_image_it_was_cut_from() {
        let image = numbered(2, 2);
        let patches = Grid::new((2, 2), 2, 1).unwrap().extract(&image).unwrap();
        assert_eq!(as_image(patches.row(0), 2), image);
    }
}
