//! Clustering the pixels of an image.

use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use kmeans_core::exact::ExactSum;
use kmeans_core::rng::Random;
use kmeans_core::scalar::power_of_two;
use kmeans_core::seeding;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use ndarray::{Array1, Array2, ArrayBase, Data, Ix3};
use rayon::prelude::*;

use super::colours::Colours;
use super::features::COLOUR_DIGITS;
use super::picture::{Picture, opacity};
use super::seeding::plus_plus;
use super::segmented::Segmented;
use super::{Alpha, Features, Sample};
use crate::engine::OnSeeding;
use crate::select_k::{Criterion, SelectK};
use crate::{Error, FittedKMeans, Init, KMeans, Notice};

/// Pixels that a number of clusters is chosen on.
const CHOSEN_ON: usize = 10_000;
/// Pixels per colour from which clustering colours is faster than clustering pixels.
const WORTH_COUNTING: usize = 4;
/// With more pixels than this, the product of a weight and a count need not be exact.
const MOST_WEIGHTED: usize = 1 << 29;

/// Clusters the pixels of images: settings first, then [`segment`](Self::segment).
///
/// | setting | default |
/// |---|---|
/// | [`features`](Self::features) | colour, in the image's own units |
/// | [`alpha`](Self::alpha) | transparent pixels weigh less |
/// | [`kmeans`](Self::kmeans) | those of [`KMeans::new`] |
/// | [`choose_k`](Self::choose_k) | off: k as given |
/// | [`every_pixel`](Self::every_pixel) | off: distinct colours are clustered where that is faster |
///
/// An image with fewer distinct colours than clusters asked for keeps them all: each is a cluster of its own and
/// [`Segmented::notices`] says so. (Except with [`Init::Centroids`], whose number is taken at its word.)
///
/// ```
/// use kmeans_host::image::{Features, Segmentation};
/// use ndarray::Array3;
///
/// let image = Array3::from_shape_fn((20, 30, 3), |(y, x, c)| (x * 8 + y * 2 + c * 40) as u8); // [h, w, c]
/// let segmented = Segmentation::new(4).features(Features::LabXy { weight: 0.5 }).segment(&image)?;
/// assert_eq!(segmented.palette().len(), 4);
/// assert_eq!(segmented.quantized().dim(), (20, 30, 3));
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Segmentation {
    kmeans: KMeans,
    features: Features,
    alpha: Alpha,
    choose: Option<(RangeInclusive<usize>, Criterion)>,
    every_pixel: bool,
}

impl Segmentation {
    /// Segmentation into `k` clusters by colour.
    pub fn new(k: usize) -> Self {
        Self {
            kmeans: KMeans::new(k),
            features: Features::default(),
            alpha: Alpha::default(),
            choose: None,
            every_pixel: false,
        }
    }

    /// All that k-means can be told: k, start, stop rule, seed, restarts, device, a progress callback. It replaces the k
    /// given before. Where distinct colours are clustered, the callback's counts are of colours.
    pub fn kmeans(mut self, kmeans: KMeans) -> Self {
        self.kmeans = kmeans;
        self
    }

    /// What the distance between two pixels is measured on.
    pub fn features(mut self, features: Features) -> Self {
        self.features = features;
        self
    }

    /// What transparency means.
    pub fn alpha(mut self, alpha: Alpha) -> Self {
        self.alpha = alpha;
        self
    }

