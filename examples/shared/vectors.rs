//! Real vectors to try things on: those of an .npy file, handwritten digits, or patches of a photograph.

use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result};
use image::ImageFormat;
use kmeans_host::image::Patches;
use ndarray::{Array2, Array3};
use ndarray_npy::{ReadNpyExt, read_npy};

/// 1,797 handwritten digits of 8×8 pixels, values 0 to 16 (UCI, as in scikit-learn).
const DIGITS: &[u8] = include_bytes!("../../tests/data/digits_1797x64_f32.npy");
/// A photograph of 256×256 pixels.
const ASTRONAUT: &[u8] = include_bytes!("../data/astronaut_256.png");

/// The rows of an .npy file of `f32`, `[n, d]`.
///
/// # Errors
/// Says which file could not be read, and why.
pub fn read(path: &Path) -> Result<Array2<f32>> {
    read_npy(path).with_context(|| format!("cannot read {} as [n, d] of f32", path.display()))
}

/// The digits, `[1797, 64]`.
///
/// # Errors
/// None, as long as the file that was compiled in is whole.
pub fn digits() -> Result<Array2<f32>> {
    Ok(Array2::read_npy(Cursor::new(DIGITS))?)
}

/// All patches of 5×5 pixels of the photograph, `[63504, 75]`, channel values 0 to 255.
///
/// # Errors
/// None, as long as the file that was compiled in is whole.
pub fn patches() -> Result<Array2<f32>> {
    let image = image::load_from_memory_with_format(ASTRONAUT, ImageFormat::Png)?.into_rgb8();
    let shape = (image.height() as usize, image.width() as usize, 3);
    let pixels = Array3::from_shape_vec(shape, image.into_raw())?;
    Ok(Patches::new(shape, 5, 1)?.extract(&pixels)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_have_the_shapes_that_are_said() {
        assert_eq!(digits().unwrap().dim(), (1797, 64));
        assert_eq!(patches().unwrap().dim(), (63_504, 75));
    }
}
