//! Work on one set of points that lies in a GPU's memory.

use std::cell::OnceCell;

use kmeans_core::exact::ExactSum;
use kmeans_core::launch;
use kmeans_core::rng::Random;
use kmeans_core::seeding::vacancy_row;
use kmeans_core::settings::Settings;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::Number;
use super::assigner::Assigner;
use super::driver::{Arg, Array, Span, Stored, Stream, TOGETHER, read, write};
use super::inertia::{Inertia, start_range};
use super::memory::{self, DISTANCE_BYTES};
use super::sums::Sums;
use super::{lloyd, seeding};
use crate::Error;
use crate::engine::{Job, OnIteration, OnSeeding, Outcome, Task};
use crate::points::{Bytes, Facts, Points, Source};

/// Where the points lie.
pub enum Place<'a, T> {
    /// In memory of this job.
    Own(Array<T>),
    /// In memory of this job, as bytes that kernels widen when they read them.
    Bytes(Array<u8>),
    /// In memory of the caller.
    Theirs(Span<'a>),
}

impl<T: Number> Place<'_, T> {
    /// As a kernel's argument.
    pub fn arg(&self) -> Arg<'_> {
        match self {
            Self::Own(array) => read(array),
            Self::Bytes(array) => read(array),
            Self::Theirs(span) => Arg::In(*span),
        }
    }

    /// The name of the type they are stored in.
    pub fn stored(&self) -> &'static str {
        if matches!(self, Self::Bytes(_)) { u8::STORED } else { T::STORED }
    }

    /// Bytes of a value as it is stored.
    pub fn size(&self) -> u32 {
        if matches!(self, Self::Bytes(_)) { 1 } else { size_of::<T>() as u32 }
    }

    /// Whether kernels that copy 16 bytes at once can read it.
    pub fn is_aligned(&self) -> bool {
        match self.arg() {
            Arg::In(span) => span.is_aligned(),
            _ => false,
        }
    }
}

/// Points in device memory, and what kernels are told about them again and again.
pub struct Data<'a, T> {
    pub stream: Stream,
    pub facts: &'a Facts,
    pub points: Place<'a, T>,
    /// The weights, or an array that nobody reads.
    pub weights: Array<f64>,
    /// What all starts of a fit need of the points, once it is known.
    pub known: Known,
}

/// Exact sums over all points, each made when it is first asked for.
#[derive(Default)]
pub struct Known {
    /// Σ w·|x|².
    pub squares: OnceCell<ExactSum>,
    /// The mean variance of the columns.
    pub variance: OnceCell<f64>,
}

impl<'a, T: Number> Data<'a, T> {
    /// Points that are on the device already.
    pub fn new(stream: Stream, facts: &'a Facts, points: Place<'a, T>) -> Result<Self, Error> {
        let weights = match &facts.weights {
            Some(weights) => stream.upload(weights)?,
            None => stream.zeros(1)?,
        };
        Ok(Self { stream, facts, points, weights, known: Known::default() })
    }

    /// Points.
    pub fn n(&self) -> u64 {
        self.facts.n as u64
    }

    /// Columns.
    pub fn d(&self) -> u32 {
        self.facts.d as u32
    }

    /// Bytes of an element.
    pub const SIZE: u32 = size_of::<T>() as u32;

    /// 1 if there are weights.
    pub fn weighted(&self) -> Arg<'static> {
        Arg::U32(self.facts.weights.is_some() as u32)
    }

    /// Runs a kernel on the points' stream.
    pub fn launch(
        &self,
        kernel: &launch::Kernel,
        geometry: launch::Geometry,
        arguments: &[Arg<'_>],
    ) -> Result<(), Error> {
        self.stream.launch(kernel, self.points.stored(), geometry, arguments)
    }

    /// D of every row to the centroid of its label.
    pub fn own_distances(&self, centroids: &Array<T>, labels: &Array<u32>) -> Result<Array<f64>, Error> {
        let mut distances = self.stream.array(self.facts.n)?;
        let arguments = [
            self.points.arg(),
            read(centroids),
            read(labels),
            write(&mut distances),
            Arg::U64(self.n()),
            Arg::U32(self.d()),
        ];
        self.launch(&launch::DISTANCE_OWN, launch::DISTANCE_OWN.thread_each(self.n()), &arguments)?;
        Ok(distances)
    }

    /// Some rows, still on the device.
    pub fn gather(&self, rows: &Array<u64>, count: usize) -> Result<Array<T>, Error> {
        let mut gathered = self.stream.array(count * self.facts.d)?;
        let arguments = [
            self.points.arg(),
            read(rows),
            write(&mut gathered),
            Arg::U64(self.n()),
            Arg::U64(count as u64),
            Arg::U32(self.d()),
        ];
        self.launch(&launch::ROWS_GATHER, launch::rows_gather(count as u64), &arguments)?;
        Ok(gathered)
    }
}

