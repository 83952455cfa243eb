//! Points that are in a GPU's memory already, and fits that leave their labels there.

use std::marker::PhantomData;

use cudarc::driver::{CudaSlice, DevicePtr};
use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch;
use kmeans_core::settings::Iteration;
use ndarray::{ArrayBase, ArrayView1, ArrayView2, Data as OwnedData, Ix1};

use super::driver::{Arg, Gpu, Span, Stream, borrowed, write_parts};
use super::job::{CudaJob, Data, Place};
use super::memory;
use super::{CudaEngine, Number};
use crate::engine::{Job, Task};
use crate::points::{Facts, smallest_limit};
use crate::{Device, Element, Error, FittedKMeans, KMeans};

/// Points in the memory of a CUDA device, `[n, d]`, row-major, to be clustered where they are.
///
/// They are read, never written, and must not be written by others while a fit or a prediction runs. Work that was queued on
/// their stream before is waited for.
///
/// ```no_run
/// use cudarc::driver::CudaContext;
/// use kmeans_host::{DevicePoints, KMeans};
///
/// let stream = CudaContext::new(0)?.default_stream();
/// let points = stream.clone_htod(&vec![0.5_f32; 1000 * 8])?;
/// let fitted = KMeans::new(3).fit_on_device(&DevicePoints::new(&points, (1000, 8))?)?;
/// let labels: &cudarc::driver::CudaSlice<u32> = fitted.labels(); // still on the device
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DevicePoints<'a, T> {
    source: Source<'a, T>,
    n: usize,
    d: usize,
}

/// Who owns the memory.
enum Source<'a, T> {
    Cudarc(&'a dyn DevicePtr<T>),
    #[cfg(feature = "cust")]
    Cust {
        span: Span<'a>,
        device: usize,
    },
}

impl<'a, T: Element> DevicePoints<'a, T> {
    /// The first n·d values of `slice`, a slice or view of cudarc's, as points of shape `(n, d)`.
    ///
    /// # Errors
    /// [`Error::DeviceShape`] if the slice has another number of values.
    pub fn new(slice: &'a impl DevicePtr<T>, (n, d): (usize, usize)) -> Result<Self, Error> {
        if n.checked_mul(d) != Some(slice.len()) {
            return Err(Error::DeviceShape { n, d, found: slice.len() });
        }
        Ok(Self { source: Source::Cudarc(slice), n, d })
    }

    /// The shape, `(n, d)`.
    pub fn dim(&self) -> (usize, usize) {
        (self.n, self.d)
    }
}

/// Points on a device, and what this crate does with them.
struct Opened<'a, T> {
    stream: Stream,
    span: Span<'a>,
    n: usize,
    d: usize,
    values: PhantomData<T>,
}

/// The device that points are on.
fn device_of<T>(points: &DevicePoints<'_, T>) -> usize {
    match points.source {
        Source::Cudarc(slice) => slice.stream().context().ordinal(),
        #[cfg(feature = "cust")]
        Source::Cust { device, .. } => device,
    }
}

impl<'a, T: Number> Opened<'a, T> {
    /// With a stream that has waited for what was queued on theirs.
    fn new(points: &'a DevicePoints<'_, T>) -> Result<Self, Error> {
        let stream = Gpu::open(device_of(points))?.stream()?;
        let span = match points.source {
            Source::Cudarc(slice) => {
                stream.wait_for(slice.stream())?;
                borrowed(slice, &stream)
            }
            // Nobody knows which of the caller's streams wrote it.
            #[cfg(feature = "cust")]
            Source::Cust { span, .. } => {
                stream.gpu().synchronize()?;
                span
            }
        };
        Ok(Self { stream, span, n: points.n, d: points.d, values: PhantomData })
    }

    /// What is to be known of the points, or what is wrong with them.
    fn facts(&self, weights: Option<Vec<f64>>) -> Result<Facts, Error> {
        let mut facts = Facts::new((self.n, self.d), weights)?;
        let len = (self.n * self.d) as u64;
        // Two results of 32 bits, and one of 64.
        let mut found = self.stream.zeros::<u64>(2)?;
        let [range, faulty] = write_parts(&mut found, [0..1, 1..2]);
        let arguments = [Arg::In(self.span), range.cast::<u32>(), faulty, Arg::U64(len)];
        self.stream.launch(&launch::RANGE_EXPONENTS, T::NAME, launch::range_exponents(len), &arguments)?;
        let found = self.stream.download(&found, 2)?;
        let (range, faulty) = ([found[0] as u32, (found[0] >> 32) as u32], found[1]);
        if faulty != 0 {
            let at = (u64::MAX - faulty) as usize;
            let value = self.value(at)?;
            return Err(Error::NonFinite { row: at / self.d, column: at % self.d, value });
        }
        // Nothing but zeros leaves nothing.
        if range[0] != 0 {
            let bias = launch::EXPONENT_BIAS;
            facts.range = ExponentRange { high: range[0] as i32 - bias, low: bias - range[1] as i32 };
        }
        Ok(facts)
    }

