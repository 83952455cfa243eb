//! Seeding by kernels picks the rows that the reference picks.

mod common;

use common::{Data, launch, numbers};
use kmeans_core::distance;
use kmeans_core::distance::nearest as nearest_of;
use kmeans_core::exact::ExactSum;
use kmeans_core::launch::{self as contract, Geometry, SEED_ROWS, SEED_TRIALS};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{self as reference, PARALLEL_ROUNDS};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::seeding::{NO_ROW, amounts, choose, draw, nearest, parallel, potentials};

/// What seeding works on.
struct Seeding<T> {
    emulator: Emulator,
    points: Buffer<T>,
    weights: Buffer<f64>,
    nearest: Buffer<f64>,
    largest: Buffer<u64>,
    sums: Buffer<u64>,
    weighted: u32,
    n: u64,
    d: u32,
    seed: u64,
    restart: u32,
    /// Most blocks of kernels that go round over their items.
    most: u32,
}

impl<T: Number> Seeding<T> {
    fn new(points: &[T], d: usize, weights: Option<&[f64]>, (seed, restart): (u64, u32)) -> Self {
        let emulator = Emulator::new(seed);
        let n = points.len() / d;
        Self {
            points: emulator.buffer("points", points),
            // Not read without weights: an array of one.
            weights: emulator.buffer("weights", weights.unwrap_or(&[f64::NAN])),
            nearest: emulator.uninitialised("nearest", n),
            largest: emulator.buffer("largest", &[0]),
            sums: emulator.uninitialised("sums", contract::seed_blocks(n as u64) as usize),
            weighted: weights.is_some() as u32,
            n: n as u64,
            d: d as u32,
            emulator,
            seed,
            restart,
            // As few as make them go round, for some seeds.
            most: if seed.is_multiple_of(2) { 2 } else { u32::MAX },
        }
    }

    fn going_round(&self, geometry: Geometry) -> Geometry {
        Geometry { grid: [geometry.grid[0].min(self.most), 1], ..geometry }
    }

    fn amounts(&self) {
        launch(&self.emulator, &contract::SEED_AMOUNTS, contract::seed_amounts(self.n), || {
            let (nearest, weights, largest) = (self.nearest.input(), self.weights.input(), self.largest.input());
            amounts::amounts(nearest, weights, largest, self.sums.output(), self.weighted, self.n);
        });
    }

    fn nearest(&self, row: &Buffer<u64>, first: u32) {
        launch(
            &self.emulator,
            &contract::SEED_NEAREST,
            self.going_round(contract::seed_nearest(self.n, T::SIZE)),
            || {
                nearest::nearest(
                    self.points.input(),
                    row.input(),
                    self.nearest.output(),
                    self.weights.input(),
                    self.largest.output(),
                    self.weighted,
                    first,
                    self.n,
                    self.d,
                );
            },
        );
    }

    /// The rows of k-means++ from the first on; ends where there is nothing to draw from.
    fn plus_plus(&self, first: usize, k: usize, trials: u32, purpose: Purpose) -> Vec<u64> {
        let picked = self.emulator.buffer("picked", &vec![first as u64; k]);
        let row = self.emulator.buffer("row", &[first as u64]);
        let rows = self.emulator.uninitialised::<u64>("rows", trials as usize);
        let left = self.emulator.buffer("potentials", &vec![0_u64; trials as usize]);
        self.nearest(&row, 1);
        let (nearest, weights, largest) = (self.nearest.input(), self.weights.input(), self.largest.input());
        for step in 1..k as u32 {
            self.amounts();
            launch(&self.emulator, &contract::SEED_DRAW, contract::seed_draw(trials), || {
                draw::draw(
                    nearest,
                    weights,
                    largest,
                    self.sums.input(),
                    rows.output(),
                    self.weighted,
                    contract::seed_blocks(self.n),
                    self.seed,
                    self.restart,
                    purpose as u32,
                    step,
                    self.n,
                );
            });
            launch(
                &self.emulator,
                &contract::SEED_POTENTIALS,
                self.going_round(contract::seed_potentials(self.n, T::SIZE)),
                || {
                    potentials::potentials(
                        self.points.input(),
                        rows.input(),
                        nearest,
                        weights,
                        largest,
                        left.output(),
                        self.weighted,
                        trials,
                        self.n,
                        self.d,
                    );
                },
            );
            launch(&self.emulator, &contract::SEED_CHOOSE, contract::SEED_CHOOSE.blocks(1, 0), || {
                let (rows, left, largest) = (rows.input(), left.output(), self.largest.output());
                choose::choose(rows, left, largest, picked.output(), row.output(), trials, step);
            });
            self.nearest(&row, 0);
        }
        picked.to_vec()
    }
}

fn weights(n: usize, seed: u64) -> Vec<f64> {
    let random = Random::new(seed, 1);
    (0..n as u64).map(|i| random.below(5, Purpose::Point, 0, i) as f64 * 0.3).collect()
}

