//! Points and initial centroids: generated, read from `.npy`, or cut from an image.

use std::error::Error;
use std::path::Path;

use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding;
use kmeans_host::Element;
use ndarray::{Array2, Axis};
use ndarray_npy::{read_npy, write_npy};
use rayon::prelude::*;

use crate::shapes::{Points, Shape};

/// Side of an image patch, in pixels.
const PATCH: usize = 5;
/// Colours of a pixel.
const CHANNELS: usize = 3;

/// What a fit starts from.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// [n, d].
    pub points: Array2<f32>,
    /// Initial centroids, [k, d].
    pub start: Array2<f32>,
}

impl Data {
    /// Points of `shape` from the library's counter-based random numbers; they are the same on every machine. The fit
    /// starts from rows ⌊i·n/k⌋.
    pub fn generate(shape: &Shape) -> Self {
        let points = match shape.points {
            Points::Uniform => Array2::from_shape_fn((shape.n, shape.d), |(i, j)| unit(Purpose::Point, i, j)),
            Points::Blobs => {
                let random = Random::new(0, 0);
                let label = |i| random.below(shape.k as u64, Purpose::Label, 0, i as u64) as usize;
                let centre = |cluster, j| 16.0 * unit(Purpose::PlusPlus, cluster, j) - 8.0;
                // A uniform number less its mean has variance 1/12.
                let noise = |i, j| (unit(Purpose::Point, i, j) - 0.5) * 12.0_f32.sqrt();
                Array2::from_shape_fn((shape.n, shape.d), |(i, j)| centre(label(i), j) + noise(i, j))
            }
        };
        Self::evenly_spaced(points, shape.k)
    }

    /// `points` and rows ⌊i·n/k⌋ of them to start from.
    pub fn evenly_spaced(points: Array2<f32>, k: usize) -> Self {
        let start = points.select(Axis(0), &seeding::evenly_spaced(points.nrows(), k));
        Self { points, start }
    }

    /// Reads `NAME.npy` and `NAME_init.npy` of `shape` from the folder `dir`.
    ///
    /// # Errors
    /// If a file cannot be read or has another shape.
    pub fn read(dir: &Path, shape: &Shape) -> Result<Self, Box<dyn Error>> {
        let read = |name: String, expected: (usize, usize)| {
            let path = dir.join(name);
            let array: Array2<f32> = read_npy(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            if array.dim() != expected {
                return Err(format!("{} is {:?}, but {expected:?} is needed", path.display(), array.dim()));
            }
            Ok(array)
        };
        let stem = shape.file_stem();
        Ok(Self {
            points: read(format!("{stem}.npy"), (shape.n, shape.d))?,
            start: read(format!("{stem}_init.npy"), (shape.k, shape.d))?,
        })
    }

    /// Writes the files that [`read`](Self::read) reads, so that another program can be measured on the same data.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, dir: &Path, shape: &Shape) -> Result<(), Box<dyn Error>> {
        std::fs::create_dir_all(dir)?;
        let stem = shape.file_stem();
        write_npy(dir.join(format!("{stem}.npy")), &self.points)?;
        write_npy(dir.join(format!("{stem}_init.npy")), &self.start)?;
        Ok(())
    }
}

/// All 5×5 patches of an RGB image in a file at stride 1, [n, 75], values in [0, 1].
///
/// # Errors
/// If the image cannot be read or is smaller than a patch.
pub fn patches(path: &Path) -> Result<Array2<f32>, Box<dyn Error>> {
    let image = image::open(path).map_err(|e| format!("{}: {e}", path.display()))?.into_rgb32f();
    let (width, height) = image.dimensions();
    if (width as usize) < PATCH || (height as usize) < PATCH {
        return Err(format!("{} is {width}×{height}: smaller than a patch", path.display()).into());
    }
    Ok(patches_of(&image))
}