/// A row-major matrix on the device, from a view of any layout.
pub fn upload_matrix<T: Number>(stream: &Stream, view: ArrayView2<'_, T>) -> Result<Array<T>, Error> {
    match view.to_slice() {
        Some(all) => stream.upload(all),
        None => stream.upload(&view.iter().copied().collect::<Vec<T>>()),
    }
}

/// An engine's job on a GPU.
pub struct CudaJob<'a, T> {
    pub(super) data: Data<'a, T>,
    assigner: Assigner<T>,
    labels: Option<Array<u32>>,
    kept: Option<Array<u32>>,
}

impl<'a, T: Number> CudaJob<'a, T> {
    /// Copies `points` to the device.
    pub fn load(stream: Stream, points: &'a Points<'_, T>, task: Task) -> Result<Self, Error> {
        let facts = points.facts();
        let size = if matches!(points.source(), Source::Bytes(_)) { 1 } else { size_of::<T>() };
        stream.require(memory::needed::<T>(facts, task, (facts.n * facts.d * size) as u64))?;
        let place = match points.source() {
            Source::View(view) => Place::Own(copy_points(&stream, view)?),
            Source::Bytes(bytes) => Place::Bytes(copy_bytes(&stream, bytes)?),
        };
        Ok(Self::new(Data::new(stream, facts, place)?))
    }

    /// For points that are on the device.
    pub fn new(data: Data<'a, T>) -> Self {
        Self { data, assigner: Assigner::new(), labels: None, kept: None }
    }

    /// The labels put aside, else the last ones, on the device.
    pub fn take_labels(&mut self) -> Option<Array<u32>> {
        self.kept.take().or_else(|| self.labels.take())
    }
}

/// The bytes of points, without those between rows.
fn copy_bytes(stream: &Stream, bytes: Bytes<'_>) -> Result<Array<u8>, Error> {
    if let Some(all) = bytes.packed() {
        return stream.upload(all);
    }
    let (n, d) = bytes.dim();
    let mut array = stream.array(n * d)?;
    stream.fill(&mut array, n * d, |range, chunk| {
        chunk.par_chunks_mut(TOGETHER).enumerate().for_each(|(i, to)| {
            let first = range.start + i * TOGETHER;
            let (mut row, mut column) = (first / d, first % d);
            for value in to {
                *value = bytes.row(row)[column];
                column += 1;
                if column == d {
                    (row, column) = (row + 1, 0);
                }
            }
        });
    })?;
    Ok(array)
}

/// All points in their own type.
pub fn copy_widened<T: Number>(stream: &Stream, points: &Points<'_, T>) -> Result<Array<T>, Error> {
    let bytes = match points.source() {
        Source::View(view) => return copy_points(stream, view),
        Source::Bytes(bytes) => bytes,
    };
    let (n, d) = bytes.dim();
    let mut array = stream.array(n * d)?;
    stream.fill(&mut array, n * d, |range, chunk| {
        for (at, value) in range.zip(chunk) {
            *value = T::from_f64(bytes.row(at / d)[at % d] as f64);
        }
    })?;
    Ok(array)
}

/// Rows in blocks through pinned memory, in parallel.
fn copy_points<T: Number>(stream: &Stream, view: ArrayView2<'_, T>) -> Result<Array<T>, Error> {
    let (len, d) = (view.len(), view.ncols());
    if let Some(all) = view.to_slice() {
        return stream.upload(all);
    }
    let mut array = stream.array(len)?;
    stream.fill(&mut array, len, |range, chunk| {
        chunk.par_chunks_mut(TOGETHER).enumerate().for_each(|(i, to)| {
            let (mut row, mut column) = ((range.start + i * TOGETHER) / d, (range.start + i * TOGETHER) % d);
            for value in to {
                *value = view[[row, column]];
                column += 1;
                if column == d {
                    (row, column) = (row + 1, 0);
                }
            }
        });
    })?;
    Ok(array)
}

