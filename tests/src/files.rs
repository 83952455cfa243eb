//! Real inputs and the recorded results for them.

use std::path::PathBuf;

use ndarray::{Array2, s};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The path of a file under `tests/data`.
pub fn path(name: &str) -> PathBuf {
    // The tests may have been carried to another machine.
    let data = std::env::var_os("KMEANS_TEST_DATA");
    data.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data"), PathBuf::from).join(name)
}

/// `reference.json` or `reference_more.json`.
pub fn reference(name: &str) -> Value {
    let text = std::fs::read_to_string(path(name)).expect("the recorded results");
    serde_json::from_str(&text).expect("JSON")
}

/// The iris measurements, [150, 4].
pub fn iris() -> Array2<f64> {
    let text = std::fs::read_to_string(path("iris_150x4.csv")).expect("the iris measurements");
    let values: Vec<f64> =
        text.lines().skip(1).flat_map(|line| line.split(',')).map(|v| v.trim().parse().expect("a number")).collect();
    Array2::from_shape_vec((values.len() / 4, 4), values).expect("four columns")
}

/// The handwritten digits, [1797, 64].
pub fn digits() -> Array2<f64> {
    let digits: Array2<f32> = ndarray_npy::read_npy(path("digits_1797x64_f32.npy")).expect("the digits");
    digits.mapv(f64::from)
}

/// A picture with three channels of 8 bits.
pub struct Picture {
    /// Rows of pixels.
    pub height: usize,
    /// Pixels per row.
    pub width: usize,
    /// Row-major, three values per pixel.
    pub values: Vec<u8>,
}

impl Picture {
    /// Reads a PNG file.
    pub fn read(name: &str) -> Self {
        let decoded = image::open(path(name)).expect("a picture").into_rgb8();
        let (width, height) = (decoded.width() as usize, decoded.height() as usize);
        Self { height, width, values: decoded.into_raw() }
    }

    /// Every pixel, [height·width, 3].
    pub fn pixels(&self) -> Array2<f64> {
        let values = self.values.iter().copied().map(f64::from).collect();
        Array2::from_shape_vec((self.height * self.width, 3), values).expect("three channels")
    }

    /// Every 5×5 patch with stride 1, [(height − 4)·(width − 4), 75]: rows, then columns, then channels.
    pub fn patches(&self) -> Array2<f64> {
        let (rows, columns) = (self.height - 4, self.width - 4);
        let mut patches = Array2::zeros((rows * columns, 75));
        let pixels = self.pixels();
        for y in 0..rows {
            for x in 0..columns {
                for dy in 0..5 {
                    let from = (y + dy) * self.width + x;
                    let mut part = patches.slice_mut(s![y * columns + x, dy * 15..(dy + 1) * 15]);
                    part.assign(&pixels.slice(s![from..from + 5, ..]).flatten());
                }
            }
        }
        patches
    }

    /// The part of `height` rows and `width` columns whose first row and column are `top` and `left`.
    pub fn crop(&self, top: usize, left: usize, height: usize, width: usize) -> Self {
        let row = |y: usize| ((top + y) * self.width + left) * 3;
        let values = (0..height).flat_map(|y| self.values[row(y)..row(y) + width * 3].to_vec()).collect();
        Self { height, width, values }
    }
}

/// The SHA-256 of some bytes in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a string");
        text
    })
}

/// The SHA-256 of labels as little-endian u32.
pub fn sha256_of_labels<'a>(labels: impl IntoIterator<Item = &'a u32>) -> String {
    sha256(&labels.into_iter().flat_map(|l| l.to_le_bytes()).collect::<Vec<u8>>())
}
