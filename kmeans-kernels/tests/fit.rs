//! Many rounds in one launch equal the reference's, round by round.

mod common;

use common::{Data, bits, format, launch, numbers, words};
use half::{bf16, f16};
use kmeans_core::Scalar;
use kmeans_core::launch::{self as contract, FIT_CLOSE, FIT_FIRST, FIT_KEEP_EMPTY, FitEnd, FitRule, Geometry};
use kmeans_core::reference::{self, Fit};
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use kmeans_kernels::assign::halves::halves;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::fit::Fours;
use kmeans_kernels::fit::narrow::narrow;
use kmeans_kernels::fit::tensor::tensor;
use kmeans_kernels::update::fixed::{Narrow, Wide};

/// Points on the emulated device, and the state that rounds go on from.
struct Rounds<P: Fours> {
    emulator: Emulator,
    points: Buffer<P>,
    labels: Buffer<u32>,
    centroids: Vec<P::Value>,
    sums: Vec<u64>,
    counts: Vec<u64>,
    shape: (usize, usize, usize),
    exponent: i32,
    words: u32,
    blocks: u32,
}

/// What a launch writes.
struct Log<T> {
    centroids: Buffer<T>,
    sums: Buffer<u64>,
    counts: Buffer<u64>,
    gained: Buffer<u64>,
    moved: Buffer<u64>,
    found: Buffer<u64>,
    state: Buffer<u64>,
    arrivals: Buffer<u32>,
    slots: u32,
}

/// Launches a kernel.
type Runs<'a, P> = &'a dyn Fn(&Rounds<P>, &Log<<P as kmeans_kernels::device::Load>::Value>, (FitRule, f64), u32);

/// What a launch did: rounds, how they ended, and per round the labels that changed and the movements.
struct Done {
    rounds: usize,
    end: FitEnd,
    changed: Vec<u64>,
    moved: Vec<f64>,
}

impl<P: Fours> Rounds<P> {
    fn new(points: &[P], (n, k, d): (usize, usize, usize), start: &[P::Value], least: u32, blocks: u32) -> Self {
        let values: Vec<P::Value> = points.iter().map(|p| p.load()).collect();
        let format = format(&values);
        let words = words(format).max(least);
        let emulator = Emulator::new((n + k) as u64);
        Self {
            points: emulator.buffer("points", points),
            labels: emulator.uninitialised("labels", n),
            centroids: start.to_vec(),
            sums: vec![0; k * d * words as usize],
            counts: vec![0; k],
            shape: (n, k, d),
            exponent: format.exponent,
            words,
            blocks,
            emulator,
        }
    }

    /// Up to `rounds` rounds in one launch.
    fn run(&mut self, rounds: usize, rule: (FitRule, f64), flags: u32, kernel: Runs<P>) -> Done {
        let ((_, k, d), slots) = (self.shape, rounds + 2);
        let e = &self.emulator;
        let log = |first: &[u64], each: usize| {
            let mut all = first.to_vec();
            all.resize(slots * each, 0);
            all
        };
        let mut centroids = self.centroids.clone();
        centroids.resize(slots * k * d, P::Value::ZERO);
        let log = Log {
            centroids: e.buffer("centroids", &centroids),
            sums: e.buffer("sums", &log(&self.sums, k * d * self.words as usize)),
            counts: e.buffer("counts", &log(&self.counts, k)),
            gained: e.buffer("gained", &log(&[], k * (d * self.words as usize + 1))),
            moved: e.buffer("moved", &log(&[], k)),
            found: e.buffer("found", &log(&[], 2)),
            state: e.buffer("state", &[0; 2]),
            arrivals: e.buffer("arrivals", &[0_u32; 1]),
            slots: slots as u32,
        };
        kernel(self, &log, rule, flags);
        let state = log.state.to_vec();
        let (rounds, end) = (state[0] as usize, FitEnd::from_number(state[1]).expect("an end"));
        let closed = end == FitEnd::Converged || (end == FitEnd::Rounds && flags & FIT_CLOSE != 0);
        // After the last round's means, or before them where they count for nothing.
        let last = if matches!(end, FitEnd::Repeated | FitEnd::Empty) { rounds - 1 } else { rounds };
        self.centroids = log.centroids.to_vec()[last * k * d..][..k * d].to_vec();
        let after = rounds + usize::from(closed);
        let words = self.words as usize;
        self.sums = log.sums.to_vec()[after * k * d * words..][..k * d * words].to_vec();
        self.counts = log.counts.to_vec()[after * k..][..k].to_vec();
        let sum = |moved: &[u64]| moved.iter().map(|&bits| f64::from_bits(bits)).sum();
        let moved: Vec<f64> = log.moved.to_vec().chunks(k).take(rounds).map(sum).collect();
        let changed = log.found.to_vec().chunks(2).take(rounds).map(|f| f[0]).collect();
        Done { rounds, end, changed, moved }
    }

