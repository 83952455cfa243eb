//! Rounds that prune give the reference's labels, and their bounds are bounds.

mod common;

use common::{Data, launch, numbers};
use half::{bf16, f16};
use kmeans_core::launch::{self as contract, Geometry, Kernel};
use kmeans_core::reference;
use kmeans_kernels::assign::plan::Slices;
use kmeans_kernels::assign::{halves, settle, tiles};
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::device::{Half, Number};
use kmeans_kernels::prune::stream::{stream_listed, stream_listed_rounded};
use kmeans_kernels::prune::{moved, rows};

/// Multiprocessors of the GPU that is played here: few, so that blocks go several rounds.
const MULTIPROCESSORS: u32 = 2;
/// Room for rows with more than two candidates.
const ROOM: u32 = 20;

/// A fit that prunes, between two rounds.
struct Pruned<'e, T> {
    emulator: &'e Emulator,
    points: Buffer<T>,
    values: Vec<T>,
    d: usize,
    k: usize,
    /// 2ˢ.
    scale: f32,
    upper: Buffer<f32>,
    lower: Buffer<f32>,
    labels: Vec<u32>,
    old: Vec<T>,
    seen: bool,
}

impl<'e, T: Number> Pruned<'e, T> {
    fn new(emulator: &'e Emulator, points: &[T], (k, d): (usize, usize), scale: f32) -> Self {
        let n = points.len() / d;
        Self {
            emulator,
            points: emulator.buffer("points", points),
            values: points.to_vec(),
            d,
            k,
            scale,
            upper: emulator.buffer("upper", &vec![0.0; n]),
            lower: emulator.buffer("lower", &vec![0.0; n]),
            labels: vec![0; n],
            old: Vec::new(),
            seen: false,
        }
    }

    /// One round: how many rows were listed. `compare` labels the rows of a list.
    fn round(&mut self, centroids: &[T], compare: impl Fn(&Buffer<T>, &Listed, (&Buffer<f32>, &Buffer<f32>))) -> usize {
        let (emulator, n, k, d) = (self.emulator, self.labels.len() as u64, self.k as u32, self.d as u32);
        if !self.seen {
            self.old = centroids.to_vec();
            self.seen = true;
        }
        let (current, old) = (emulator.buffer("centroids", centroids), emulator.buffer("old", &self.old));
        let (far, farthest) = (emulator.uninitialised("moved", k as usize), emulator.buffer("farthest", &[0]));
        launch(emulator, &contract::PRUNE_MOVED, contract::prune_moved(k), || {
            moved::moved(current.input(), old.input(), far.output(), farthest.output(), self.scale, k, d);
        });
        let known = emulator.buffer("known", &self.labels);
        let listed = Listed {
            labels: emulator.uninitialised("labels", n as usize),
            others: emulator.uninitialised("others", n as usize),
            list: emulator.uninitialised("list", n as usize),
            count: emulator.buffer("count", &[0]),
            rows: emulator.uninitialised("open rows", ROOM as usize),
            codes: emulator.uninitialised("open codes", ROOM as usize * 8),
            open: emulator.buffer("open", &[0]),
        };
        launch(emulator, &contract::PRUNE_ROWS, contract::prune_rows(n), || {
            rows::rows(
                self.points.input(),
                current.input(),
                known.input(),
                far.input(),
                farthest.input(),
                self.upper.output(),
                self.lower.output(),
                listed.labels.output(),
                listed.others.output(),
                listed.list.output(),
                listed.count.output(),
                self.scale,
                n,
                d,
            );
        });
        compare(&current, &listed, (&self.upper, &self.lower));
        launch(emulator, &contract::ASSIGN_SETTLE, contract::assign_settle(n, MULTIPROCESSORS), || {
            let (rows, codes, open) = (listed.rows.input(), listed.codes.input(), listed.open.input());
            let (points, labels) = (self.points.input(), listed.labels.output());
            let current = current.input();
            settle::settle(points, current, listed.others.input(), rows, codes, open, ROOM, labels, n, k, d);
        });
        self.labels = listed.labels.to_vec();
        self.old = centroids.to_vec();
        listed.count.to_vec()[0] as usize
    }

