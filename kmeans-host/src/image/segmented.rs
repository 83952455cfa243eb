//! A segmented image: labels, palette, and the image in the palette's colours.

use kmeans_core::settings::Iteration;
use ndarray::{Array2, Array3, ArrayView2};
use rayon::prelude::*;

use super::picture::Picture;
use super::{Features, Sample};
use crate::{FittedKMeans, Notice};

/// A colour of a palette.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Swatch<S> {
    /// Red, green and blue; three times the same for a grey image.
    pub colour: [S; 3],
    /// Pixels that have it.
    pub count: u64,
    /// Its part of the image, 0 to 1: of all pixels, or of their weight where transparent pixels weigh less.
    pub share: f64,
}

/// The result of [`Segmentation::segment`](super::Segmentation::segment).
#[derive(Clone, Debug, PartialEq)]
pub struct Segmented<S> {
    fitted: FittedKMeans<f32>,
    labels: Array2<u32>,
    palette: Vec<Swatch<S>>,
    alpha: Option<Array2<S>>,
    channels: usize,
    colours: Option<usize>,
    notices: Vec<Notice>,
}

impl<S: Sample> Segmented<S> {
    pub(super) fn new(
        picture: &Picture<'_, S>,
        features: Features,
        mut fitted: FittedKMeans<f32>,
        colours: Option<usize>,
        notice: Option<Notice>,
    ) -> Self {
        let notices = fitted.notices().into_iter().chain(notice).collect();
        // The labels are kept once, as an image.
        let labels = std::mem::take(&mut fitted.labels).into_raw_vec_and_offset().0;
        let labels = Array2::from_shape_vec((picture.height, picture.width), labels).expect("a label per pixel");
        let mut weights = vec![0.0; fitted.counts.len()];
        if picture.weighted {
            for (&label, weight) in labels.iter().zip(picture.opacities()) {
                weights[label as usize] += weight;
            }
        } else {
            weights.iter_mut().zip(&fitted.counts).for_each(|(w, &count)| *w = count as f64);
        }
        let total: f64 = weights.iter().sum();
        let swatch = |(k, weight): (usize, f64)| {
            let row = fitted.centroids.row(k);
            let row = row.to_slice().map_or_else(|| row.to_vec(), <[f32]>::to_vec);
            let colour = features.colour_of(&row, picture.colour_channels());
            Swatch { colour, count: fitted.counts[k], share: weight / total }
        };
        let palette = weights.into_iter().enumerate().map(swatch).collect();
        Self { labels, palette, alpha: picture.alpha(), channels: picture.channels, colours, notices, fitted }
    }

    /// The cluster of each pixel, `[h, w]`: an index into the palette.
    pub fn labels(&self) -> ArrayView2<'_, u32> {
        self.labels.view()
    }

    /// The labels, without a copy.
    pub fn into_labels(self) -> Array2<u32> {
        self.labels
    }

    /// The colour of each cluster, by label: its centroid, in the image's type.
    pub fn palette(&self) -> &[Swatch<S>] {
        &self.palette
    }

    /// The palette's labels, the one with the largest share first, the lower label first among equals.
    pub fn by_share(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.palette.len()).collect();
        order.sort_by(|&a, &b| self.palette[b].share.total_cmp(&self.palette[a].share));
        order
    }

    /// The image with every pixel in the colour of its cluster, `[h, w, c]` as the image was, its alpha unchanged.
    pub fn quantized(&self) -> Array3<S> {
        let (height, width) = self.labels.dim();
        let channels = self.channels;
        let mut samples = match channels {
            1 => self.recoloured::<1>(),
            2 => self.recoloured::<2>(),
            3 => self.recoloured::<3>(),
            _ => self.recoloured::<4>(),
        };
        if let Some(alpha) = &self.alpha {
            samples.chunks_exact_mut(channels).zip(alpha).for_each(|(pixel, &alpha)| pixel[channels - 1] = alpha);
        }
        image((height, width, channels), samples)
    }

    /// The samples of every pixel, `C` each, in the colour of its cluster; alpha is not yet what it is to be.
    fn recoloured<const C: usize>(&self) -> Vec<S> {
        let pixel = |swatch: &Swatch<S>| std::array::from_fn(|channel| swatch.colour[channel.min(2)]);
        let pixels: Vec<[S; C]> = self.palette.iter().map(pixel).collect();
        let labels = packed(&self.labels).par_iter().with_min_len(1 << 14);
        // Collected, so that the memory is written once: it is not set to zero before.
        let samples: Vec<[S; C]> = labels.map(|&label| pixels[label as usize]).collect();
        samples.into_flattened()
    }

    /// The centroids in the space of the features, `[k, d]`.
    pub fn centroids(&self) -> ArrayView2<'_, f32> {
        self.fitted.centroids()
    }

    /// The weighted sum over pixels of the squared distance to their centroid, in units of the features.
    pub fn inertia(&self) -> f64 {
        self.fitted.inertia()
    }

    /// Rounds of assignment run.
    pub fn iterations(&self) -> usize {
        self.fitted.iterations()
    }

    /// What each round did. Where distinct colours were clustered, its counts are of colours.
    pub fn history(&self) -> &[Iteration] {
        self.fitted.history()
    }

    /// Whether a stop rule ended the rounds.
    pub fn converged(&self) -> bool {
        self.fitted.converged()
    }

    /// What did the work, for people.
    pub fn engine(&self) -> &str {
        self.fitted.engine()
    }

    /// The distinct colours of the image, where these were clustered in place of every pixel.
    pub fn distinct_colours(&self) -> Option<usize> {
        self.colours
    }

    /// What is right but may surprise.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Puts cluster `order[i]` in place i.
    pub(super) fn reordered(mut self, order: &[usize]) -> Self {
        let mut place = vec![0_u32; order.len()];
        for (to, &from) in order.iter().enumerate() {
            place[from] = to as u32;
        }
        self.labels.mapv_inplace(|label| place[label as usize]);
        self.palette = order.iter().map(|&from| self.palette[from]).collect();
        self.fitted.centroids = self.fitted.centroids.select(ndarray::Axis(0), order);
        self.fitted.counts = self.fitted.counts.select(ndarray::Axis(0), order);
        self
    }
}

fn packed(labels: &Array2<u32>) -> &[u32] {
    labels.as_slice().expect("made row-major, and never turned")
}

fn image<S>(shape: (usize, usize, usize), samples: Vec<S>) -> Array3<S> {
    Array3::from_shape_vec(shape, samples).expect("h·w·c samples")
}
