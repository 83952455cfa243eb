//! What of a pixel is clustered: its colour, and where it is.

use kmeans_core::scalar::power_of_two;
use ndarray::Array2;
use rayon::prelude::*;

use super::Sample;
use super::lab::{lab_to_srgb, srgb_to_lab};
use super::picture::Picture;
use crate::Error;
use crate::points::Bytes;

/// What the distance between two pixels is measured on.
///
/// Colour features are in the image's own units, such as 0 to 255; of a grey image they are one column. Lab is CIELAB, L* from 0 to
/// 100, of sRGB colours; of a grey image L* alone. Positions are such that the longer side of the image spans `weight` times
/// the range of the colours (of a channel, or of L*): with weight 1 it counts as much as black against white. So
/// the same weight means the same for every size and depth of image.
///
/// Lab is rounded to multiples of 2⁻¹², positions to a 64th of a pixel or finer: too little to be seen, and with few
/// digits exact sums take a fraction of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Features {
    /// Red, green and blue; or grey.
    #[default]
    Rgb,
    /// L*, a* and b*: colours that look alike are near.
    Lab,
    /// Red, green, blue, and position: clusters are compact areas.
    RgbXy {
        /// How much position counts.
        weight: f32,
    },
    /// L*, a*, b*, and position.
    LabXy {
        /// How much position counts.
        weight: f32,
    },
}

/// What transparency means for the clusters. The quantised image keeps the alpha of the image in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alpha {
    /// A pixel weighs as much as it is opaque, 0 to 1; what is not seen has no say.
    #[default]
    Weight,
    /// Every pixel weighs the same.
    Carry,
}

/// Binary digits after the point of L*, a* and b*: the most that colour features of an integer image have.
pub(crate) const COLOUR_DIGITS: i32 = 12;
/// Binary digits of a position after those of a pixel.
const POSITION_DIGITS: i32 = 6;

/// The multiple of 2^−`digits` nearest to `value`.
fn on_grid(value: f64, digits: i32) -> f32 {
    ((value * power_of_two(digits)).round() * power_of_two(-digits)) as f32
}

/// ⌊log₂ `value`⌋ of a positive normal number.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52) as i32 - 1023
}

impl Features {
    pub(crate) fn check(self) -> Result<(), Error> {
        match self.weight() {
            Some(weight) if !(weight.is_finite() && weight > 0.0) => Err(Error::BadSpatialWeight { weight }),
            _ => Ok(()),
        }
    }

    /// How much position counts, if it does.
    pub(crate) fn weight(self) -> Option<f32> {
        match self {
            Self::RgbXy { weight } | Self::LabXy { weight } => Some(weight),
            Self::Rgb | Self::Lab => None,
        }
    }

    fn is_lab(self) -> bool {
        matches!(self, Self::Lab | Self::LabXy { .. })
    }

    /// Columns, of an image with 1 or 3 channels of colour.
    pub(crate) fn columns(self, colour_channels: usize) -> usize {
        colour_channels + if self.weight().is_some() { 2 } else { 0 }
    }

    /// Writes the features of the colour `pixel`, 1 or 3 samples, to the beginning of `row`.
    pub(crate) fn colour_into<S: Sample>(self, pixel: &[S], row: &mut [f32]) {
        if !self.is_lab() {
            for (feature, sample) in row.iter_mut().zip(pixel) {
                *feature = sample.to_f32();
            }
            return;
        }
        let unit = |i: usize| pixel[i.min(pixel.len() - 1)].to_f32() / S::WHITE;
        let lab = srgb_to_lab([unit(0), unit(1), unit(2)]);
        for (feature, value) in row[..pixel.len()].iter_mut().zip(lab) {
            *feature = on_grid(f64::from(value), COLOUR_DIGITS);
        }
    }

    /// The colour, red, green and blue, that the features in `row` describe.
    pub(crate) fn colour_of<S: Sample>(self, row: &[f32], colour_channels: usize) -> [S; 3] {
        let at = |i: usize| row[i];
        let rgb = match (self.is_lab(), colour_channels) {
            (false, 1) => [at(0); 3],
            (false, _) => [at(0), at(1), at(2)],
            (true, 1) => [lab_to_srgb([at(0), 0.0, 0.0])[0] * S::WHITE; 3],
            (true, _) => lab_to_srgb([at(0), at(1), at(2)]).map(|c| c * S::WHITE),
        };
        rgb.map(S::from_f32)
    }

    /// The pixels as points, where their features are their bytes.
    pub(crate) fn bytes<'a, S: Sample>(self, picture: &'a Picture<'_, S>) -> Option<Bytes<'a>> {
        let bytes = S::bytes(picture.samples()).filter(|_| self == Self::Rgb)?;
        Some(Bytes::new(bytes, picture.channels, picture.colour_channels()))
    }

    /// The features of every pixel, `[n, d]`, row-major.
    pub(crate) fn rows<S: Sample>(self, picture: &Picture<'_, S>) -> Array2<f32> {
        let (n, d) = (picture.len(), self.columns(picture.colour_channels()));
        let mut values = vec![0.0_f32; n * d];
        values.par_chunks_exact_mut(d).with_min_len(1 << 12).enumerate().for_each(|(i, row)| {
            self.pixel_into(picture, i, row);
        });
        Array2::from_shape_vec((n, d), values).expect("n·d values")
    }

    /// The features of some pixels, by their number in row order.
    pub(crate) fn rows_of<S: Sample>(self, picture: &Picture<'_, S>, pixels: &[usize]) -> Array2<f32> {
        let mut rows = Array2::zeros((pixels.len(), self.columns(picture.colour_channels())));
        for (mut row, &i) in rows.rows_mut().into_iter().zip(pixels) {
            self.pixel_into(picture, i, row.as_slice_mut().expect("packed"));
        }
        rows
    }

    /// Writes the features of pixel `i`, in row order, to `row`.
    pub(crate) fn pixel_into<S: Sample>(self, picture: &Picture<'_, S>, i: usize, row: &mut [f32]) {
        let colour = picture.colour_channels();
        self.colour_into(&picture.samples()[i * picture.channels..][..colour], row);
        if let Some(weight) = self.weight() {
            let range = if self.is_lab() { 100.0 } else { f64::from(S::WHITE) };
            let step = f64::from(weight) * range / picture.height.max(picture.width) as f64;
            let digits = POSITION_DIGITS - exponent(step);
            row[colour] = on_grid((i % picture.width) as f64 * step, digits);
            row[colour + 1] = on_grid((i / picture.width) as f64 * step, digits);
        }
    }
}