    /// Asserts that labels are the reference's, and bounds are bounds.
    fn check(&self, what: &str) {
        let d = self.d;
        assert_eq!(self.labels, reference::assign(&self.values, d, &self.old), "{what}");
        let (upper, lower) = (self.upper.to_vec(), self.lower.to_vec());
        for (i, x) in self.values.chunks(d).enumerate() {
            let distance = |c: &[T]| {
                let squares = x.iter().zip(c).map(|(x, c)| ((x.double() - c.double()) * self.scale as f64).powi(2));
                squares.sum::<f64>().sqrt()
            };
            for (k, c) in self.old.chunks(d).enumerate() {
                let distance = distance(c);
                if k as u32 == self.labels[i] {
                    assert!(upper[i] as f64 >= distance * (1.0 - 1e-12), "{what}: row {i}: {} < {distance}", upper[i]);
                } else {
                    assert!(lower[i] as f64 <= distance * (1.0 + 1e-12), "{what}: row {i}: {} > {distance}", lower[i]);
                }
            }
        }
    }
}

/// What a round is about.
struct Listed {
    labels: Buffer<u32>,
    others: Buffer<u32>,
    list: Buffer<u32>,
    count: Buffer<u32>,
    rows: Buffer<u64>,
    codes: Buffer<u32>,
    open: Buffer<u32>,
}

/// Which kernel takes rows of `d` columns, and how it is launched.
fn kernel(n: u64, d: u32, is_rounded: bool) -> (&'static Kernel, Geometry) {
    let short = contract::prune_stream(n, d, MULTIPROCESSORS);
    match (d, is_rounded) {
        (..=64, false) => (&contract::PRUNE_STREAM_64, short),
        (..=64, true) => (&contract::PRUNE_STREAM_64_ROUNDED, short),
        (_, false) => (&contract::PRUNE_STREAM_128, short),
        (_, true) => (&contract::PRUNE_STREAM_128_ROUNDED, short),
    }
}

/// Centroids as tiles: those, and what scores begin with.
fn lay_out<T: Half>(
    emulator: &Emulator,
    centroids: &Buffer<T>,
    norms: &Buffer<f32>,
    largest: &Buffer<u32>,
    (k, d): (u32, u32),
) -> (Buffer<T>, Buffer<T>) {
    let count = k.div_ceil(128) as usize;
    let laid = emulator.uninitialised("tiles", count * d.div_ceil(64) as usize * 128 * 64);
    let starts = emulator.uninitialised("starts", count * 128 * 16);
    let plain = emulator.uninitialised("plain starts", count * 128);
    launch(emulator, &contract::ASSIGN_TILES, contract::assign_tiles(1, k), || {
        let (norms, largest) = (norms.input(), largest.input());
        tiles::tiles(centroids.input(), norms, largest, laid.output(), starts.output(), plain.output(), k, d);
    });
    (laid, starts)
}

/// Rounds over 16-bit points with one set of centroids after the other: how many rows each listed.
fn of_halves<T: Half>(what: &str, points: &[T], sets: &[Vec<T>], d: usize, seed: u64) -> Vec<usize> {
    let (n, k) = ((points.len() / d) as u64, (sets[0].len() / d) as u32);
    let emulator = Emulator::new(seed);
    let mut pruned = Pruned::new(&emulator, points, (k as usize, d), 1.0);
    let width = d as u32;
    let lengths = |matrix: &Buffer<T>, rows: u64| {
        let (norms, largest) = (emulator.uninitialised("norms", rows as usize), emulator.buffer("largest", &[0]));
        launch(&emulator, &contract::ASSIGN_LENGTHS, contract::assign_lengths(rows), || {
            halves::lengths(matrix.input(), norms.output(), largest.output(), rows, width);
        });
        (norms, largest)
    };
    let all = emulator.buffer("points", points);
    let (x_norms, _) = lengths(&all, n);
    let mut counts = Vec::new();
    for (round, centroids) in sets.iter().enumerate() {
        let count = pruned.round(centroids, |centroids, listed, (upper, lower)| {
            let (c_norms, largest) = lengths(centroids, k as u64);
            let (laid, starts) = lay_out(&emulator, centroids, &c_norms, &largest, (k, width));
            let (kernel, geometry) = kernel(n, width, false);
            launch(&emulator, kernel, geometry, || {
                let (x, tiles, norms, largest) = (all.input(), laid.input(), x_norms.input(), largest.input());
                let (list, count, labels) = (listed.list.input(), listed.count.input(), listed.labels.output());
                let (others, upper, lower) = (listed.others.output(), upper.output(), lower.output());
                let (rows, codes, open) = (listed.rows.output(), listed.codes.output(), listed.open.output());
                let stream = if d <= 64 { stream_listed::<T, Slices<1>> } else { stream_listed::<T, Slices<2>> };
                let starts = starts.input();
                stream(
                    x, tiles, starts, norms, largest, list, count, labels, others, upper, lower, rows, codes, open,
                    ROOM, n, k, width,
                );
            });
        });
        pruned.check(&format!("{what} {} round {round}", T::NAME));
        counts.push(count);
    }
    counts
}

