//! Segmentation of frame after frame.

use ndarray::{Array2, ArrayBase, Data, Ix3};

use super::{Sample, Segmentation, Segmented};
use crate::Error;

/// Segments the frames of a video, all of one size, each from the centroids of the one before.
///
/// So a frame that differs little takes few rounds, and a cluster keeps its label from frame to frame. The first frame's
/// clusters are ordered by their share, the largest first. In later frames a cluster that finds no pixel keeps its
/// centroid until pixels near it come back; it takes over none that are far from it, as that would change what it
/// stands for. [`restart`](Self::restart) begins anew, as at a cut. After a first frame with fewer colours than clusters the next one
/// starts afresh, and its clusters are ordered after the most similar ones of the last frame.
///
/// On a GPU, frames of `u8` are clustered by colour as the bytes they are, and device and pinned memory stay from frame to frame.
/// [`Device::Auto`](crate::Device::Auto) opens a GPU when a few dozen frames have shown that there is work for it. Reading the next frame and writing
/// the last one are best done on threads of their own: the example `video_segmentation` shows how.
///
/// ```
/// use kmeans_host::image::{Segmentation, Video};
/// use ndarray::Array3;
///
/// let mut video = Video::new(Segmentation::new(2));
/// for t in 0..3 {
///     // A bright square moves over a dark ground, [h, w, c] = [16, 16, 3].
///     let frame = Array3::from_shape_fn((16, 16, 3), |(y, x, _)| if y < 4 && x / 4 == t { 250_u8 } else { 20 });
///     let segmented = video.segment(&frame)?;
///     assert_eq!(segmented.labels()[[0, 4 * t]], 1);
/// }
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Video {
    segmentation: Segmentation,
    last: Option<Last>,
}

/// What a frame leaves for the next.
#[derive(Clone, Debug)]
struct Last {
    shape: (usize, usize, usize),
    /// `[k, d]`.
    centroids: Array2<f32>,
    /// Clusters that the next frame will be given.
    k: usize,
}

impl Video {
    /// Frames segmented by `segmentation`; its start is that of the first frame, and where it chooses k, it does so there.
    pub fn new(segmentation: Segmentation) -> Self {
        Self { segmentation, last: None }
    }

    /// The next frame, `[h, w, c]`.
    ///
    /// # Errors
    /// Those of [`Segmentation::segment`], and for a frame of another shape than the first. The last frame's centroids
    /// stay.
    pub fn segment<S: Sample, D: Data<Elem = S>>(&mut self, frame: &ArrayBase<D, Ix3>) -> Result<Segmented<S>, Error> {
        let shape = frame.dim();
        let Some(last) = &self.last else {
            let first = self.segmentation.segment(frame)?;
            let order = first.by_share();
            let first = first.reordered(&order);
            let k = match self.segmentation.choice() {
                Some(_) => first.palette().len(),
                None => self.segmentation.k(),
            };
            self.last = Some(Last { shape, centroids: first.centroids().to_owned(), k });
            return Ok(first);
        };
        if shape != last.shape {
            let list = |(h, w, c): (usize, usize, usize)| vec![h, w, c];
            return Err(Error::Shape { what: "the frame", expected: list(last.shape), found: list(shape) });
        }
        let segmented = if last.centroids.nrows() == last.k {
            self.segmentation.starting_from(&last.centroids).segment(frame)?
        } else {
            let afresh = self.segmentation.segment(frame)?;
            let order = similar_first(&last.centroids, &afresh);
            afresh.reordered(&order)
        };
        let (shape, k) = (last.shape, last.k);
        self.last = Some(Last { shape, centroids: segmented.centroids().to_owned(), k });
        Ok(segmented)
    }

    /// Forgets the last frame: the next one is a first frame, of any size.
    pub fn restart(&mut self) {
        self.last = None;
    }
}

/// For each of the `old` centroids in turn the nearest cluster that no other took; then the rest.
fn similar_first<S: Sample>(old: &Array2<f32>, new: &Segmented<S>) -> Vec<usize> {
    let centroids = new.centroids();
    let mut rest: Vec<usize> = (0..centroids.nrows()).collect();
    let mut order = Vec::with_capacity(rest.len());
    for old in old.rows() {
        let distance = |k: usize| -> f32 { old.iter().zip(centroids.row(k)).map(|(a, b)| (a - b).powi(2)).sum() };
        let nearest = (0..rest.len()).min_by(|&a, &b| distance(rest[a]).total_cmp(&distance(rest[b])));
        if let Some(nearest) = nearest {
            order.push(rest.remove(nearest));
        }
    }
    order.extend(rest);
    order
}