impl<T: Number> Job<T> for CudaJob<'_, T> {
    fn rows(&mut self, rows: &[usize]) -> Result<Array2<T>, Error> {
        let stream = &self.data.stream;
        let indices = stream.upload(&rows.iter().map(|&row| row as u64).collect::<Vec<_>>())?;
        let gathered = self.data.gather(&indices, rows.len())?;
        let values = stream.download(&gathered, rows.len() * self.data.facts.d)?;
        Ok(Array2::from_shape_vec((rows.len(), self.data.facts.d), values).expect("as many values as gathered"))
    }

    fn random_label_start(&mut self, k: usize, random: &Random) -> Result<Array2<T>, Error> {
        let n = self.data.facts.n;
        let vacancies: Vec<u64> = (0..k).map(|c| vacancy_row(c, n, random) as u64).collect();
        let vacancies = self.data.stream.upload(&vacancies)?;
        let old = self.data.gather(&vacancies, k)?;
        let mut labels = self.data.stream.array::<u32>(n)?;
        let (seed, restart) = random.parts();
        let arguments = [write(&mut labels), Arg::U64(seed), Arg::U32(restart), Arg::U64(n as u64), Arg::U32(k as u32)];
        self.data.launch(&launch::LABELS_RANDOM, launch::LABELS_RANDOM.thread_each(n as u64), &arguments)?;
        let mut sums = Sums::new(&self.data, k)?;
        sums.add_up(&self.data, &labels)?;
        let mut centroids = self.data.stream.array(k * self.data.facts.d)?;
        sums.divide(&self.data, &old, &mut centroids)?;
        let values = self.data.stream.download(&centroids, k * self.data.facts.d)?;
        Ok(Array2::from_shape_vec((k, self.data.facts.d), values).expect("k·d values"))
    }

    fn plus_plus(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error> {
        seeding::plus_plus(&self.data, k, random, observe)
    }

    fn parallel(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error> {
        seeding::parallel(&self.data, &mut self.assigner, k, random, observe)
    }

    fn lloyd(&mut self, start: Array2<T>, settings: &Settings, observe: OnIteration<'_>) -> Result<Outcome<T>, Error> {
        // The labels of a start before this one need not stay.
        self.labels = None;
        let (outcome, labels) = lloyd::lloyd(&self.data, &mut self.assigner, start, settings, observe)?;
        self.labels = Some(labels);
        Ok(outcome)
    }

    fn assign(&mut self, centroids: ArrayView2<'_, T>) -> Result<(), Error> {
        let k = centroids.nrows();
        let centroids = upload_matrix(&self.data.stream, centroids)?;
        let mut labels = self.data.stream.array(self.data.facts.n)?;
        if self.data.facts.n > 0 {
            self.assigner.assign(&self.data, &centroids, k, &mut labels)?;
        }
        self.labels = Some(labels);
        Ok(())
    }

    fn inertia(&mut self, centroids: ArrayView2<'_, T>) -> Result<f64, Error> {
        let data = &self.data;
        let Some(labels) = self.labels.as_ref().filter(|_| data.facts.n > 0) else { return Ok(0.0) };
        let k = centroids.nrows();
        let mut sums = Sums::new(data, k)?;
        sums.add_up(data, labels)?;
        let inertia = Inertia::new(data, &sums, start_range(data.facts, centroids.view()))?;
        let centroids = upload_matrix(&data.stream, centroids)?;
        inertia.of(data, &sums, &centroids)
    }

    fn transform(&mut self, centroids: ArrayView2<'_, T>) -> Result<Array2<f64>, Error> {
        let data = &self.data;
        let (n, k) = (data.facts.n, centroids.nrows());
        let mut out = Array2::zeros((n, k));
        let centroids = upload_matrix(&data.stream, centroids)?;
        let step = (DISTANCE_BYTES / (8 * k as u64)).clamp(1, n.max(1) as u64);
        let mut distances = data.stream.array::<f64>((step * k as u64) as usize)?;
        let all = out.as_slice_mut().expect("made in standard layout");
        for first in (0..n as u64).step_by(step as usize) {
            let rows = step.min(n as u64 - first);
            let arguments = [
                data.points.arg(),
                read(&centroids),
                write(&mut distances),
                Arg::U64(first),
                Arg::U64(rows),
                Arg::U32(k as u32),
                Arg::U32(data.d()),
            ];
            data.launch(&launch::DISTANCE_COALESCED, launch::distance(rows, k as u32, Data::<T>::SIZE), &arguments)?;
            let part = &mut all[first as usize * k..][..rows as usize * k];
            data.stream.download_into(&distances, 0, part)?;
            part.par_iter_mut().for_each(|d| *d = d.sqrt());
        }
        Ok(out)
    }

    fn keep(&mut self) {
        self.kept = self.labels.take();
    }

    fn labels(&mut self) -> Result<Vec<u32>, Error> {
        let labels = self.take_labels();
        labels.map_or(Ok(Vec::new()), |labels| self.data.stream.download(&labels, self.data.facts.n))
    }
}
