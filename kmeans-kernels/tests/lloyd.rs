//! Whole fits by kernels equal the reference's fits: labels, centroids, counts, movement and rounds.

mod common;

use common::{Data, bits, format, launch, numbers, words};
use kmeans_core::launch::{self as contract, Geometry, Kernel};
use kmeans_core::reference;
use kmeans_core::rng::Random;
use kmeans_core::seeding::random_label;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::device::{In, Number, Out};
use kmeans_kernels::update::fixed::{Narrow, Wide};
use kmeans_kernels::{assign, count, scale, update};

type Assign<T> = fn(In<T>, In<T>, Out<u32>, u64, u32, u32);

/// Lloyd's loop with every step a kernel, until labels repeat; empty clusters keep their centroids.
struct Loop<'a, T> {
    emulator: Emulator,
    points: Buffer<T>,
    shape: (u64, u32, u32),
    exponent: i32,
    words: u32,
    assign: (&'a Kernel, Geometry, Assign<T>),
}

impl<T: Number> Loop<'_, T> {
    fn labels(&self, centroids: &Buffer<T>) -> Buffer<u32> {
        let (n, k, d) = self.shape;
        let labels = self.emulator.uninitialised("labels", n as usize);
        launch(&self.emulator, self.assign.0, self.assign.1, || {
            (self.assign.2)(self.points.input(), centroids.input(), labels.output(), n, k, d);
        });
        labels
    }

    fn counts(&self, labels: &Buffer<u32>) -> Buffer<u64> {
        let (n, k, _) = self.shape;
        let counts = self.emulator.buffer("counts", &vec![0; k as usize]);
        launch(&self.emulator, &contract::COUNT_HISTOGRAM, contract::count_histogram(n, k), || {
            count::histogram::histogram(labels.input(), counts.output(), n, k);
        });
        counts
    }

    fn updated(&self, old: &Buffer<T>, labels: &Buffer<u32>) -> Buffer<T> {
        let (n, k, d) = self.shape;
        let counts = self.counts(labels);
        let sums = self.emulator.buffer("sums", &vec![0; (k * d * self.words) as usize]);
        let centroids = self.emulator.uninitialised("centroids", (k * d) as usize);
        let geometry = contract::sum_per_block(n, k, d, self.words);
        let (sum, divide) = match self.words {
            1 => (&contract::SUM_PER_BLOCK_NARROW, &contract::SCALE_DIVIDE_NARROW),
            _ => (&contract::SUM_PER_BLOCK_WIDE, &contract::SCALE_DIVIDE_WIDE),
        };
        launch(&self.emulator, sum, geometry, || {
            let (x, l, s) = (self.points.input(), labels.input(), sums.output());
            match self.words {
                1 => update::per_block::per_block::<T, Narrow>(x, l, s, self.exponent, 1, n, k, d),
                _ => update::per_block::per_block::<T, Wide>(x, l, s, self.exponent, 2, n, k, d),
            }
        });
        launch(&self.emulator, divide, divide.blocks(k as u64, 0), || {
            let (s, c, old, new) = (sums.input(), counts.input(), old.input(), centroids.output());
            match self.words {
                1 => scale::divide::divide::<T, Narrow>(s, c, old, new, self.exponent, d),
                _ => scale::divide::divide::<T, Wide>(s, c, old, new, self.exponent, d),
            }
        });
        centroids
    }

    fn movement(&self, new: &Buffer<T>, old: &Buffer<T>) -> f64 {
        let (_, k, d) = self.shape;
        let moved = self.emulator.uninitialised("moved", k as usize);
        launch(&self.emulator, &contract::SCALE_MOVED, contract::SCALE_MOVED.thread_each(k as u64), || {
            scale::moved::moved(new.input(), old.input(), moved.output(), k, d);
        });
        moved.to_vec().iter().sum()
    }

    fn changed(&self, before: &Buffer<u32>, labels: &Buffer<u32>) -> u64 {
        let n = self.shape.0;
        let changed = self.emulator.buffer("changed", &[0]);
        launch(&self.emulator, &contract::COUNT_CHANGED, contract::COUNT_CHANGED.thread_each(n), || {
            count::changed::changed(before.input(), labels.input(), changed.output(), n);
        });
        changed.to_vec()[0]
    }
}

fn check<T: Number>(data: Data, (n, k, d): (usize, usize, usize), assign: (&Kernel, Geometry, Assign<T>)) {
    let points = numbers::<T>(data, n * d, 11);
    let start = &points[..k * d];
    let settings = Settings { max_iter: 100, stop: Stop::LabelsRepeat, empty: EmptyCluster::Keep };
    let expected = reference::lloyd(&points, d, None, start, &settings).unwrap();

    let format = format(&points);
    let emulator = Emulator::new(n as u64);
    let buffer = emulator.buffer("points", &points);
    let mut centroids = emulator.buffer("centroids", start);
    let shape = (n as u64, k as u32, d as u32);
    let fit = Loop { emulator, points: buffer, shape, exponent: format.exponent, words: words(format), assign };
    assert!(fit.words <= 2);
    let mut labels: Option<Buffer<u32>> = None;
    for round in &expected.history {
        let assigned = fit.labels(&centroids);
        let changed = labels.as_ref().map_or(n as u64, |before| fit.changed(before, &assigned));
        assert_eq!(changed, round.labels_changed);
        labels = Some(assigned);
        if changed > 0 {
            let updated = fit.updated(&centroids, labels.as_ref().unwrap());
            assert_eq!(fit.movement(&updated, &centroids), round.movement);
            centroids = updated;
        }
    }
    let labels = labels.unwrap();
    assert!(expected.converged && expected.iterations > 2, "a fit of {} rounds shows little", expected.iterations);
    assert_eq!(labels.to_vec(), expected.labels);
    assert_eq!(bits(&centroids.to_vec()), bits(&expected.centroids));
    assert_eq!(fit.counts(&labels).to_vec(), expected.counts);
}

fn each_assignment<T: Number>() {
    for (data, shape) in [(Data::Grid, (500, 7, 3)), (Data::Unit, (301, 20, 5)), (Data::Offset, (200, 5, 2))] {
        let n = shape.0 as u64;
        let direct = &contract::ASSIGN_DIRECT;
        check::<T>(data, shape, (direct, direct.thread_each(n), assign::direct::direct));
        check::<T>(data, shape, (&contract::ASSIGN_TILED, contract::assign_tiled(n, T::SIZE), assign::tiled::tiled));
        if T::SIZE < 8 {
            let filtered = (&contract::ASSIGN_FILTERED, contract::assign_filtered(n), assign::filtered::filtered as _);
            check::<T>(data, shape, filtered);
        }
    }
}

#[test]
fn fits_by_kernels_equal_the_references() {
    each_assignment::<f32>();
    each_assignment::<f64>();
}

#[test]
fn random_labels_are_the_references() {
    for (n, k, seed, restart) in [(1, 1, 0, 0), (1000, 80, 7, 3), (333, 100_000, u64::MAX, 1)] {
        let emulator = Emulator::new(seed);
        let labels = emulator.uninitialised("labels", n);
        let kernel = &contract::LABELS_RANDOM;
        launch(&emulator, kernel, kernel.thread_each(n as u64), || {
            kmeans_kernels::labels::random::random(labels.output(), seed, restart, n as u64, k as u32);
        });
        let random = Random::new(seed, restart);
        assert_eq!(labels.to_vec(), (0..n).map(|i| random_label(i, k, &random)).collect::<Vec<_>>());
    }
}
