//! Pictures that examples draw.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use image::codecs::png::{CompressionType, FilterType as PngFilter, PngEncoder};
use image::imageops::{self, FilterType};
use image::{Rgb, RgbImage};
use noto_sans_mono_bitmap::{FontWeight, RasterHeight};

use crate::text::Pen;

/// The ground that pictures are drawn on: neither black nor white, so that black and white parts keep their outline.
pub const PAPER: Rgb<u8> = Rgb([40, 44, 52]);
/// Text that matters.
pub const BRIGHT: Rgb<u8> = Rgb([236, 238, 242]);
/// Other text.
pub const DIM: Rgb<u8> = Rgb([176, 182, 192]);
/// Captions.
pub const TEXT: Pen = Pen::new(RasterHeight::Size20, FontWeight::Regular, DIM);
/// Small captions that matter.
pub const COUNT: Pen = Pen::new(RasterHeight::Size16, FontWeight::Bold, BRIGHT);
/// Small captions.
pub const SHARE: Pen = Pen::new(RasterHeight::Size16, FontWeight::Regular, DIM);

/// Writes a PNG, as small as the encoder can make it, and the folder it belongs in.
///
/// # Errors
/// Says which file could not be written, and why.
pub fn save(picture: &RgbImage, path: &Path) -> Result<()> {
    let write = || -> Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = BufWriter::new(fs::File::create(path)?);
        let encoder = PngEncoder::new_with_quality(&mut file, CompressionType::Best, PngFilter::Adaptive);
        picture.write_with_encoder(encoder)?;
        Ok(file.flush()?)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// `image` as large as `room` allows. From twice its size on, pixels are repeated, so that they stay crisp and files
/// small; other factors would make them uneven, so there it is resampled.
pub fn fitted_into(image: &RgbImage, room: (u32, u32)) -> RgbImage {
    let (width, height) = image.dimensions();
    let scale = f64::min(f64::from(room.0) / f64::from(width), f64::from(room.1) / f64::from(height));
    if scale == 1.0 {
        return image.clone();
    }
    if scale >= 2.0 {
        return imageops::resize(image, width * scale as u32, height * scale as u32, FilterType::Nearest);
    }
    let scaled = |length: u32| ((f64::from(length) * scale).round() as u32).max(1);
    imageops::resize(image, scaled(width), scaled(height), FilterType::CatmullRom)
}

/// Puts `image` on `canvas` with its top left corner at (x, y).
pub fn paste(canvas: &mut RgbImage, image: &RgbImage, (x, y): (u32, u32)) {
    imageops::replace(canvas, image, x.into(), y.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_fill_their_room_and_small_ones_keep_square_pixels() {
        let size = |width, height| fitted_into(&RgbImage::new(width, height), (512, 512)).dimensions();
        assert_eq!(size(256, 256), (512, 512));
        assert_eq!(size(100, 50), (500, 250));
        assert_eq!(size(400, 300), (512, 384));
        assert_eq!(size(4000, 2), (512, 1));
    }
}