    /// Rounds by [`narrow`].
    fn narrow(&self, log: &Log<P::Value>, rule: (FitRule, f64), flags: u32) {
        let (n, k, d) = self.shape;
        let kernel = if self.words == 1 { &contract::FIT_NARROW_SUMS_NARROW } else { &contract::FIT_NARROW_SUMS_WIDE };
        let geometry = contract::fit_narrow(n as u64, k as u32, d as u32, self.words, self.blocks);
        // Fewer threads than on a GPU, so that rows are shared by all blocks.
        let geometry = Geometry { grid: [self.blocks, 1], block: 64, ..geometry };
        let body = if self.words == 1 { narrow::<P, Narrow> } else { narrow::<P, Wide> };
        launch(&self.emulator, kernel, geometry, || {
            body(
                self.points.input(),
                self.labels.output(),
                log.centroids.output(),
                log.sums.output(),
                log.counts.output(),
                log.gained.output(),
                log.moved.output(),
                log.found.output(),
                log.state.output(),
                log.arrivals.output(),
                self.exponent,
                self.words,
                rule.0 as u32,
                rule.1.to_bits(),
                flags,
                log.slots,
                n as u64,
                k as u32,
                d as u32,
            );
        });
    }

    fn assert_is(&self, fit: &Fit<P::Value>) {
        assert_eq!(self.labels.to_vec(), fit.labels);
        assert_eq!(bits(&self.centroids), bits(&fit.centroids));
        assert_eq!(self.counts, fit.counts);
    }
}

fn rule(stop: Stop, variance: f64, n: usize) -> (FitRule, f64) {
    match stop {
        Stop::RelativeTolerance(t) => (FitRule::MovementAtMost, t * variance),
        Stop::Movement(limit) => (FitRule::MovementBelow, limit),
        Stop::LabelsChanged(share) => (FitRule::ChangedBelow, share * n as f64),
        _ => (FitRule::LabelsRepeat, 0.0),
    }
}

/// Whole fits, `each` rounds per launch.
fn check<P: Fours>(points: &[P], shape: (usize, usize, usize), least: u32, blocks: u32) {
    check_by(points, shape, (least, blocks), &Rounds::narrow);
}

/// Whole fits by a kernel.
fn check_by<P: Fours>(points: &[P], (n, k, d): (usize, usize, usize), (least, blocks): (u32, u32), kernel: Runs<P>) {
    let values: Vec<P::Value> = points.iter().map(|p| p.load()).collect();
    let start = &values[..k * d];
    let variance = reference::mean_variance(&values, d);
    for stop in [Stop::LabelsRepeat, Stop::RelativeTolerance(1e-3), Stop::Movement(0.05), Stop::LabelsChanged(0.05)] {
        for (each, max_iter) in [(40, 40), (2, 40), (40, 3), (1, 1)] {
            let settings = Settings { max_iter, stop, empty: EmptyCluster::Keep };
            let expected = reference::lloyd(&values, d, None, start, &settings).unwrap();
            let mut rounds = Rounds::new(points, (n, k, d), start, least, blocks);
            let mut seen = Vec::new();
            loop {
                let left = max_iter - seen.len();
                let flags = if seen.is_empty() { FIT_FIRST } else { 0 };
                let flags = flags | FIT_KEEP_EMPTY | if each >= left { FIT_CLOSE } else { 0 };
                let done = rounds.run(each.min(left), rule(stop, variance, n), flags, kernel);
                assert_eq!(done.changed.len(), done.rounds);
                seen.extend(done.changed.into_iter().zip(done.moved));
                if done.end != FitEnd::Rounds || seen.len() == max_iter {
                    assert_eq!(expected.converged, done.end != FitEnd::Rounds);
                    break;
                }
            }
            assert_eq!(seen.len(), expected.iterations, "{stop:?}");
            for (&(changed, moved), round) in seen.iter().zip(&expected.history) {
                assert_eq!(changed, round.labels_changed);
                assert!(changed == 0 || moved == round.movement);
            }
            rounds.assert_is(&expected);
        }
    }
}

fn check_shapes<P: Fours>(numbers: impl Fn(Data, usize) -> Vec<P>) {
    check(&numbers(Data::Grid, 500 * 3), (500, 7, 3), 1, 3);
    check(&numbers(Data::Unit, 301), (301, 40, 1), 1, 2);
    check(&numbers(Data::Offset, 200 * 2), (200, 5, 2), 2, 1);
    check(&numbers(Data::Grid, 150 * 4), (150, 2, 4), 2, 4);
}

