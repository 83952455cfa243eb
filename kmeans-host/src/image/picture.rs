//! An image checked, as pixels in row order.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView3};
use rayon::prelude::*;

use super::{Alpha, Sample};
use crate::Error;

/// A checked image.
pub struct Picture<'a, S: Clone> {
    pub height: usize,
    pub width: usize,
    /// 1 to 4.
    pub channels: usize,
    samples: Cow<'a, [S]>,
    /// Whether pixels weigh as their alpha says.
    pub weighted: bool,
}

impl<'a, S: Sample> Picture<'a, S> {
    /// The image in `view`, copied only where its memory is not row-major.
    pub fn new(view: ArrayView3<'a, S>, alpha: Alpha) -> Result<Self, Error> {
        let (height, width, channels) = view.dim();
        if height == 0 || width == 0 || !(1..=4).contains(&channels) {
            return Err(Error::ImageShape { height, width, channels });
        }
        let samples = match view.to_slice() {
            Some(samples) => Cow::Borrowed(samples),
            None => Cow::Owned(view.iter().copied().collect()),
        };
        let mut picture = Self { height, width, channels, samples, weighted: false };
        picture.check_finite()?;
        if alpha == Alpha::Weight && picture.has_alpha() {
            if picture.opacities().all(|w| w == 0.0) {
                return Err(Error::Transparent);
            }
            // An opaque image is an image without alpha, in every bit.
            let opaque = picture.opacities().all(|w| w == 1.0);
            picture.weighted = !opaque;
        }
        Ok(picture)
    }

    fn check_finite(&self) -> Result<(), Error> {
        if S::BITS > 0 {
            return Ok(());
        }
        match self.samples.par_iter().position_first(|v| !v.to_f32().is_finite()) {
            None => Ok(()),
            Some(at) => Err(Error::PixelNotFinite {
                x: at / self.channels % self.width,
                y: at / self.channels / self.width,
                channel: at % self.channels,
                value: self.samples[at].to_f32(),
            }),
        }
    }

    /// Pixels.
    pub fn len(&self) -> usize {
        self.height * self.width
    }

    /// The samples, pixel after pixel.
    pub fn samples(&self) -> &[S] {
        &self.samples
    }

    /// Each pixel's samples.
    pub fn pixels(&self) -> std::slice::ChunksExact<'_, S> {
        self.samples.chunks_exact(self.channels)
    }

    pub fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    /// Channels that are colour: 1 or 3.
    pub fn colour_channels(&self) -> usize {
        if self.channels < 3 { 1 } else { 3 }
    }

    /// The weight of each pixel, if they are not all 1.
    pub fn weights(&self) -> Option<Vec<f64>> {
        self.weighted.then(|| self.opacities().collect())
    }

    /// The last channel of each pixel as a weight.
    pub fn opacities(&self) -> impl Iterator<Item = f64> {
        self.pixels().map(|p| opacity(p[self.channels - 1]))
    }

    /// The alpha channel, `[h, w]`.
    pub fn alpha(&self) -> Option<Array2<S>> {
        let alpha = || self.pixels().map(|p| p[self.channels - 1]).collect();
        self.has_alpha().then(|| Array2::from_shape_vec((self.height, self.width), alpha()).expect("h·w values"))
    }
}

/// Alpha as a weight: 0 to 1, rounded to 24 bits, so that its product with a count of pixels is exact.
pub fn opacity<S: Sample>(alpha: S) -> f64 {
    f64::from((alpha.to_f32() / S::WHITE).clamp(0.0, 1.0))
}