    /// Chooses k in `range` by `criterion`, on up to 10,000 evenly spaced pixels, in place of the k given.
    ///
    /// ```
    /// use kmeans_host::image::Segmentation;
    /// use kmeans_host::select_k::Criterion;
    /// use ndarray::Array3;
    ///
    /// // Three flat colours with a little noise.
    /// let image = Array3::from_shape_fn((30, 30, 3), |(y, x, c)| ((x / 10) * 100 + (x + y * c) % 5) as u8);
    /// let segmented = Segmentation::new(1).choose_k(2..=6, Criterion::Silhouette).segment(&image)?;
    /// assert_eq!(segmented.palette().len(), 3);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    pub fn choose_k(mut self, range: RangeInclusive<usize>, criterion: Criterion) -> Self {
        self.choose = Some((range, criterion));
        self
    }

    /// Whether every pixel is clustered, also where the distinct colours, weighing as much as their pixels, give the same
    /// labels, centroids, counts and inertia, bit for bit, in less time.
    ///
    /// They do where features are colours of `u8` or `u16`, of which there are at most a quarter as many as pixels; the
    /// start is not random labels or k-means‖; the stop rule is not the share of labels changed; and no cluster
    /// loses its points on the way to take over the farthest pixel. In all other cases every pixel is clustered anyway, as is an
    /// image of bytes by its colour on a GPU, which is faster. Bytes are clustered as they lie in memory; other features take 4·d bytes
    /// per pixel, and the colours 4 bytes per pixel.
    pub fn every_pixel(mut self, every_pixel: bool) -> Self {
        self.every_pixel = every_pixel;
        self
    }

    /// Clusters the pixels of `image`, `[h, w, c]`.
    ///
    /// # Errors
    /// Those of [`KMeans::fit`]; and for an image without pixels or with more than 4 channels, pixels that are not finite or all
    /// transparent, or a spatial weight that is not positive.
    pub fn segment<S: Sample, D: Data<Elem = S>>(&self, image: &ArrayBase<D, Ix3>) -> Result<Segmented<S>, Error> {
        self.features.check()?;
        let picture = Picture::new(image.view(), self.alpha)?;
        match &self.choose {
            None => self.segment_picture(&picture),
            Some((range, criterion)) => {
                let k = self.choose_on(&picture, range.clone(), *criterion)?;
                let mut chosen = self.clone();
                chosen.kmeans.k = k;
                chosen.segment_picture(&picture)
            }
        }
    }

    pub(super) fn k(&self) -> usize {
        self.kmeans.k
    }

    pub(super) fn choice(&self) -> Option<&(RangeInclusive<usize>, Criterion)> {
        self.choose.as_ref()
    }

    /// The same from `centroids`, where a cluster that finds no pixel waits for some to come near it.
    pub(super) fn starting_from(&self, centroids: &Array2<f32>) -> Self {
        let mut warm = self.clone();
        warm.choose = None;
        warm.kmeans.k = centroids.nrows();
        warm.kmeans.init = Init::centroids(centroids);
        if warm.kmeans.settings.empty == EmptyCluster::Farthest {
            warm.kmeans.settings.empty = EmptyCluster::Keep;
        }
        warm
    }

    /// The features, `[m, d]`, of up to `most` evenly spaced pixels of `image`, `[h, w, c]`: points for [`SelectK`], as
    /// [`choose_k`](Self::choose_k) takes them. Pixels that weigh nothing are left out.
    ///
    /// ```
    /// use kmeans_host::image::{Features, Segmentation};
    /// use ndarray::Array3;
    ///
    /// let image = Array3::from_shape_fn((20, 30, 3), |(y, x, c)| (x * 8 + y * 2 + c * 40) as u8); // [h, w, c]
    /// let sample = Segmentation::new(1).features(Features::LabXy { weight: 0.5 }).sample(&image, 100)?;
    /// assert_eq!(sample.dim(), (100, 5));
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    ///
    /// # Errors
    /// For the image and the features, those of [`segment`](Self::segment).
    pub fn sample<S: Sample, D: Data<Elem = S>>(
        &self,
        image: &ArrayBase<D, Ix3>,
        most: usize,
    ) -> Result<Array2<f32>, Error> {
        self.features.check()?;
        Ok(self.sample_of(&Picture::new(image.view(), self.alpha)?, most))
    }

    fn sample_of<S: Sample>(&self, picture: &Picture<'_, S>, most: usize) -> Array2<f32> {
        let weights = picture.weights();
        let seen: Vec<usize> = (0..picture.len()).filter(|&i| weights.as_ref().is_none_or(|w| w[i] > 0.0)).collect();
        let sample: Vec<usize> =
            seeding::evenly_spaced(seen.len(), seen.len().min(most)).into_iter().map(|i| seen[i]).collect();
        self.features.rows_of(picture, &sample)
    }

    fn choose_on<S: Sample>(
        &self,
        picture: &Picture<'_, S>,
        range: RangeInclusive<usize>,
        criterion: Criterion,
    ) -> Result<usize, Error> {
        let sample = self.sample_of(picture, CHOSEN_ON);
        // One colour can be told from no other.
        let colours = Distinct::default().with(sample.rows().into_iter().map(key), *range.end()).len();
        if colours <= *range.start() {
            return Ok(*range.start());
        }
        let range = *range.start()..=(*range.end()).min(colours);
        Ok(SelectK::new(range).kmeans(self.kmeans.clone()).criterion(criterion).fit(&sample)?.k())
    }

    fn segment_picture<S: Sample>(&self, picture: &Picture<'_, S>) -> Result<Segmented<S>, Error> {
        let bytes = self.features.bytes(picture);
        // A GPU is done with all bytes before the host has counted their colours.
        let every_pixel = match bytes {
            Some(bytes) => self.kmeans.uses_gpu(bytes.dim())?,
            None => false,
        };
        let limit = if !every_pixel && self.may_use_colours(picture) { picture.len() / WORTH_COUNTING } else { 0 };
        // Few colours are worth knowing in any case: they may be fewer than k.
        let colours = (limit > 0).then(|| Colours::count(picture, self.features, limit)).flatten();
        if let Some(colours) = colours {
            let (kmeans, notice) = self.with_at_most(colours.seen());
            // Given centroids may be more than the colours.
            let fitted = (colours.rows.nrows() >= kmeans.k).then(|| fit_colours(&kmeans, &colours));
            match fitted {
                None => {}
                // The farthest pixel is one pixel, not all of its colour.
                Some(Err(Error::EmptyCluster { .. })) if kmeans.settings.empty == EmptyCluster::Farthest => {}
                Some(fitted) => {
                    let distinct = colours.rows.nrows();
                    return Ok(self.segmented(picture, spread(fitted?, colours), Some(distinct), notice));
                }
            }
        }
        let (kmeans, notice) = self.with_at_most(distinct(picture, self.features, self.kmeans.k));
        let weights = picture.weights();
        let fitted = match (bytes, weights) {
            (Some(bytes), weights) => kmeans.fit_bytes(bytes, weights)?,
            (None, None) => kmeans.fit(&self.features.rows(picture))?,
            (None, Some(weights)) => kmeans.fit_weighted(&self.features.rows(picture), &Array1::from(weights))?,
        };
        Ok(self.segmented(picture, fitted, None, notice))
    }

    fn segmented<S: Sample>(
        &self,
        picture: &Picture<'_, S>,
        fitted: FittedKMeans<f32>,
        colours: Option<usize>,
        notice: Option<Notice>,
    ) -> Segmented<S> {
        Segmented::new(picture, self.features, fitted, colours, notice)
    }

    /// K-means with as many clusters as there are colours, where these are fewer.
    fn with_at_most(&self, colours: usize) -> (KMeans, Option<Notice>) {
        let mut kmeans = self.kmeans.clone();
        if colours >= kmeans.k || colours == 0 || matches!(kmeans.init, Init::Centroids(_)) {
            return (kmeans, None);
        }
        let notice = Notice::FewerColours { k: kmeans.k, found: colours };
        kmeans.k = colours;
        (kmeans, Some(notice))
    }

    /// Whether clustering the distinct colours is sure to give the bits of clustering every pixel.
    fn may_use_colours<S: Sample>(&self, picture: &Picture<'_, S>) -> bool {
        let counted = match &self.kmeans.init {
            Init::RandomLabels | Init::KMeansParallel => false,
            // What is wrong with given centroids, the fit of every pixel says.
            Init::Centroids(centroids) => centroids.iter().all(|v| v.abs() < 1e18),
            _ => true,
        };
        let by_labels_changed = matches!(self.kmeans.settings.stop, Stop::LabelsChanged(_));
        let exact = !picture.weighted || picture.len() <= MOST_WEIGHTED;
        counted && exact && !by_labels_changed && !self.every_pixel && self.features.weight().is_none()
    }
}