fn check_plus_plus<T: Number>(data: Data, (n, k, d): (usize, usize, usize), trials: u32, seed: u64) {
    let points = numbers::<T>(data, n * d, seed);
    let weights = weights(n, seed);
    for (weights, purpose) in [(None, Purpose::PlusPlus), (Some(&weights[..]), Purpose::Reduce)] {
        let random = Random::new(seed, 3);
        let expected = reference::plus_plus(&points, d, weights, k, trials as usize, &random, purpose);
        let first = reference::first_row(n, weights, &random, purpose);
        let found = Seeding::new(&points, d, weights, (seed, 3)).plus_plus(first, k, trials, purpose);
        let what = format!("{} {data:?} n {n} k {k} d {d} trials {trials}", T::NAME);
        // Where all rows coincide with one picked, the reference draws uniformly: the host's part.
        let drawn = found.iter().position(|&row| row == NO_ROW).unwrap_or(k);
        assert!(found[drawn..].iter().all(|&row| row == NO_ROW), "{what}");
        let mut near = vec![f64::INFINITY; n];
        for &row in &expected[..drawn] {
            for (i, near) in near.iter_mut().enumerate() {
                *near = near.min(distance(&points[i * d..][..d], &points[row * d..][..d]));
            }
        }
        let exhausted = (0..n).all(|i| near[i] * weights.map_or(1.0, |w| w[i]) == 0.0);
        assert!(drawn == k || exhausted, "{what}");
        let expected: Vec<u64> = expected[..drawn].iter().map(|&row| row as u64).collect();
        assert_eq!(found[..drawn], expected, "{what}");
    }
}

fn plus_plus<T: Number>() {
    let rows = SEED_ROWS as usize;
    let shapes = [
        (1, 1, 1, 2),
        (2, 2, 3, 2),
        (127, 5, 31, 3),
        (128, 4, 32, 2),
        (129, 4, 33, 1),
        (300, 8, 70, 4),
        (rows - 1, 3, 1, 3),
        (rows, 3, 2, 2),
        (rows + 1, 4, 3, 3),
    ];
    for (seed, (n, k, d, trials)) in (0..).zip(shapes) {
        for data in [Data::Grid, Data::Unit] {
            check_plus_plus::<T>(data, (n, k, d), trials, seed);
        }
    }
}

#[test]
fn plus_plus_picks_the_references_rows() {
    for_each_type!(plus_plus());
}

#[test]
fn plus_plus_goes_on_over_many_ranges_and_trials() {
    check_plus_plus::<f32>(Data::Unit, (5 * SEED_ROWS as usize + 77, 3, 2), SEED_TRIALS, 5);
    for trials in [SEED_TRIALS - 1, SEED_TRIALS, SEED_TRIALS + 1, 2 * SEED_TRIALS + 3] {
        check_plus_plus::<f64>(Data::Offset, (200, 4, 35), trials, 9);
    }
}

#[test]
fn plus_plus_stops_where_all_rows_coincide_with_a_row_picked() {
    check_plus_plus::<f32>(Data::Same, (40, 6, 3), 3, 1);
    // Three places: nothing left after three picks, whatever the schedule.
    let points: Vec<f64> = (0..50).map(|i| f64::from(i % 3)).collect();
    for seed in 0..5 {
        let found = Seeding::new(&points, 1, None, (seed, 0)).plus_plus(4, 6, 3, Purpose::PlusPlus);
        assert!(found[..3].iter().all(|&row| row < 50));
        assert_eq!(found[3..], [NO_ROW; 3]);
    }
}

#[test]
fn the_first_of_equally_good_trials_is_picked() {
    for (potentials, best) in [([5, 3, 3, 4], 1), ([2, 2, 2, 2], 0), ([9, 8, 7, 7], 2), ([u64::MAX; 4], 0)] {
        let emulator = Emulator::new(1);
        let rows = emulator.buffer("rows", &[40_u64, 30, 20, 10]);
        let (left, largest) = (emulator.buffer("potentials", &potentials), emulator.buffer("largest", &[7_u64]));
        let (picked, row) = (emulator.buffer("picked", &[0_u64; 3]), emulator.uninitialised::<u64>("row", 1));
        launch(&emulator, &contract::SEED_CHOOSE, contract::SEED_CHOOSE.blocks(1, 0), || {
            choose::choose(rows.input(), left.output(), largest.output(), picked.output(), row.output(), 4, 2);
        });
        let expected = rows.to_vec()[best];
        assert_eq!((row.to_vec(), picked.to_vec()), (vec![expected], vec![0, 0, expected]));
        assert_eq!((left.to_vec(), largest.to_vec()), (vec![0; 4], vec![0]));
    }
}

#[test]
fn extreme_costs_are_drawn_as_the_reference_does() {
    check_plus_plus::<f32>(Data::Extreme, (200, 5, 3), 3, 2);
    check_plus_plus::<half::bf16>(Data::Extreme, (200, 5, 3), 3, 4);
}