    fn value(&self, at: usize) -> Result<f64, Error> {
        let mut value = [T::default()];
        self.stream.download_span(self.span.skip(at as u64), &mut value)?;
        Ok(value[0].to_f64())
    }

    /// The value of the largest magnitude and where it is.
    fn largest(&self) -> Result<(usize, f64), Error> {
        const TOGETHER: usize = 1 << 20;
        let mut largest = (0, 0.0_f64);
        for start in (0..self.n * self.d).step_by(TOGETHER) {
            let mut values = vec![T::default(); TOGETHER.min(self.n * self.d - start)];
            self.stream.download_span(self.span.skip(start as u64), &mut values)?;
            for (i, value) in values.iter().enumerate() {
                if value.to_f64().abs() > largest.1.abs() {
                    largest = (start + i, value.to_f64());
                }
            }
        }
        Ok(largest)
    }

    /// As [`facts`](Self::facts), for points to compare with centroids: none too large.
    fn facts_to_label(&self, weights: Option<Vec<f64>>) -> Result<Facts, Error> {
        let facts = self.facts(weights)?;
        if facts.is_too_large() {
            let (at, value) = self.largest()?;
            return Err(Error::ValuesTooLarge { row: at / self.d, column: at % self.d, value, limit: facts.limit() });
        }
        Ok(facts)
    }

    /// As [`facts`](Self::facts), for points to fit: neither too large nor all too small.
    fn facts_to_fit(&self, weights: Option<Vec<f64>>) -> Result<Facts, Error> {
        let facts = self.facts_to_label(weights)?;
        if facts.is_too_small() {
            let (_, value) = self.largest()?;
            return Err(Error::ValuesTooSmall { largest: value.abs(), limit: smallest_limit() });
        }
        Ok(facts)
    }
}

/// Buffers of the crate `cust`.
#[cfg(feature = "cust")]
mod cust_buffers {
    use cust::memory::{DeviceBuffer, DeviceCopy, GpuBuffer};

    use super::{DevicePoints, Element, Error, FittedOnDevice, Source};
    use crate::cuda::driver::at_address;

    impl<'a, T: Element + DeviceCopy> DevicePoints<'a, T> {
        /// The values of `buffer`, which lies on CUDA device number `device`, as points of shape `(n, d)`: `f32` or `f64`,
        /// the types that cust can copy. Needs the feature `cust`. All work on the device is waited for.
        ///
        /// # Errors
        /// [`Error::DeviceShape`] if the buffer has another number of values.
        pub fn from_cust(buffer: &'a DeviceBuffer<T>, (n, d): (usize, usize), device: usize) -> Result<Self, Error> {
            if n.checked_mul(d) != Some(buffer.len()) {
                return Err(Error::DeviceShape { n, d, found: buffer.len() });
            }
            let span = at_address(buffer.as_device_ptr().as_raw(), buffer, T::NAME);
            Ok(Self { source: Source::Cust { span, device }, n, d })
        }
    }

    impl<T: Element> FittedOnDevice<T> {
        /// Copies the labels to a buffer of cust's, `[n]`. Needs the feature `cust`.
        ///
        /// # Errors
        /// [`Error::DeviceShape`] if the buffer has another length; [`Error::DeviceFailed`] if the copy fails.
        pub fn copy_labels_to(&self, buffer: &mut DeviceBuffer<u32>) -> Result<(), Error> {
            if buffer.len() != self.labels.len() {
                return Err(Error::DeviceShape { n: self.labels.len(), d: 1, found: buffer.len() });
            }
            crate::cuda::driver::copy_out(&self.labels, buffer.as_device_ptr().as_raw(), buffer)
        }
    }
}

/// A fit whose labels are in the memory of the device that made it.
pub struct FittedOnDevice<T> {
    /// Its labels are elsewhere.
    model: FittedKMeans<T>,
    labels: CudaSlice<u32>,
}

impl<T: Element> FittedOnDevice<T> {
    /// The label of each point, `[n]`: the lowest k among the nearest centroids. The work that made them is done; keep them
    /// until your own work that reads them is done too.
    pub fn labels(&self) -> &CudaSlice<u32> {
        &self.labels
    }

    /// The labels, to go on with.
    pub fn into_labels(self) -> CudaSlice<u32> {
        self.labels
    }