#[test]
fn rounds_on_narrow_rows_are_the_references() {
    check_shapes::<f32>(|data, len| numbers(data, len, 3));
    check_shapes::<f16>(|data, len| numbers(data, len, 4));
    check_shapes::<bf16>(|data, len| numbers(data, len, 5));
    check_shapes::<u8>(|_, len| common::labels(len, 256, 6).into_iter().map(|v| v as u8).collect());
}

/// Sizes around the four rows of a thread and the 128 of a warp, one cluster, and as many as rows.
#[test]
fn rows_that_fill_no_group_of_four_are_labelled() {
    for (n, k, d) in [(1, 1, 3), (2, 2, 1), (3, 1, 4), (5, 5, 2), (127, 4, 3), (129, 9, 1), (131, 1, 2)] {
        check(&numbers::<f32>(Data::Unit, n * d, 11), (n, k, d), 1, 2);
        let bytes: Vec<u8> = common::labels(n * d, 256, 12).into_iter().map(|v| v as u8).collect();
        check(&bytes, (n, k, d), 1, 1);
    }
}

/// Pixels of few colours, so that rows and centroids are repeated and lie in the middle of two others.
#[test]
fn bytes_of_equal_rows_and_ties_get_the_lowest_label() {
    let pixels = |colours: &[u8], d: usize| -> Vec<u8> {
        common::labels(301 * d, colours.len(), 13).into_iter().map(|v| colours[v as usize]).collect()
    };
    for d in 1..=4 {
        check(&pixels(&[0, 255], d), (301, 6, d), 1, 2);
        check(&pixels(&[0, 127, 128, 254, 255], d), (301, 5, d), 2, 2);
    }
    check(&[255; 66], (22, 3, 3), 1, 1);
}

/// Rows in the middle of two centroids, and a last place to either side, far from and near zero, from tiny to huge.
#[test]
fn near_ties_of_scores_are_settled() {
    for (offset, scale) in [(0.0, 1.0), (1e6, 1.0), (-3.0, 1e-3), (0.0, 1e-38), (0.0, 3e18), (0.0, 1e30)] {
        let start: Vec<f32> = numbers::<f32>(Data::Unit, 8 * 3, 14).iter().map(|v| (v + offset) * scale).collect();
        let mut points = start.clone();
        for (i, c) in start.chunks(3).enumerate() {
            for other in start.chunks(3).take(i) {
                let middle: Vec<f32> = c.iter().zip(other).map(|(a, b)| a / 2.0 + b / 2.0).collect();
                points.extend(&middle);
                points.extend([middle[0].next_up(), middle[1], middle[2]]);
                points.extend([middle[0], middle[1].next_down(), middle[2]]);
            }
        }
        let n = points.len() / 3;
        if words(format(&points)) > 2 {
            continue;
        }
        let settings = Settings { max_iter: 3, stop: Stop::LabelsRepeat, empty: EmptyCluster::Keep };
        let expected = reference::lloyd(&points, 3, None, &start, &settings).unwrap();
        let mut rounds = Rounds::new(&points, (n, 8, 3), &start, 1, 2);
        let flags = FIT_FIRST | FIT_KEEP_EMPTY | FIT_CLOSE;
        rounds.run(3, (FitRule::LabelsRepeat, 0.0), flags, &Rounds::narrow);
        rounds.assert_is(&expected);
    }
}

#[test]
fn an_empty_cluster_ends_the_rounds_before_its_means_count() {
    let points = numbers::<f32>(Data::Unit, 200 * 2, 8);
    let mut start = points[..6].to_vec();
    start.extend([100.0, 100.0]);
    let mut rounds = Rounds::new(&points, (200, 4, 2), &start, 1, 2);
    let done = rounds.run(10, (FitRule::LabelsRepeat, 0.0), FIT_FIRST, &Rounds::narrow);
    assert_eq!((done.end, done.rounds), (FitEnd::Empty, 1));
    assert_eq!(rounds.centroids, start);
    let mut rounds = Rounds::new(&points, (200, 4, 2), &start, 1, 2);
    let done = rounds.run(10, (FitRule::LabelsRepeat, 0.0), FIT_FIRST | FIT_KEEP_EMPTY, &Rounds::narrow);
    assert_ne!(done.end, FitEnd::Empty);
    assert_eq!(rounds.centroids[6..], [100.0, 100.0]);
}