/// k-means|| with every pass over the rows a kernel; assignments to new candidates are the host's here.
fn parallel_rows<T: Number>(points: &[T], d: usize, weights: Option<&[f64]>, k: usize, seed: u64) -> Vec<usize> {
    let n = points.len() / d;
    let random = Random::new(seed, 2);
    let row = |i: usize| &points[i * d..][..d];
    let state = Seeding::new(points, d, weights, (seed, 2));
    let blocks = contract::seed_blocks(n as u64);
    let owner = state.emulator.uninitialised::<u32>("owner", n);
    let mut candidates = vec![reference::first_row(n, weights, &random, Purpose::Parallel)];
    let merge = |new: &[usize], base: usize| {
        let centroids: Vec<T> = new.iter().flat_map(|&c| row(c).iter().copied()).collect();
        let (labels, distances): (Vec<u32>, Vec<f64>) = (0..n).map(|i| nearest_of(row(i), &centroids)).unzip();
        let labels = state.emulator.buffer("labels", &labels);
        let distances = state.emulator.buffer("distances", &distances);
        launch(
            &state.emulator,
            &contract::PARALLEL_MERGE,
            state.going_round(contract::parallel_merge(n as u64)),
            || {
                parallel::merge(
                    distances.input(),
                    labels.input(),
                    state.nearest.output(),
                    owner.output(),
                    state.weights.input(),
                    state.largest.output(),
                    state.weighted,
                    base as u32,
                    (base == 0) as u32,
                    n as u64,
                );
            },
        );
    };
    merge(&candidates, 0);
    for round in 1..=PARALLEL_ROUNDS {
        if state.largest.to_vec()[0] == 0 {
            break;
        }
        state.amounts();
        let counts = state.emulator.uninitialised::<u64>("counts", blocks as usize);
        let (nearest, weights, largest) = (state.nearest.input(), state.weights.input(), state.largest.input());
        launch(
            &state.emulator,
            &contract::PARALLEL_COUNT,
            state.going_round(contract::parallel_count(n as u64)),
            || {
                let (sums, counts, weighted) = (state.sums.input(), counts.output(), state.weighted);
                parallel::count(nearest, weights, largest, sums, counts, weighted, k as u32, round, seed, 2, n as u64);
            },
        );
        let offsets = state.emulator.uninitialised::<u64>("offsets", blocks as usize);
        let total = state.emulator.uninitialised::<u64>("total", 1);
        launch(&state.emulator, &contract::PARALLEL_OFFSETS, contract::parallel_offsets(), || {
            parallel::offsets(counts.input(), offsets.output(), total.output(), blocks);
        });
        let rows = state.emulator.uninitialised::<u64>("rows", total.to_vec()[0] as usize);
        launch(
            &state.emulator,
            &contract::PARALLEL_WRITE,
            state.going_round(contract::parallel_write(n as u64)),
            || {
                let (sums, offsets, weighted) = (state.sums.input(), offsets.input(), state.weighted);
                let (k, n, rows) = (k as u32, n as u64, rows.output());
                parallel::write(nearest, weights, largest, sums, offsets, rows, weighted, k, round, seed, 2, n);
            },
        );
        let new: Vec<usize> = rows.to_vec().into_iter().map(|row| row as usize).collect();
        if !new.is_empty() {
            state.largest.set(0, 0);
            merge(&new, candidates.len());
        }
        candidates.extend(new);
    }
    let mut masses = vec![ExactSum::new(); candidates.len()];
    for (i, &owner) in owner.to_vec().iter().enumerate() {
        masses[owner as usize].add(weights.map_or(1.0, |w| w[i]));
    }
    let masses: Vec<f64> = masses.iter().map(ExactSum::to_f64).collect();
    let chosen: Vec<T> = candidates.iter().flat_map(|&c| row(c).iter().copied()).collect();
    reference::reduce(&candidates, n, k, &random, |k, trials| {
        reference::plus_plus(&chosen, d, Some(&masses), k, trials, &random, Purpose::Reduce)
    })
}

fn parallel_picks<T: Number>() {
    let rows = SEED_ROWS as usize;
    let shapes = [(1, 1, 1), (50, 3, 4), (rows - 1, 20, 2), (rows, 5, 2), (2 * rows + 1, 40, 1)];
    for (seed, (n, k, d)) in (0..).zip(shapes) {
        for data in [Data::Grid, Data::Unit] {
            let points = numbers::<T>(data, n * d, seed);
            let weights = weights(n, seed);
            for weights in [None, Some(&weights[..])] {
                let expected = reference::parallel(&points, d, weights, k, &Random::new(seed, 2));
                assert_eq!(parallel_rows(&points, d, weights, k, seed), expected, "{} n {n} k {k}", T::NAME);
            }
        }
    }
}

#[test]
fn k_means_parallel_picks_the_references_rows() {
    for_each_type!(parallel_picks());
}