/// All 5×5 patches of an RGB image at stride 1, [n, 75]; none if it is smaller than a patch.
pub fn patches_of(image: &image::Rgb32FImage) -> Array2<f32> {
    let (width, height) = (image.width() as usize, image.height() as usize);
    let (across, down) = ((width + 1).saturating_sub(PATCH), (height + 1).saturating_sub(PATCH));
    let values = image.as_raw();
    Array2::from_shape_fn((across * down, PATCH * PATCH * CHANNELS), |(patch, value)| {
        let row = patch / across + value / (PATCH * CHANNELS);
        let first = (row * width + patch % across) * CHANNELS;
        values[first + value % (PATCH * CHANNELS)]
    })
}

/// A number in [0, 1), with 24 random bits.
fn unit(purpose: Purpose, row: usize, column: usize) -> f32 {
    let bits = Random::new(0, 0).bits(purpose, column as u32, row as u64);
    (bits >> 40) as f32 / (1_u32 << 24) as f32
}

/// Numbers that are normal but for their tails: sums of twelve uniforms.
pub fn normal<T: Element>(len: usize) -> Vec<T> {
    let random = Random::new(1, 0);
    let draw = |i: usize| {
        let bits = [0, 1, 2].map(|step| random.bits(Purpose::Point, step, i as u64));
        let sum: u64 = bits.iter().flat_map(|b| (0..4).map(move |q| b >> (16 * q) & 0xffff)).sum();
        T::from_f64(sum as f64 / 65_536.0 - 6.0)
    };
    (0..len).into_par_iter().map(draw).collect()
}

/// `n` points of `d` columns, nearly normal with spread 1, around `places` middles that are as far apart as normal points of
/// spread `spread`; in no order.
pub fn gaussian_blobs<T: Element>(n: usize, d: usize, places: usize, spread: f64) -> Vec<T> {
    let mut values = normal::<f32>(n * d);
    let middles = normal::<f32>((n + places) * d).split_off(n * d);
    let random = Random::new(2, 0);
    values.par_chunks_mut(d).enumerate().for_each(|(i, row)| {
        let place = random.below(places as u64, Purpose::Label, 0, i as u64) as usize;
        for (value, middle) in row.iter_mut().zip(&middles[place * d..]) {
            *value += spread as f32 * middle;
        }
    });
    values.into_par_iter().map(|value| T::from_f64(f64::from(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::CPU;

    #[test]
    fn written_data_is_read_back() {
        let shape = Shape { n: 50, d: 3, k: 4, ..CPU[3] };
        let data = Data::generate(&shape);
        let dir = std::env::temp_dir().join(format!("kmeans-benches-{}", std::process::id()));
        data.write(&dir, &shape).unwrap();
        assert_eq!(Data::read(&dir, &shape).unwrap(), data);
        let error = Data::read(&dir, &Shape { n: 51, ..shape }).unwrap_err().to_string();
        assert!(error.contains("(50, 3), but (51, 3) is needed"), "{error}");
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn uniform_points_fill_the_unit_interval() {
        let points = Data::generate(&Shape { n: 1000, d: 2, k: 10, ..CPU[0] }).points;
        assert!(points.iter().all(|v| (0.0..1.0).contains(v)));
        assert!((points.mean().unwrap() - 0.5).abs() < 0.02);
    }

    #[test]
    fn a_patch_is_a_window_of_the_image() {
        let path = std::env::temp_dir().join(format!("kmeans-benches-{}.png", std::process::id()));
        image::RgbImage::from_fn(7, 6, |x, y| image::Rgb([x as u8, y as u8, 255])).save(&path).unwrap();
        let patches = patches(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(patches.dim(), (3 * 2, 75));
        let last = patches.row(5).mapv(|v| (v * 255.0).round() as u8);
        assert_eq!(last.as_slice().unwrap()[..6], [2, 1, 255, 3, 1, 255]);
        assert_eq!(last.as_slice().unwrap()[72..], [6, 5, 255]);
    }
}
