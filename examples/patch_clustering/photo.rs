//! Reading a picture as upright, opaque RGB with 8 bits per channel, whatever it was stored as.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Seek};
use std::path::Path;

use anyhow::{Context, Result};
use image::{DynamicImage, ImageDecoder, ImageReader, Rgb, RgbImage};

/// The photograph that ships with the repository, so that the example runs from any folder.
const ASTRONAUT: &[u8] = include_bytes!("../data/astronaut_256.png");

/// A picture and what to call it.
pub struct Photo {
    pub name: String,
    pub pixels: RgbImage,
}

impl Photo {
    /// The picture at `path`; without one, the astronaut.
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self { name: "astronaut_256.png".into(), pixels: decode(Cursor::new(ASTRONAUT))? });
        };
        let open = || decode(BufReader::new(File::open(path)?));
        let pixels = open().with_context(|| format!("cannot read the image {}", path.display()))?;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        Ok(Self { name, pixels })
    }
}

fn decode(file: impl BufRead + Seek) -> Result<RgbImage> {
    let mut decoder = ImageReader::new(file).with_guessed_format()?.into_decoder()?;
    // Cameras store the sensor's rows and say in EXIF how to turn them.
    let orientation = decoder.orientation()?;
    let mut image = DynamicImage::from_decoder(decoder)?;
    image.apply_orientation(orientation);
    Ok(opaque(image))
}

/// RGB of any colour type. Transparency is laid on white: the colour stored under it is arbitrary.
fn opaque(image: DynamicImage) -> RgbImage {
    if !image.color().has_alpha() {
        return image.into_rgb8();
    }
    let image = image.into_rgba8();
    RgbImage::from_fn(image.width(), image.height(), |x, y| {
        let [r, g, b, alpha] = image.get_pixel(x, y).0.map(u32::from);
        Rgb([r, g, b].map(|c| ((c * alpha + 255 * (255 - alpha) + 127) / 255) as u8))
    })
}

#[cfg(test)]
mod tests {
    use image::{ImageFormat, Luma, Rgba};

    use super::*;

    fn encoded(image: &DynamicImage) -> Cursor<Vec<u8>> {
        let mut file = Cursor::new(Vec::new());
        image.write_to(&mut file, ImageFormat::Png).unwrap();
        file.set_position(0);
        file
    }

    #[test]
    fn sixteen_bit_grey_keeps_its_brightness() {
        let grey = image::ImageBuffer::from_pixel(3, 2, Luma([200_u16 * 257]));
        assert_eq!(decode(encoded(&grey.into())).unwrap(), RgbImage::from_pixel(3, 2, Rgb([200; 3])));
    }

    #[test]
    fn transparency_is_laid_on_white() {
        let image = image::RgbaImage::from_fn(2, 1, |x, _| Rgba([10, 20, 30, if x == 0 { 0 } else { 255 }]));
        let expected = RgbImage::from_fn(2, 1, |x, _| Rgb(if x == 0 { [255; 3] } else { [10, 20, 30] }));
        assert_eq!(decode(encoded(&image.into())).unwrap(), expected);
    }

    #[test]
    fn what_is_no_image_is_an_error_that_names_the_file() {
        let error = Photo::load(Some(Path::new("Cargo.toml"))).err().unwrap();
        assert_eq!(error.to_string(), "cannot read the image Cargo.toml");
    }

    #[test]
    fn the_astronaut_is_there() {
        assert_eq!(Photo::load(None).unwrap().pixels.dimensions(), (256, 256));
    }
}
