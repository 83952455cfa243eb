//! Overlapping squares of an image as the rows of a matrix, and an image from such rows.

use ndarray::{
    Array1, Array2, Array3, ArrayBase, ArrayView1, ArrayView2, ArrayView3, CowArray, Data, Ix2, Ix3, ShapeBuilder,
};
use rayon::prelude::*;

use super::Sample;
use crate::Error;

/// Where the patches of an image lie: squares of `side` pixels, one every `stride` pixels, row after row.
///
/// A patch is a row of d = side·side·c values: its rows of pixels, in them its pixels, in them their channels.
///
/// ```
/// use kmeans_host::KMeans;
/// use kmeans_host::image::{Patches, psnr};
/// use ndarray::Array3;
///
/// let image = Array3::from_shape_fn((24, 32, 3), |(y, x, c)| ((x / 4 + y / 4) % 2 * 200 + c * 10) as u8); // [h, w, c]
/// let grid = Patches::new(image.dim(), 5, 1)?;
/// let patches = grid.extract(&image)?; // [n, d]
/// assert_eq!(patches.dim(), (20 * 28, 75));
/// let fitted = KMeans::new(32).fit(&patches)?;
/// let rebuilt = grid.reconstruct(&fitted.centroids(), fitted.labels(), None)?; // [h, w, c], f32
/// assert!(psnr(&image.mapv(f32::from), &rebuilt, 255.0)? > 20.0);
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patches {
    height: usize,
    width: usize,
    channels: usize,
    side: usize,
    stride: usize,
}

impl Patches {
    /// The patches of an image of shape `[h, w, c]`, with any number of channels.
    ///
    /// # Errors
    /// [`Error::PatchSize`] unless at least one patch fits.
    pub fn new((height, width, channels): (usize, usize, usize), side: usize, stride: usize) -> Result<Self, Error> {
        if side == 0 || stride == 0 || channels == 0 || side > height.min(width) {
            return Err(Error::PatchSize { side, stride, height, width, channels });
        }
        Ok(Self { height, width, channels, side, stride })
    }

    /// Patches in a row of patches.
    fn columns(&self) -> usize {
        (self.width - self.side) / self.stride + 1
    }

    /// Rows and columns of patches.
    pub fn grid(&self) -> (usize, usize) {
        ((self.height - self.side) / self.stride + 1, self.columns())
    }