/// The fit of `colours`, each weighing as much as its pixels; its labels and counts are of colours.
fn fit_colours(kmeans: &KMeans, colours: &Colours) -> Result<FittedKMeans<f32>, Error> {
    let (n, k) = (colours.index.len(), kmeans.k);
    let counts = colours.counts.iter().map(|&count| count as f64);
    let weights = match &colours.weights {
        None => counts.collect(),
        Some(weights) => counts.zip(weights).map(|(count, weight)| count * weight).collect(),
    };
    let settings = Settings {
        stop: match kmeans.settings.stop {
            // The variance is that of all pixels; "at most" is "less than the next larger number".
            Stop::RelativeTolerance(tolerance) => Stop::Movement((tolerance * mean_variance(colours)).next_up()),
            stop => stop,
        },
        empty: match kmeans.settings.empty {
            EmptyCluster::Farthest => EmptyCluster::Error,
            policy => policy,
        },
        ..kmeans.settings
    };
    // A tolerance that is no number is refused as the caller gave it.
    kmeans.check((n, colours.rows.ncols()))?;
    let given = match &kmeans.init {
        Init::Centroids(centroids) => Some(centroids.mapv(|v| v as f32)),
        _ => None,
    };
    let start = |random: &Random, seeding: OnSeeding<'_>| {
        let pixels = match &kmeans.init {
            Init::FirstK => (0..k).collect(),
            Init::EvenlySpaced => seeding::evenly_spaced(n, k),
            Init::RandomPoints => seeding::random_rows(n, k, random),
            Init::Centroids(_) => return Ok(given.clone().expect("converted above")),
            _ => plus_plus(colours, k, random, seeding)?,
        };
        let of_pixels: Vec<usize> = pixels.into_iter().map(|pixel| colours.index[pixel] as usize).collect();
        Ok(colours.rows.select(ndarray::Axis(0), &of_pixels))
    };
    kmeans.fit_from(colours.rows.view(), weights, &settings, start)
}