/// The same over `f32` points.
fn of_singles(what: &str, points: &[f32], sets: &[Vec<f32>], d: usize, seed: u64) -> Vec<usize> {
    let (n, k, width) = ((points.len() / d) as u64, (sets[0].len() / d) as u32, d.next_multiple_of(16) as u32);
    let largest = points.iter().chain(sets.iter().flatten()).fold(f32::MIN_POSITIVE, |m, v| m.max(v.abs()));
    let scale = 2.0_f32.powi((9 - largest.log2().ceil() as i32).min(120));
    let emulator = Emulator::new(seed);
    let mut pruned = Pruned::new(&emulator, points, (k as usize, d), scale);
    let centre = emulator.buffer("centre", &vec![0.0; d]);
    let round = |matrix: &Buffer<f32>, rows: u64| {
        let rounded = emulator.uninitialised::<f16>("halves", rows as usize * width as usize);
        let norms = emulator.uninitialised("norms", rows as usize);
        let errors = emulator.uninitialised("errors", rows as usize);
        let largest = emulator.buffer("largest", &[0, 0]);
        launch(&emulator, &contract::ASSIGN_HALVES, contract::assign_lengths(rows), || {
            let (norms, errors, largest) = (norms.output(), errors.output(), largest.output());
            let (matrix, centre) = (matrix.input(), centre.input());
            halves::halves(matrix, centre, rounded.output(), norms, errors, largest, scale, rows, d as u32, width);
        });
        (rounded, norms, errors, largest)
    };
    let (x_rounded, x_norms, x_errors, _) = round(&emulator.buffer("points", points), n);
    let mut counts = Vec::new();
    for (number, centroids) in sets.iter().enumerate() {
        let count = pruned.round(centroids, |centroids, listed, (upper, lower)| {
            let (c_rounded, c_norms, _, largest) = round(centroids, k as u64);
            let (laid, starts) = lay_out(&emulator, &c_rounded, &c_norms, &largest, (k, width));
            let (kernel, geometry) = kernel(n, width, true);
            launch(&emulator, kernel, geometry, || {
                let (x, tiles, norms, errors) = (x_rounded.input(), laid.input(), x_norms.input(), x_errors.input());
                let (largest, list, count) = (largest.input(), listed.list.input(), listed.count.input());
                let (labels, others) = (listed.labels.output(), listed.others.output());
                let (upper, lower) = (upper.output(), lower.output());
                let (rows, codes, open) = (listed.rows.output(), listed.codes.output(), listed.open.output());
                let stream =
                    if width <= 64 { stream_listed_rounded::<Slices<1>> } else { stream_listed_rounded::<Slices<2>> };
                let starts = starts.input();
                stream(
                    x, tiles, starts, norms, errors, largest, list, count, labels, others, upper, lower, rows, codes,
                    open, ROOM, n, k, width,
                );
            });
        });
        pruned.check(&format!("{what} f32 round {number}"));
        counts.push(count);
    }
    counts
}