    /// n, the number of patches: at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        let (rows, columns) = self.grid();
        rows * columns
    }

    /// d, the values of a patch.
    pub fn values(&self) -> usize {
        self.side * self.side * self.channels
    }

    /// Where in a row-major image the rows of patch `i` lie.
    fn runs(&self, i: usize) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let Self { width, channels, side, stride, .. } = *self;
        let (y, x) = (i / self.columns() * stride, i % self.columns() * stride);
        (y..y + side).map(move |y| channels * (y * width + x)..channels * (y * width + x + side))
    }

    /// All patches, `[n, d]`, as `f32` in the image's own units: 0 to 255 for `u8`.
    ///
    /// # Errors
    /// [`Error::Shape`] for an image of another shape.
    pub fn extract<S: Sample, D: Data<Elem = S>>(&self, image: &ArrayBase<D, Ix3>) -> Result<Array2<f32>, Error> {
        self.check_image(image.dim())?;
        let image = image.as_standard_layout();
        let Some(samples) = image.as_slice() else { unreachable!("the layout is standard") };
        let (n, d) = (self.len(), self.values());
        let mut values = vec![0.0_f32; n * d];
        values.par_chunks_exact_mut(d).with_min_len(64).enumerate().for_each(|(i, patch)| {
            for (to, &from) in patch.iter_mut().zip(self.runs(i).flat_map(|run| &samples[run])) {
                *to = from.to_f32();
            }
        });
        Ok(array((n, d), values))
    }

    /// All patches, `[n, d]`, of an `f32` image: a view where two strides can describe them, else a copy.
    ///
    /// They can where a patch is one run of memory, which is where its side is 1 or the image's width, and patches
    /// follow each other at one distance.
    ///
    /// # Errors
    /// [`Error::Shape`] for an image of another shape.
    pub fn rows<'a>(&self, image: ArrayView3<'a, f32>) -> Result<CowArray<'a, f32, Ix2>, Error> {
        self.check_image(image.dim())?;
        if let Some(samples) = image.to_slice()
            && let Some(step) = self.step()
        {
            let shape = (self.len(), self.values()).strides((step, 1));
            if let Ok(view) = ArrayView2::from_shape(shape, samples) {
                return Ok(view.into());
            }
        }
        Ok(self.extract(&image)?.into())
    }

    /// The values from each patch to the next, if each is one run and the distance is always the same.
    fn step(&self) -> Option<usize> {
        let Self { width, channels, side, stride, .. } = *self;
        if side == width {
            return Some(stride * width * channels);
        }
        let (rows, columns) = self.grid();
        if side > 1 {
            return None;
        }
        if columns == 1 {
            return Some(stride * width * channels);
        }
        // From the end of a row of patches the next one begins as far away as the neighbour would.
        let to_next_row = stride * width - (columns - 1) * stride;
        (rows == 1 || to_next_row == stride).then_some(stride * channels)
    }

    /// Subtracts from each of `patches`, `[n, d]`, the mean of its values, and returns the means, `[n]`: clusters are then of
    /// structure, whatever its brightness. [`reconstruct`](Self::reconstruct) puts the means back.
    pub fn remove_means(patches: &mut Array2<f32>) -> Array1<f32> {
        let means = |mut patch: ndarray::ArrayViewMut1<'_, f32>| {
            let mean = (patch.iter().map(|&v| f64::from(v)).sum::<f64>() / patch.len() as f64) as f32;
            patch.mapv_inplace(|v| v - mean);
            mean
        };
        Array1::from_iter(patches.rows_mut().into_iter().map(means))
    }

    /// The image, `[h, w, c]`, in which each patch is replaced by the centroid of its label (and its own mean, where
    /// means were removed): every value is the mean of what lies over it. Pixels that no patch covers, left over
    /// by a stride, are 0.
    ///
    /// # Errors
    /// [`Error::Shape`] if `centroids` is not `[k, d]`, or `labels` or `means` is not `[n]`; [`Error::LabelTooLarge`].
    pub fn reconstruct<D: Data<Elem = f32>>(
        &self,
        centroids: &ArrayBase<D, Ix2>,
        labels: ArrayView1<'_, u32>,
        means: Option<ArrayView1<'_, f32>>,
    ) -> Result<Array3<f32>, Error> {
        let (n, d, k) = (self.len(), self.values(), centroids.nrows());
        check_shape("the number of centroid columns", &[d], &[centroids.ncols()])?;
        check_shape("the number of labels", &[n], &[labels.len()])?;
        if let Some(means) = means {
            check_shape("the number of means", &[n], &[means.len()])?;
        }
        if let Some(index) = labels.iter().position(|&label| label as usize >= k) {
            return Err(Error::LabelTooLarge { index, label: labels[index], k });
        }
        let mut sums = vec![(0.0_f32, 0.0_f32); self.height * self.width * self.channels];
        for (i, &label) in labels.iter().enumerate() {
            let mean = means.map_or(0.0, |means| means[i]);
            let centroid = centroids.row(label as usize);
            for (at, value) in self.runs(i).flatten().zip(centroid) {
                sums[at].0 += value + mean;
                sums[at].1 += 1.0;
            }
        }
        let values = sums.into_iter().map(|(sum, count)| sum / count.max(1.0)).collect();
        Ok(array((self.height, self.width, self.channels), values))
    }

    fn check_image(&self, (h, w, c): (usize, usize, usize)) -> Result<(), Error> {
        check_shape("the image", &[self.height, self.width, self.channels], &[h, w, c])
    }
}

/// The peak signal-to-noise ratio of two images, `[h, w, c]`, in dB: 10·log₁₀(peak² / mean squared difference); infinite if they are
/// equal. `peak` is white: 255 for 8 bits.
///
/// # Errors
/// [`Error::Shape`] for images of different shapes.
pub fn psnr<S: Sample, A: Data<Elem = S>, B: Data<Elem = S>>(
    original: &ArrayBase<A, Ix3>,
    other: &ArrayBase<B, Ix3>,
    peak: f64,
) -> Result<f64, Error> {
    check_shape("the other image", original.shape(), other.shape())?;
    let difference = |(a, b): (&S, &S)| (f64::from(a.to_f32()) - f64::from(b.to_f32())).powi(2);
    let squares: f64 = original.iter().zip(other).map(difference).sum();
    Ok(10.0 * (peak * peak * original.len() as f64 / squares).log10())
}

/// `values` as an array of `shape`, which has as many.
fn array<I: ndarray::IntoDimension>(shape: I, values: Vec<f32>) -> ndarray::Array<f32, I::Dim> {
    ndarray::Array::from_shape_vec(shape.into_dimension(), values).expect("as many values as the shape has")
}

