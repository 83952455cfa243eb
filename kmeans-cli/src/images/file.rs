//! Image files: read whole, written whole or not at all.

use std::ffi::OsStr;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ImageError, Rgb, RgbImage};
use kmeans_files::Staged;
use kmeans_host::image::decode;

use crate::failure::Failure;

/// Of 100: differences are hard to see, files are a fraction of PNG's.
const JPEG_QUALITY: u8 = 92;

/// How messages call an image that is read.
pub fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { "standard input".into() } else { path.display().to_string() }
}

/// Reads an image, upright.
pub fn read(path: &Path) -> Result<DynamicImage, Failure> {
    let file = name(path);
    let bytes = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.map_err(|error| Failure::Open { file: file.clone(), error })?;
    decode(&bytes).map_err(|error| Failure::image(&file, error))
}

/// Whether a file's name says that it is an image that can be read.
pub fn is_image(path: &Path) -> bool {
    let end = path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase);
    end.is_some_and(|end| ["png", "jpg", "jpeg"].contains(&end.as_str()))
}

/// An image file that is there whole or not at all.
pub struct PictureFile {
    staged: Staged,
    is_jpeg: bool,
}

impl PictureFile {
    /// Makes sure that the name is one of an image, and that the file can be written.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        if !is_image(path) {
            return Err(Failure::usage(
                format!("{}: the name of a picture ends in .png or .jpg", path.display()),
                "choose such a name",
            ));
        }
        let is_jpeg = !path.extension().is_some_and(|end| end.eq_ignore_ascii_case("png"));
        Ok(Self { staged: Staged::create(path)?, is_jpeg })
    }

    /// Writes the image; the file is put in its place by [`Staged::finish_all`].
    pub fn write(mut self, image: &DynamicImage) -> Result<Staged, Failure> {
        let bytes = self.encode(image).map_err(|e| Failure::Bug(format!("the picture cannot be encoded: {e}")))?;
        self.staged.write_all(&bytes).map_err(|e| self.staged.failed(e))?;
        Ok(self.staged)
    }

    fn encode(&self, image: &DynamicImage) -> Result<Vec<u8>, ImageError> {
        let mut bytes = Cursor::new(Vec::new());
        if self.is_jpeg {
            opaque(image).write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, JPEG_QUALITY))?;
        } else {
            let encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Default, FilterType::Adaptive);
            image.write_with_encoder(encoder)?;
        }
        Ok(bytes.into_inner())
    }
}

/// RGB with 8 bits; transparency is laid on white.
pub fn opaque(image: &DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.to_rgb8();
    }
    let rgba = image.to_rgba8();
    RgbImage::from_fn(rgba.width(), rgba.height(), |x, y| {
        let [r, g, b, alpha] = rgba.get_pixel(x, y).0.map(u32::from);
        Rgb([r, g, b].map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;

    #[test]
    fn transparency_is_laid_on_white() {
        let image = RgbaImage::from_fn(3, 1, |x, _| Rgba([0, 100, 255, [0, 255, 51][x as usize]]));
        let laid = opaque(&image.into());
        assert_eq!(laid.into_raw(), [255, 255, 255, 0, 100, 255, 204, 224, 255]);
    }

    #[test]
    fn a_png_reads_back_as_it_was_and_other_names_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let image = DynamicImage::from(image::ImageBuffer::from_fn(5, 4, |x, y| image::Luma([(x * 9000 + y) as u16])));
        let path = folder.path().join("a.png");
        let staged = PictureFile::create(&path).unwrap().write(&image).unwrap();
        staged.finish().unwrap();
        assert_eq!(read(&path).unwrap(), image);
        for name in ["a", "a.gif", "png"] {
            assert!(PictureFile::create(&folder.path().join(name)).is_err(), "{name}");
        }
    }
}
