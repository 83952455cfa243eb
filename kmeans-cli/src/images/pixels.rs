//! The pixels of an image as an array, in the type that the file has.

use image::DynamicImage;
use ndarray::{Array3, ArrayBase, Axis, Data, Ix3};

/// `[h, w, c]`: grey, grey and alpha, RGB or RGBA.
pub enum Pixels {
    U8(Array3<u8>),
    U16(Array3<u16>),
    F32(Array3<f32>),
}

impl Pixels {
    /// Those of an image.
    pub fn of(image: DynamicImage) -> Self {
        let colour = image.color();
        let channels = usize::from(colour.channel_count());
        let shape = (image.height() as usize, image.width() as usize, channels);
        match usize::from(colour.bytes_per_pixel()) / channels {
            1 => Self::U8(array(shape, image.into_bytes())),
            2 => Self::U16(array(shape, samples(image.as_bytes(), u16::from_ne_bytes))),
            _ => Self::F32(array(shape, samples(image.as_bytes(), f32::from_ne_bytes))),
        }
    }

    /// The colours as f32, without alpha, and what white is among them.
    pub fn colours(&self) -> (Array3<f32>, f32) {
        match self {
            Self::U8(pixels) => (colours(pixels).mapv(f32::from), 255.0),
            Self::U16(pixels) => (colours(pixels).mapv(f32::from), 65_535.0),
            Self::F32(pixels) => (colours(pixels), 1.0),
        }
    }

    /// Whether there is an alpha channel.
    pub fn has_alpha(&self) -> bool {
        let channels = match self {
            Self::U8(pixels) => pixels.dim().2,
            Self::U16(pixels) => pixels.dim().2,
            Self::F32(pixels) => pixels.dim().2,
        };
        channels.is_multiple_of(2)
    }
}

fn array<T>(shape: (usize, usize, usize), samples: Vec<T>) -> Array3<T> {
    Array3::from_shape_vec(shape, samples).expect("an image of h·w·c samples")
}

/// Values in the machine's byte order, as the crate `image` keeps them.
fn samples<T, const SIZE: usize>(bytes: &[u8], value: impl Fn([u8; SIZE]) -> T) -> Vec<T> {
    bytes.as_chunks().0.iter().map(|chunk| value(*chunk)).collect()
}

fn colours<T: Clone, D: Data<Elem = T>>(pixels: &ArrayBase<D, Ix3>) -> Array3<T> {
    let channels = if pixels.dim().2 < 3 { 1 } else { 3 };
    let mut view = pixels.view();
    view.slice_axis_inplace(Axis(2), (0..channels).into());
    view.to_owned()
}

#[cfg(test)]
mod tests {
    use image::{ImageBuffer, LumaA, Rgba};

    use super::*;

    #[test]
    fn samples_keep_their_type_and_colours_leave_alpha_out() {
        let image = ImageBuffer::from_fn(2, 3, |x, y| LumaA([(300 * x + y) as u16, 7]));
        let pixels = Pixels::of(image.into());
        assert!(matches!(&pixels, Pixels::U16(p) if p.dim() == (3, 2, 2) && p[[2, 1, 0]] == 302 && p[[0, 0, 1]] == 7));
        let (colours, white) = pixels.colours();
        assert_eq!((colours.dim(), colours[[2, 1, 0]], white), ((3, 2, 1), 302.0, 65_535.0));
        let rgba = ImageBuffer::from_fn(1, 1, |_, _| Rgba([1_u8, 2, 3, 4]));
        let pixels = Pixels::of(rgba.into());
        assert!(pixels.has_alpha());
        assert_eq!(pixels.colours().0.into_raw_vec_and_offset().0, [1.0, 2.0, 3.0]);
    }
}