fn check_shape(what: &'static str, expected: &[usize], found: &[usize]) -> Result<(), Error> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Shape { what, expected: expected.to_vec(), found: found.to_vec() })
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    fn numbered(height: usize, width: usize, channels: usize) -> Array3<f32> {
        Array3::from_shape_fn((height, width, channels), |(y, x, c)| (100 * y + 10 * x + c) as f32)
    }

    #[test]
    fn patches_go_row_by_row_and_hold_rows_then_columns_then_channels() {
        let patches = Patches::new((3, 4, 3), 2, 1).unwrap().extract(&numbered(3, 4, 3)).unwrap();
        assert_eq!(patches.dim(), (6, 12));
        assert_eq!(patches.row(0).to_vec(), [0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112].map(|v| v as f32));
        assert_eq!(patches.column(0).to_vec(), [0, 10, 20, 100, 110, 120].map(|v| v as f32));
    }

    #[test]
    fn the_job_of_the_256_pixel_image_has_63504_patches_of_75_values() {
        let grid = Patches::new((256, 256, 3), 5, 1).unwrap();
        assert_eq!((grid.len(), grid.values(), grid.grid()), (63_504, 75, (252, 252)));
    }

    #[test]
    fn rows_are_a_view_where_two_strides_describe_them_and_the_same_values_in_any_case() {
        for (shape, side, stride, is_view) in [
            ((4, 6, 3), 1, 1, true),
            ((4, 6, 3), 1, 2, false),
            ((7, 3, 2), 3, 1, true),
            ((7, 3, 2), 3, 2, true),
            ((1, 9, 1), 1, 2, true),
            ((9, 1, 1), 1, 2, true),
            ((4, 6, 3), 2, 1, false),
        ] {
            let image = numbered(shape.0, shape.1, shape.2);
            let grid = Patches::new(shape, side, stride).unwrap();
            let rows = grid.rows(image.view()).unwrap();
            assert_eq!(rows.is_view(), is_view, "{shape:?} {side} {stride}");
            assert_eq!(rows, grid.extract(&image).unwrap());
        }
    }

    #[test]
    fn with_a_cluster_per_patch_the_rebuilt_image_is_the_source() {
        let image = numbered(3, 9, 2);
        for stride in 1..=3 {
            let grid = Patches::new((3, 9, 2), 3, stride).unwrap();
            let mut patches = grid.extract(&image).unwrap();
            let labels = Array1::from_iter(0..grid.len() as u32);
            assert_eq!(grid.reconstruct(&patches, labels.view(), None).unwrap(), image, "stride {stride}");
            let means = Patches::remove_means(&mut patches);
            assert!(patches.rows().into_iter().all(|p| p.sum().abs() < 1e-3));
            let rebuilt = grid.reconstruct(&patches, labels.view(), Some(means.view())).unwrap();
            assert!(psnr(&image, &rebuilt, 255.0).unwrap() > 120.0);
        }
    }

    #[test]
    fn a_rebuilt_pixel_is_the_mean_of_the_centroids_over_it_and_uncovered_ones_are_zero() {
        let grid = Patches::new((2, 3, 1), 2, 1).unwrap();
        let centroids = Array2::from_shape_fn((2, 4), |(k, _)| if k == 0 { 10.0 } else { 30.0 });
        let rebuilt = grid.reconstruct(&centroids, Array1::from(vec![0, 1]).view(), None).unwrap();
        assert_eq!(rebuilt.iter().copied().collect::<Vec<_>>(), [10.0, 20.0, 30.0, 10.0, 20.0, 30.0]);
        let grid = Patches::new((2, 3, 1), 2, 2).unwrap();
        let rebuilt = grid.reconstruct(&centroids, Array1::from(vec![1]).view(), None).unwrap();
        assert_eq!(rebuilt.iter().copied().collect::<Vec<_>>(), [30.0, 30.0, 0.0, 30.0, 30.0, 0.0]);
    }

    #[test]
    fn psnr_is_that_of_the_mean_squared_difference() {
        let a = Array3::from_elem((2, 2, 1), 100_u8);
        assert_eq!(psnr(&a, &a, 255.0), Ok(f64::INFINITY));
        let b = a.mapv(|v| v + 5);
        assert_eq!(psnr(&a, &b, 255.0), Ok(10.0 * (255.0_f64 * 255.0 / 25.0).log10()));
    }

    #[test]
    fn what_does_not_fit_is_an_error_that_says_so() {
        for (side, stride) in [(0, 1), (1, 0), (5, 1)] {
            let error = Patches::new((4, 9, 3), side, stride).unwrap_err();
            assert_eq!(error, Error::PatchSize { side, stride, height: 4, width: 9, channels: 3 });
        }
        let grid = Patches::new((4, 4, 1), 2, 2).unwrap();
        assert!(grid.extract(&numbered(4, 5, 1)).is_err());
        let centroids = Array2::zeros((2, 4));
        let labels = Array1::from(vec![0, 1, 2, 0]);
        let error = grid.reconstruct(&centroids, labels.view(), None).unwrap_err();
        assert_eq!(error, Error::LabelTooLarge { index: 2, label: 2, k: 2 });
    }
}