/// Rounds by [`tensor`], rows rounded about `centre` after scaling by 2^`scale`.
fn by_tensor_cores(rounds: &Rounds<f32>, log: &Log<f32>, rule: (FitRule, f64), flags: u32, scale: f32) {
    let (n, k, d) = rounds.shape;
    let e = &rounds.emulator;
    let width = d.next_multiple_of(16);
    let points = rounds.points.to_vec();
    let centre: Vec<f32> = (0..d).map(|j| points.iter().skip(j).step_by(d).sum::<f32>() / n as f32).collect();
    let centre = e.buffer("centre", &centre);
    let rounded = e.uninitialised::<f16>("rounded rows", n * width);
    let (norms, errors) = (e.uninitialised("norms", n), e.uninitialised("errors", n));
    let most = e.buffer("largest of rows", &[0_u32; 2]);
    launch(e, &contract::ASSIGN_HALVES, contract::assign_lengths(n as u64), || {
        let (points, centre, rounded) = (rounds.points.input(), centre.input(), rounded.output());
        let (norms, errors, most) = (norms.output(), errors.output(), most.output());
        halves(points, centre, rounded, norms, errors, most, scale, n as u64, d as u32, width as u32);
    });
    let two = |pair: &[f16]| pair[1].to_bits() as u32 * 65536 + pair[0].to_bits() as u32;
    let pairs = e.buffer("pairs", &rounded.to_vec().chunks(2).map(two).collect::<Vec<u32>>());
    let c_halves = e.uninitialised::<f16>("halves", k * width);
    let c_norms = e.uninitialised("c_norms", k);
    let largest = e.buffer("largest", &vec![0_u32; 2 * log.slots as usize]);
    let kernel = if rounds.words == 1 { &contract::FIT_TENSOR_SUMS_NARROW } else { &contract::FIT_TENSOR_SUMS_WIDE };
    let geometry = contract::fit_tensor(n as u64, k as u32, d as u32, rounds.words, rounds.blocks);
    let geometry = Geometry { grid: [rounds.blocks, 1], block: 64, ..geometry };
    let body = if rounds.words == 1 { tensor::<Narrow> } else { tensor::<Wide> };
    launch(e, kernel, geometry, || {
        body(
            rounds.points.input(),
            rounds.labels.output(),
            log.centroids.output(),
            log.sums.output(),
            log.counts.output(),
            log.gained.output(),
            log.moved.output(),
            log.found.output(),
            log.state.output(),
            log.arrivals.output(),
            pairs.input(),
            norms.input(),
            errors.input(),
            centre.input(),
            c_halves.output(),
            c_norms.output(),
            largest.output(),
            scale,
            width as u32,
            rounds.exponent,
            rounds.words,
            rule.0 as u32,
            rule.1.to_bits(),
            flags,
            log.slots,
            n as u64,
            k as u32,
            d as u32,
        );
    });
}

#[test]
fn rounds_on_tensor_cores_are_the_references() {
    let shapes = [(Data::Grid, 300, 7, 9, 1), (Data::Unit, 211, 40, 17, 2), (Data::Offset, 150, 5, 33, 1)];
    for (data, n, k, d, least) in shapes {
        let points = numbers::<f32>(data, n * d, 9);
        check_by(&points, (n, k, d), (least, 3), &|r, l, rule, flags| by_tensor_cores(r, l, rule, flags, 8.0));
    }
    // Fewer rows than a warp takes, one cluster, and equal rows and centroids, among which the lowest label wins.
    let few = numbers::<f32>(Data::Unit, 5 * 6, 15);
    check_by(&few, (5, 1, 6), (1, 2), &|r, l, rule, flags| by_tensor_cores(r, l, rule, flags, 8.0));
    let repeated: Vec<f32> = (0..70 * 20).map(|i| ((i / 20 % 3 + i % 20) % 5) as f32).collect();
    check_by(&repeated, (70, 12, 20), (1, 2), &|r, l, rule, flags| by_tensor_cores(r, l, rule, flags, 4.0));
    // All columns and clusters there may be, and a scale by which nothing fits, so that every row is settled.
    let points = numbers::<f32>(Data::Unit, 400 * 128, 10);
    let settings = Settings { max_iter: 2, stop: Stop::LabelsRepeat, empty: EmptyCluster::Keep };
    let expected = reference::lloyd(&points, 128, None, &points[..128 * 128], &settings).unwrap();
    for scale in [32.0, 1e9, 1e-9] {
        let mut rounds = Rounds::new(&points, (400, 128, 128), &points[..128 * 128], 1, 2);
        let flags = FIT_FIRST | FIT_KEEP_EMPTY | FIT_CLOSE;
        rounds.run(2, (FitRule::LabelsRepeat, 0.0), flags, &|r, l, rule, flags| {
            by_tensor_cores(r, l, rule, flags, scale);
        });
        rounds.assert_is(&expected);
    }
}