/// Checks all types on the same numbers: how many rows each round listed, of `f32`, f16 and bf16.
fn check(what: &str, points: &[f32], sets: &[Vec<f32>], d: usize) -> [Vec<usize>; 3] {
    fn halves<T: Half>(what: &str, points: &[f32], sets: &[Vec<f32>], d: usize) -> Vec<usize> {
        let convert = |values: &[f32]| values.iter().map(|&v| T::from_f64(v as f64)).collect::<Vec<T>>();
        let sets: Vec<_> = sets.iter().map(|set| convert(set)).collect();
        of_halves(what, &convert(points), &sets, d, 3)
    }
    [of_singles(what, points, sets, d, 3), halves::<f16>(what, points, sets, d), halves::<bf16>(what, points, sets, d)]
}

/// Tight groups of points around places far apart.
fn blobs(n: usize, places: usize, d: usize) -> Vec<f32> {
    let (middles, noise) = (numbers::<f32>(Data::Grid, places * d, 11), numbers::<f32>(Data::Unit, n * d, 12));
    (0..n * d).map(|i| middles[i / d % places * d + i % d] + noise[i] / 4.0).collect()
}

/// The means of the points with each label, or the old centroid.
fn means(points: &[f32], old: &[f32], d: usize) -> Vec<f32> {
    let labels = reference::assign(points, d, old);
    let mut sums = vec![0.0; old.len()];
    let mut counts = vec![0.0; old.len() / d];
    for (x, &label) in points.chunks(d).zip(&labels) {
        counts[label as usize] += 1.0;
        for (sum, x) in sums[label as usize * d..].iter_mut().zip(x) {
            *sum += *x as f64;
        }
    }
    (0..old.len()).map(|i| if counts[i / d] > 0.0 { (sums[i] / counts[i / d]) as f32 } else { old[i] }).collect()
}

#[test]
fn rounds_of_a_fit_list_ever_fewer_rows() {
    for (n, places, k, d) in [(700, 12, 9, 20), (500, 140, 135, 70), (300, 8, 8, 100)] {
        let points = blobs(n, places, d);
        let mut sets = vec![points[..k * d].to_vec()];
        for _ in 0..6 {
            sets.push(means(&points, &sets[sets.len() - 1], d));
        }
        sets.push(sets[sets.len() - 1].clone());
        let counts = check(&format!("blobs {n} {k} {d}"), &points, &sets, d);
        for counts in counts {
            assert_eq!(counts[0], n, "no row has bounds in the first round");
            let last = counts[counts.len() - 1];
            assert!(last < n / 3 && last <= counts[1], "{n} {k} {d}: {counts:?}");
        }
    }
}

#[test]
fn where_nothing_moves_only_near_ties_are_listed() {
    let (n, k, d) = (300, 20, 16);
    let points = numbers::<f32>(Data::Unit, n * d, 1);
    let centroids = points[..k * d].to_vec();
    let [single, half, brain] = check("still", &points, &[centroids.clone(), centroids.clone(), centroids], d);
    assert!(single[1] < 20 && half[1] < 10 && brain[1] < 10, "{single:?} {half:?} {brain:?}");
    assert_eq!(single[1], single[2], "bounds stay as they are");
}

#[test]
fn a_centroid_that_comes_to_tie_takes_the_row_if_its_index_is_lower() {
    // Rows at multiples of a step on a line, centroid 1 at 0; the others come nearer until they tie with it, exactly, at some
    // of the rows, and pass.
    let d = 8;
    let place = |x: f32| (0..d).map(|j| if j == 3 { x } else { 0.0 }).collect::<Vec<f32>>();
    let points: Vec<f32> = (-40..=40).flat_map(|i| place(i as f32 / 4.0)).collect();
    let set = |low: f32, high: f32| [place(low), place(0.0), place(high), place(high)].concat();
    let sets: Vec<_> = (0..12).map(|i| set(20.0 - 1.5 * i as f32, i as f32 - 20.0)).collect();
    check("ties", &points, &sets, d);
    // From afar straight to the tie.
    check("sudden ties", &points, &[set(64.0, -64.0), set(4.0, -4.0), set(64.0, -64.0), set(0.0, 0.0)], d);
}

