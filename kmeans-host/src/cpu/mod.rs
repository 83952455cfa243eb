//! The CPU engine: parallel over blocks of rows, vectorised for the processor it runs on.

mod assign;
mod bounds;
mod cluster_sums;
mod empty;
mod filter;
mod frame;
mod groups;
mod inertia;
mod line;
mod lloyd;
mod move_rows;
mod seeding;
mod several;
mod small;
mod sums;
mod sums_by_cluster;
#[cfg(test)]
mod tests;
mod tile;

use kmeans_core::Scalar;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{random_label, trials, vacancy_row};
use kmeans_core::settings::Settings;
use ndarray::{Array2, ArrayView2};
use pulp::Arch;
use rayon::prelude::*;

use self::assign::{Assigner, Scratch};
use self::frame::Frame;
use self::groups::CpuGroups;
use self::move_rows::sums_of;
use self::several::Several;
use crate::Error;
use crate::engine::{Engine, Groups, Job, OnIteration, OnSeeding, Outcome, Task};
use crate::points::Points;

/// Runs on the threads of the current rayon pool.
pub(crate) struct CpuEngine {
    arch: Arch,
}

impl CpuEngine {
    /// For the instruction set of this processor.
    pub fn new() -> Self {
        Self { arch: Arch::new() }
    }
}

impl<T: Scalar> Engine<T> for CpuEngine {
    fn name(&self) -> String {
        let vectors = match self.arch {
            Arch::Scalar => "no vectors",
            #[cfg(target_arch = "x86_64")]
            Arch::V3(_) => "AVX2",
            #[cfg(target_arch = "x86_64")]
            Arch::V4(_) => "AVX-512",
            _ => "SIMD",
        };
        let threads = rayon::current_num_threads();
        format!("cpu ({vectors}, {threads} thread{})", if threads == 1 { "" } else { "s" })
    }

    fn is_gpu(&self) -> bool {
        false
    }

    fn load<'a>(&self, points: &'a Points<'_, T>, _: Task) -> Result<Box<dyn Job<T> + 'a>, Error> {
        Ok(Box::new(CpuJob::new(self.arch, points)))
    }

    fn load_groups<'a>(&self, points: &'a Points<'_, T>, _: usize) -> Result<Box<dyn Groups<T> + 'a>, Error> {
        Ok(Box::new(CpuGroups::new(self.arch, points)))
    }
}

/// Work on points in the caller's memory.
struct CpuJob<'a, 'p, T> {
    arch: Arch,
    points: &'a Points<'p, T>,
    labels: Vec<u32>,
    kept: Option<Vec<u32>>,
}

impl<'a, 'p, T: Scalar> CpuJob<'a, 'p, T> {
    fn new(arch: Arch, points: &'a Points<'p, T>) -> Self {
        Self { arch, points, labels: Vec::new(), kept: None }
    }
}

impl<T: Scalar> Job<T> for CpuJob<'_, '_, T> {
    fn rows(&mut self, rows: &[usize]) -> Result<Array2<T>, Error> {
        Ok(self.points.select(rows))
    }

    fn random_label_start(&mut self, k: usize, random: &Random) -> Result<Array2<T>, Error> {
        let n = self.points.n();
        let labels: Vec<u32> = (0..n).into_par_iter().map(|i| random_label(i, k, random)).collect();
        let vacancies: Vec<usize> = (0..k).map(|c| vacancy_row(c, n, random)).collect();
        let mut start = self.rows(&vacancies)?.as_standard_layout().into_owned();
        let sums = sums_of(self.arch, self.points, k, &labels);
        let centroids = start.as_slice_mut().expect("made in standard layout");
        let d = self.points.d();
        centroids.par_chunks_exact_mut(d).enumerate().for_each(|(c, centroid)| sums.mean(c, centroid));
        Ok(start)
    }

    fn plus_plus(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error> {
        seeding::plus_plus(self.arch, self.points, k, trials(k), random, Purpose::PlusPlus, observe)
    }

    fn parallel(&mut self, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error> {
        seeding::parallel(self.arch, self.points, k, random, observe)
    }

    fn lloyd(&mut self, start: Array2<T>, settings: &Settings, observe: OnIteration<'_>) -> Result<Outcome<T>, Error> {
        let (outcome, labels) = lloyd::lloyd(self.arch, self.points, start, settings, observe)?;
        self.labels = labels;
        Ok(outcome)
    }

    fn assign(&mut self, centroids: ArrayView2<'_, T>) -> Result<(), Error> {
        let points = self.points;
        let centroids: Vec<T> = centroids.iter().copied().collect();
        let frame = Frame::new(points);
        let assigner = Assigner::new(self.arch, &frame, &centroids, points.d());
        self.labels = vec![0; points.n()];
        points.blocks().zip(self.labels.par_chunks_mut(points.block_rows())).for_each_init(
            Scratch::new,
            |scratch, (block, labels)| {
                let mut buffer = std::mem::take(&mut scratch.rows);
                assigner.label(points.rows(block, &mut buffer), scratch, labels);
                scratch.rows = buffer;
            },
        );
        Ok(())
    }

    fn inertia(&mut self, centroids: ArrayView2<'_, T>) -> Result<f64, Error> {
        let row_major: Vec<T> = centroids.iter().copied().collect();
        let sums = sums_of(self.arch, self.points, centroids.nrows(), &self.labels);
        let squares = inertia::square_sum(self.arch, self.points, true);
        Ok(inertia::inertia(&squares, &sums, &row_major, self.points.d()))
    }

    fn transform(&mut self, centroids: ArrayView2<'_, T>) -> Result<Array2<f64>, Error> {
        let points = self.points;
        let (n, d, k) = (points.n(), points.d(), centroids.nrows());
        let centroids: Vec<T> = centroids.iter().copied().collect();
        let several = Several::new(centroids.chunks_exact(d), d);
        let mut out = vec![0.0; n * k];
        points.blocks().zip(out.par_chunks_mut(points.block_rows() * k)).for_each_init(
            Vec::new,
            |scratch, (block, out)| {
                several.distances(self.arch, points.rows(block, scratch), |i, distances| {
                    for (o, d) in out[i * k..].iter_mut().zip(distances) {
                        *o = d.sqrt();
                    }
                });
            },
        );
        Ok(Array2::from_shape_vec((n, k), out).expect("n·k values"))
    }

    fn keep(&mut self) {
        self.kept = Some(std::mem::take(&mut self.labels));
    }

    fn labels(&mut self) -> Result<Vec<u32>, Error> {
        Ok(self.kept.take().unwrap_or_else(|| std::mem::take(&mut self.labels)))
    }
}