/// The fit with labels and counts of pixels. Labels take the place of colours, so that only one of the two is in memory.
fn spread(mut fitted: FittedKMeans<f32>, colours: Colours) -> FittedKMeans<f32> {
    let of_colours = std::mem::take(&mut fitted.labels);
    fitted.counts.fill(0);
    for (&label, count) in of_colours.iter().zip(&colours.counts) {
        fitted.counts[label as usize] += count;
    }
    let mut labels = colours.index;
    labels.par_iter_mut().with_min_len(1 << 15).for_each(|colour| *colour = of_colours[*colour as usize]);
    fitted.labels = Array1::from(labels);
    fitted
}

/// [`kmeans_core::reference::mean_variance`] of all pixels. Colour features are multiples of 2⁻¹², so that their sums and
/// those of their squares are integers.
fn mean_variance(colours: &Colours) -> f64 {
    let (n, d) = (colours.index.len() as u64, colours.rows.ncols());
    let rows = colours.rows.as_slice().expect("packed");
    let mut scatter = ExactSum::new();
    for column in 0..d {
        let sums = |(row, &count): (&[f32], &u64)| {
            let value = (f64::from(row[column]) * power_of_two(COLOUR_DIGITS)) as i64;
            let times = i128::from(count) * i128::from(value);
            (times, times * i128::from(value))
        };
        let rows = rows.par_chunks_exact(d).zip(&colours.counts).with_min_len(1 << 12);
        let (sum, squares) = rows.map(sums).reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let mut total = ExactSum::new();
        total.add_integer(sum, -COLOUR_DIGITS);
        let mean: f64 = total.divide(&ExactSum::from_count(n));
        // Σ (v − m)² = Σ v² − 2·m·Σ v + n·m²
        scatter.add_integer(squares, -2 * COLOUR_DIGITS);
        for (part, exponent) in [(sum >> 32, 32), (sum & 0xffff_ffff, 0)] {
            scatter.add_triple(-2.0 * power_of_two(exponent - COLOUR_DIGITS), mean, part as f64);
        }
        scatter.add_triple(n as f64, mean, mean);
    }
    scatter.to_f64() / (n as f64 * d as f64)
}

/// Distinct features of pixels that are seen, or `enough` if there are as many.
fn distinct<S: Sample>(picture: &Picture<'_, S>, features: Features, enough: usize) -> usize {
    const TOGETHER: usize = 1 << 14;
    let (n, channels) = (picture.len(), picture.channels);
    let positions = features.weight().is_some();
    let found = |pixels: Range<usize>| {
        let mut before: Option<&[S]> = None;
        let keys = pixels.filter_map(|i| {
            let pixel = &picture.samples()[i * channels..][..channels];
            // A row of equal pixels is told at a glance.
            let news = positions || before != Some(pixel);
            before = Some(pixel);
            let seen = !picture.weighted || opacity(pixel[channels - 1]) > 0.0;
            (news && seen).then(|| {
                let mut row = [0.0; MOST_FEATURES];
                features.pixel_into(picture, i, &mut row);
                key(&row)
            })
        });
        Distinct::default().with(keys, enough)
    };
    // Most images show enough colours in their first pixels.
    let first = found(0..n.min(TOGETHER));
    if first.len() >= enough || n <= TOGETHER {
        return first.len();
    }
    let parts =
        (1..n.div_ceil(TOGETHER)).into_par_iter().map(|part| found(part * TOGETHER..n.min((part + 1) * TOGETHER)));
    parts.reduce(Distinct::default, |a, b| a.with(b.0.into_iter(), enough)).with(first.0.into_iter(), enough).len()
}

/// Distinct rows of features.
#[derive(Default)]
struct Distinct(HashSet<Key>);

/// A row of features, and zeros.
type Key = [u32; MOST_FEATURES];

/// Columns of [`Features::LabXy`].
const MOST_FEATURES: usize = 5;

/// The bits of a row, of which zero has one form.
fn key<'a>(row: impl IntoIterator<Item = &'a f32>) -> Key {
    let mut key = [0; MOST_FEATURES];
    key.iter_mut().zip(row).for_each(|(bits, v)| *bits = (v + 0.0).to_bits());
    key
}

impl Distinct {
    /// Together with `rows`, as far as there are fewer than `enough`.
    fn with(mut self, rows: impl Iterator<Item = Key>, enough: usize) -> Self {
        for row in rows {
            if self.0.len() >= enough {
                break;
            }
            self.0.insert(row);
        }
        self
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