#[test]
fn steps_as_small_as_they_come_are_not_lost() {
    // The row is a little nearer to 1, until steps of a last place have taken 0 to a tie and beyond.
    let d = 4;
    let mut sets = Vec::new();
    let mut near = -1.0_f32 - 8.0 * f32::EPSILON;
    for _ in 0..14 {
        sets.push([vec![near, 0.0, 0.0, 0.0], vec![1.0, 0.0, 0.0, 0.0]].concat());
        near = near.next_up();
    }
    let points: Vec<f32> = (-6..=6).flat_map(|i| [i as f32 * f32::EPSILON / 4.0, 0.0, 0.0, 0.0]).collect();
    of_singles("last places", &points, &sets, d, 1);
}

#[test]
fn random_walks_jumps_and_returns_give_the_labels() {
    for (data, n, k, d) in [(Data::Unit, 300, 40, 9), (Data::Grid, 260, 33, 33), (Data::Unit, 130, 5, 120)] {
        let points = numbers::<f32>(data, n * d, 21);
        let mut sets = vec![points[..k * d].to_vec()];
        for step in 0..6_i32 {
            let noise = numbers::<f32>(Data::Unit, k * d, 30 + step as u64);
            let before = &sets[sets.len() - 1];
            // Smaller and smaller steps; then one centroid jumps away, and comes back.
            let size = 2.0_f32.powi(-2 * step - 3);
            let mut next: Vec<f32> = before.iter().zip(&noise).map(|(c, e)| c + e * size).collect();
            if step == 3 {
                next[..d].fill(100.0);
            } else if step == 4 {
                next[..d].copy_from_slice(&points[5 * d..6 * d]);
            }
            sets.push(next);
        }
        check(&format!("walk {data:?} {d}"), &points, &sets, d);
    }
}

#[test]
fn one_centroid_two_and_equal_ones_give_the_labels() {
    let (n, d) = (70, 12);
    let points = numbers::<f32>(Data::Unit, n * d, 2);
    let one = vec![points[..d].to_vec(), points[d..2 * d].to_vec(), points[d..2 * d].to_vec()];
    check("k = 1", &points, &one, d);
    let two = |a: usize, b: usize| [&points[a * d..][..d], &points[b * d..][..d]].concat();
    check("k = 2", &points, &[two(0, 1), two(2, 1), two(2, 1), two(1, 1), two(1, 2)], d);
    let equal: Vec<_> = (0..4).map(|i| two(i / 2, 3).repeat(70)).collect();
    let counts = check("70 times two", &points, &equal, d);
    assert!(counts.iter().all(|c| c.iter().all(|&listed| listed == n)), "ties are always listed: {counts:?}");
}

#[test]
fn huge_tiny_and_mixed_scales_give_the_labels() {
    let (n, k, d) = (90, 12, 24);
    let base = blobs(n, k, d);
    let mut sets = vec![base[..k * d].to_vec()];
    for _ in 0..3 {
        sets.push(means(&base, &sets[sets.len() - 1], d));
    }
    for exponent in [11, -12, -30, 55, 110, -60, -120, -140] {
        let scaled = |values: &Vec<f32>| -> Vec<f32> {
            let (one, two) = (2.0_f32.powi(exponent / 2), 2.0_f32.powi(exponent - exponent / 2));
            values.iter().map(|v| v * one * two).collect()
        };
        let (points, sets): (_, Vec<_>) = (scaled(&base), sets.iter().map(scaled).collect());
        let what = format!("2^{exponent}");
        of_singles(&what, &points, &sets, d, 1);
        let narrow = |v: &Vec<f32>| v.iter().map(|&v| bf16::from_f32(v)).collect::<Vec<_>>();
        of_halves(&what, &narrow(&points), &sets.iter().map(narrow).collect::<Vec<_>>(), d, 1);
        if exponent.abs() <= 12 {
            let narrow = |v: &Vec<f32>| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
            of_halves(&what, &narrow(&points), &sets.iter().map(narrow).collect::<Vec<_>>(), d, 1);
        }
    }
    // One value far beyond all others.
    let mut points = base.clone();
    points[7] = 1e30;
    of_singles("an outlier", &points, &[points[..k * d].to_vec(), points[d..(k + 1) * d].to_vec()], d, 1);
}