    /// The centroids, `[k, d]`, in host memory.
    pub fn centroids(&self) -> ArrayView2<'_, T> {
        self.model.centroids()
    }

    /// Points per cluster, `[k]`; whatever their weights.
    pub fn counts(&self) -> ArrayView1<'_, u64> {
        self.model.counts()
    }

    /// The weighted sum over points of the squared Euclidean distance to the nearest centroid, exact, rounded once.
    pub fn inertia(&self) -> f64 {
        self.model.inertia()
    }

    /// Rounds of assignment run, the one that found the labels repeated included.
    pub fn iterations(&self) -> usize {
        self.model.iterations()
    }

    /// Whether a stop rule ended the rounds, and not the cap or the progress callback.
    pub fn converged(&self) -> bool {
        self.model.converged()
    }

    /// What each round did.
    pub fn history(&self) -> &[Iteration] {
        self.model.history()
    }

    /// The same fit with its labels in host memory.
    ///
    /// # Errors
    /// [`Error::DeviceFailed`] if they cannot be copied.
    pub fn into_host(mut self) -> Result<FittedKMeans<T>, Error> {
        let failed = |e| Error::DeviceFailed { index: self.labels.ordinal(), reason: format!("{e}") };
        let labels = self.labels.stream().clone_dtoh(&self.labels).map_err(failed)?;
        self.labels.stream().synchronize().map_err(failed)?;
        self.model.labels = labels.into();
        Ok(self.model)
    }
}

impl KMeans {
    /// Clusters points that are in a GPU's memory, on that GPU, whatever [`device`](Self::device) says; the labels stay there.
    ///
    /// # Errors
    /// As [`fit`](Self::fit).
    pub fn fit_on_device<T: Element>(&self, points: &DevicePoints<'_, T>) -> Result<FittedOnDevice<T>, Error> {
        T::fit_on_device(self, points, None)
    }

    /// As [`fit_on_device`](Self::fit_on_device), each row counting as much as its entry of `weights`, `[n]`, in host memory.
    ///
    /// # Errors
    /// As [`fit_weighted`](Self::fit_weighted).
    pub fn fit_on_device_weighted<T: Element, W: OwnedData<Elem = f64>>(
        &self,
        points: &DevicePoints<'_, T>,
        weights: &ArrayBase<W, Ix1>,
    ) -> Result<FittedOnDevice<T>, Error> {
        T::fit_on_device(self, points, Some(weights.to_vec()))
    }
}

impl<T: Element> FittedKMeans<T> {
    /// The label of each of `points`, which are in a GPU's memory: the labels are there too, `[n]`.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and if there are no points: device memory has no arrays of nothing.
    pub fn predict_on_device(&self, points: &DevicePoints<'_, T>) -> Result<CudaSlice<u32>, Error> {
        if points.d != self.centroids.ncols() {
            return Err(Error::DimensionMismatch { expected: self.centroids.ncols(), found: points.d });
        }
        if points.n == 0 {
            return Err(Error::NoPoints);
        }
        T::predict_on_device(points, self.centroids())
    }
}

/// [`KMeans::fit_on_device`].
pub(crate) fn fit<T: Element + Number>(
    settings: &KMeans,
    points: &DevicePoints<'_, T>,
    weights: Option<Vec<f64>>,
) -> Result<FittedOnDevice<T>, Error> {
    settings.check(points.dim())?;
    let opened = Opened::new(points)?;
    let facts = opened.facts_to_fit(weights)?;
    let Opened { stream, span, .. } = opened;
    stream.require(memory::needed::<T>(&facts, Task::Fit { k: settings.k() }, 0))?;
    let mut job = CudaJob::new(Data::new(stream.clone(), &facts, Place::Theirs(span))?);
    let outcome = settings.fit_job(&mut job, &facts)?;
    let labels = job.take_labels().expect("a fit leaves labels").into_slice();
    stream.synchronize()?;
    let index = device_of(points);
    let model = FittedKMeans::new(outcome, Vec::new(), Device::Cuda(index), CudaEngine::new(index)?.describe());
    Ok(FittedOnDevice { model, labels })
}

/// [`FittedKMeans::predict_on_device`].
pub(crate) fn predict<T: Number>(
    points: &DevicePoints<'_, T>,
    centroids: ArrayView2<'_, T>,
) -> Result<CudaSlice<u32>, Error> {
    let opened = Opened::new(points)?;
    let facts = opened.facts_to_label(None)?;
    let Opened { stream, span, .. } = opened;
    stream.require(memory::needed::<T>(&facts, Task::Predict { k: centroids.nrows() }, 0))?;
    let mut job = CudaJob::new(Data::new(stream.clone(), &facts, Place::Theirs(span))?);
    job.assign(centroids)?;
    let labels = job.take_labels().expect("an assignment leaves labels").into_slice();
    stream.synchronize()?;
    Ok(labels)
}
