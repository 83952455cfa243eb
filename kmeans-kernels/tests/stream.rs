//! The kernels that keep tensor cores busy, Hopper's and Ampere's, give the reference's labels.

mod common;

use common::{Data, TIERS, Tier, launch, numbers};
use half::f16;
use kmeans_core::launch::{self as contract, Geometry, Kernel};
use kmeans_core::reference;
use kmeans_kernels::assign::plan::Slices;
use kmeans_kernels::assign::stream::{stream, stream_rounded};
use kmeans_kernels::assign::stream_long::{stream_long, stream_long_rounded};
use kmeans_kernels::assign::{halves, order, settle, stream_mma, tiles};
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::device::{Half, Number};

/// Multiprocessors of the GPU that is played here: few, so that blocks go several rounds.
const MULTIPROCESSORS: u32 = 2;

/// What the filter leaves for D to settle.
struct Open {
    labels: Buffer<u32>,
    others: Buffer<u32>,
    rows: Buffer<u64>,
    codes: Buffer<u32>,
    count: Buffer<u32>,
    room: u32,
}

impl Open {
    fn new(emulator: &Emulator, n: usize, room: u32) -> Self {
        Self {
            labels: emulator.uninitialised("labels", n),
            others: emulator.uninitialised("others", n),
            rows: emulator.uninitialised("open rows", room as usize),
            codes: emulator.uninitialised("open codes", room as usize * 8),
            count: emulator.buffer("open", &[0]),
            room,
        }
    }

    /// Settles, and returns the labels.
    fn settle<T: Number>(
        &self,
        emulator: &Emulator,
        (points, centroids): (&Buffer<T>, &Buffer<T>),
        order: Option<&Buffer<u32>>,
        (n, k, d): (u64, u32, u32),
    ) -> Vec<u32> {
        let (x, c, labels) = (points.input(), centroids.input(), self.labels.output());
        let kernel = if order.is_some() { &contract::ASSIGN_SETTLE_ORDERED } else { &contract::ASSIGN_SETTLE };
        launch(emulator, kernel, contract::assign_settle(n, MULTIPROCESSORS), || {
            let (others, rows, codes) = (self.others.input(), self.rows.input(), self.codes.input());
            let count = self.count.input();
            if let Some(order) = order {
                settle::settle_ordered(x, c, order.input(), others, rows, codes, count, self.room, labels, n, k, d);
            } else {
                settle::settle(x, c, others, rows, codes, count, self.room, labels, n, k, d);
            }
        });
        self.labels.to_vec()
    }
}

/// Which kernel takes rows of `d` columns, and how it is launched.
fn kernel(tier: Tier, n: u64, d: u32, is_rounded: bool) -> (&'static Kernel, Geometry) {
    if tier == Tier::Ampere {
        let kernel = if is_rounded { &contract::ASSIGN_STREAM_MMA_ROUNDED } else { &contract::ASSIGN_STREAM_MMA };
        return (kernel, contract::assign_stream_mma(n, MULTIPROCESSORS));
    }
    let short = contract::assign_stream(n, d, MULTIPROCESSORS);
    match (d, is_rounded) {
        (..=64, false) => (&contract::ASSIGN_STREAM_64, short),
        (..=64, true) => (&contract::ASSIGN_STREAM_64_ROUNDED, short),
        (..=128, false) => (&contract::ASSIGN_STREAM_128, short),
        (..=128, true) => (&contract::ASSIGN_STREAM_128_ROUNDED, short),
        (_, false) => (&contract::ASSIGN_STREAM_LONG, contract::assign_stream_long(n, MULTIPROCESSORS)),
        (_, true) => (&contract::ASSIGN_STREAM_LONG_ROUNDED, contract::assign_stream_long(n, MULTIPROCESSORS)),
    }
}

/// Centroids as tiles: those, and what scores begin with.
fn lay_out<T: Half>(
    emulator: &Emulator,
    centroids: &Buffer<T>,
    norms: &Buffer<f32>,
    largest: &Buffer<u32>,
    (k, d): (u32, u32),
) -> (Buffer<T>, Buffer<T>, Buffer<f32>) {
    let count = k.div_ceil(128) as usize;
    let laid = emulator.uninitialised("tiles", count * d.div_ceil(64) as usize * 128 * 64);
    let starts = emulator.uninitialised("starts", count * 128 * 16);
    let plain = emulator.uninitialised("plain starts", count * 128);
    launch(emulator, &contract::ASSIGN_TILES, contract::assign_tiles(1, k), || {
        let (norms, largest) = (norms.input(), largest.input());
        tiles::tiles(centroids.input(), norms, largest, laid.output(), starts.output(), plain.output(), k, d);
    });
    (laid, starts, plain)
}

/// Centroids of more than 128 columns as tiles, in the order of their norms.
struct Ordered<T> {
    tiles: Buffer<T>,
    starts: Buffer<f32>,
    bounds: Buffer<f32>,
    order: Buffer<u32>,
}

impl<T: Half> Ordered<T> {
    fn new(
        emulator: &Emulator,
        centroids: &Buffer<T>,
        (norms, errors): (&Buffer<f32>, &Buffer<f32>),
        largest: &Buffer<u32>,
        (k, d): (u32, u32),
    ) -> Self {
        let count = k.div_ceil(128) as usize;
        let ordered = Self {
            tiles: emulator.uninitialised("tiles", count * d.div_ceil(32) as usize * 128 * 32),
            starts: emulator.uninitialised("plain starts", count * 128),
            bounds: emulator.uninitialised("bounds", count * 4),
            order: emulator.uninitialised("order", k as usize),
        };
        launch(emulator, &contract::ASSIGN_ORDER, contract::assign_order(), || {
            order::order(norms.input(), ordered.order.output(), k);
        });
        launch(emulator, &contract::ASSIGN_TILES_LONG, contract::assign_tiles(1, k), || {
            let (c, norms, errors) = (centroids.input(), norms.input(), errors.input());
            let (order, largest) = (ordered.order.input(), largest.input());
            let (tiles, starts, bounds) = (ordered.tiles.output(), ordered.starts.output(), ordered.bounds.output());
            tiles::tiles_long(c, norms, errors, order, largest, tiles, starts, bounds, k, d);
        });
        ordered
    }
}

/// Labels of 16-bit points, and how many rows had to be settled.
fn of_halves<T: Half>(tier: Tier, points: &[T], centroids: &[T], d: usize, room: u32, seed: u64) -> (Vec<u32>, usize) {
    let (n, k, d) = ((points.len() / d) as u64, (centroids.len() / d) as u32, d as u32);
    let emulator = Emulator::new(seed);
    let (points, centroids) = (emulator.buffer("points", points), emulator.buffer("centroids", centroids));
    let lengths = |matrix: &Buffer<T>, rows: u64| {
        let (norms, largest) = (emulator.uninitialised("norms", rows as usize), emulator.buffer("largest", &[0]));
        launch(&emulator, &contract::ASSIGN_LENGTHS, contract::assign_lengths(rows), || {
            halves::lengths(matrix.input(), norms.output(), largest.output(), rows, d);
        });
        (norms, largest)
    };
    let (x_norms, _) = lengths(&points, n);
    let (c_norms, largest) = lengths(&centroids, k as u64);
    let (laid, starts, plain) = lay_out(&emulator, &centroids, &c_norms, &largest, (k, d));
    let errors = emulator.buffer("errors", &vec![0.0; k as usize]);
    let ordered = (tier == Tier::Hopper && d > 128)
        .then(|| Ordered::new(&emulator, &centroids, (&c_norms, &errors), &largest, (k, d)));
    let open = Open::new(&emulator, n as usize, room);
    let (kernel, geometry) = kernel(tier, n, d, false);
    launch(&emulator, kernel, geometry, || {
        let (x, tiles, norms, largest) = (points.input(), laid.input(), x_norms.input(), largest.input());
        let (labels, others) = (open.labels.output(), open.others.output());
        let (rows, codes, count) = (open.rows.output(), open.codes.output(), open.count.output());
        if tier == Tier::Ampere {
            let starts = plain.input();
            stream_mma::stream(x, tiles, starts, norms, largest, labels, others, rows, codes, count, room, n, k, d);
        } else if let Some(Ordered { tiles, starts, bounds, order }) = &ordered {
            let (tiles, starts, bounds, order) = (tiles.input(), starts.input(), bounds.input(), order.input());
            stream_long(
                x, tiles, starts, bounds, order, norms, largest, labels, others, rows, codes, count, room, n, k, d,
            );
        } else {
            let stream = if d <= 64 { stream::<T, Slices<1>> } else { stream::<T, Slices<2>> };
            let starts = starts.input();
            stream(x, tiles, starts, norms, largest, labels, others, rows, codes, count, room, n, k, d);
        }
    });
    let settled = open.others.to_vec().iter().filter(|&&other| other != u32::MAX).count();
    (open.settle(&emulator, (&points, &centroids), ordered.as_ref().map(|o| &o.order), (n, k, d)), settled)
}

/// Labels of `f32` points, and how many rows had to be settled.
fn of_singles(
    tier: Tier,
    points: &[f32],
    centroids: &[f32],
    centre: &[f32],
    room: u32,
    seed: u64,
) -> (Vec<u32>, usize) {
    let d = centre.len();
    let (n, k, width) = ((points.len() / d) as u64, (centroids.len() / d) as u32, d.next_multiple_of(8) as u32);
    // By the points alone, as the host does it: centroids of a start may be far beyond them.
    let centred = points.iter().enumerate().map(|(i, v)| (v - centre[i % d]).abs());
    let exponent = centred.fold(0.0, f32::max).max(f32::MIN_POSITIVE).log2().ceil() as i32;
    let scale = 2.0_f32.powi((9 - exponent).min(126));
    let emulator = Emulator::new(seed);
    let (points, centroids) = (emulator.buffer("points", points), emulator.buffer("centroids", centroids));
    let centre = emulator.buffer("centre", centre);
    let round = |matrix: &Buffer<f32>, rows: u64| {
        let rounded = emulator.uninitialised::<f16>("halves", rows as usize * width as usize);
        let (norms, errors) =
            (emulator.uninitialised("norms", rows as usize), emulator.uninitialised("errors", rows as usize));
        let largest = emulator.buffer("largest", &[0, 0]);
        launch(&emulator, &contract::ASSIGN_HALVES, contract::assign_lengths(rows), || {
            let (m, norms, errors) = (matrix.input(), norms.output(), errors.output());
            halves::halves(
                m,
                centre.input(),
                rounded.output(),
                norms,
                errors,
                largest.output(),
                scale,
                rows,
                d as u32,
                width,
            );
        });
        (rounded, norms, errors, largest)
    };
    let (rounded, x_norms, x_errors, _) = round(&points, n);
    let (c_rounded, c_norms, c_errors, largest) = round(&centroids, k as u64);
    let (laid, starts, plain) = lay_out(&emulator, &c_rounded, &c_norms, &largest, (k, width));
    let ordered = (tier == Tier::Hopper && width > 128)
        .then(|| Ordered::new(&emulator, &c_rounded, (&c_norms, &c_errors), &largest, (k, width)));
    let open = Open::new(&emulator, n as usize, room);
    let (kernel, geometry) = kernel(tier, n, width, true);
    launch(&emulator, kernel, geometry, || {
        let (x, tiles, norms, errors) = (rounded.input(), laid.input(), x_norms.input(), x_errors.input());
        let (largest, labels, others) = (largest.input(), open.labels.output(), open.others.output());
        let (rows, codes, count) = (open.rows.output(), open.codes.output(), open.count.output());
        if tier == Tier::Ampere {
            let starts = plain.input();
            stream_mma::stream_rounded(
                x, tiles, starts, norms, errors, largest, labels, others, rows, codes, count, room, n, k, width,
            );
        } else if let Some(Ordered { tiles, starts, bounds, order }) = &ordered {
            let (tiles, starts, bounds, order) = (tiles.input(), starts.input(), bounds.input(), order.input());
            stream_long_rounded(
                x, tiles, starts, bounds, order, norms, errors, largest, labels, others, rows, codes, count, room, n,
                k, width,
            );
        } else {
            let stream = if width <= 64 { stream_rounded::<Slices<1>> } else { stream_rounded::<Slices<2>> };
            let starts = starts.input();
            stream(x, tiles, starts, norms, errors, largest, labels, others, rows, codes, count, room, n, k, width);
        }
    });
    let settled = open.others.to_vec().iter().filter(|&&other| other != u32::MAX).count();
    (open.settle(&emulator, (&points, &centroids), ordered.as_ref().map(|o| &o.order), (n, k, d as u32)), settled)
}

/// Shapes (n, k, d): ones, one more and one less than tiles of rows, of centroids and of columns, several rounds per block.
const SHAPES: [(usize, usize, usize); 13] = [
    (1, 1, 1),
    (5, 2, 3),
    (256, 128, 64),
    (257, 129, 65),
    (255, 127, 63),
    (1100, 70, 5),
    (600, 300, 128),
    (70, 400, 127),
    (50, 20, 129),
    (300, 130, 129),
    (600, 140, 200),
    (129, 130, 770),
    (300, 260, 850),
];

/// Points, and centroids of which some are points and some the same.
fn case<T: kmeans_core::Scalar>(data: Data, (n, k, d): (usize, usize, usize)) -> (Vec<T>, Vec<T>) {
    let points = numbers::<T>(data, n * d, n as u64);
    let row = |c: usize| (c * 7 % k.min(n)) * d;
    let centroids = (0..k).flat_map(|c| points[row(c)..row(c) + d].to_vec()).collect();
    (points, centroids)
}

/// The shapes for a tier: its warps by themselves take longest to play, and the largest shapes have nothing new for them.
fn shapes(tier: Tier) -> impl Iterator<Item = (usize, (usize, usize, usize))> {
    let most = if tier == Tier::Ampere { 6_000_000 } else { usize::MAX };
    SHAPES.into_iter().enumerate().filter(move |(_, (n, k, d))| n * k * d <= most)
}

/// All kinds of data for small shapes; large ones take turns, since they take long.
fn kinds(seed: usize, (n, k, d): (usize, usize, usize)) -> impl Iterator<Item = Data> {
    let all = [Data::Grid, Data::Unit, Data::Offset, Data::Same, Data::Extreme];
    let is_large = n * k * d > 2_000_000;
    all.into_iter().enumerate().filter(move |(i, _)| !is_large || *i == seed % 5).map(|(_, data)| data)
}

fn all_shapes<T: Half>(tier: Tier) {
    for (seed, shape) in shapes(tier) {
        for data in kinds(seed, shape) {
            let (points, centroids) = case::<T>(data, shape);
            let expected = reference::assign(&points, shape.2, &centroids);
            let (labels, _) = of_halves(tier, &points, &centroids, shape.2, 40, seed as u64);
            assert_eq!(labels, expected, "{tier:?} {} {data:?} {shape:?}", T::NAME);
        }
    }
}

#[test]
fn f16_labels_are_the_references() {
    TIERS.into_iter().for_each(all_shapes::<f16>);
}

#[test]
fn bf16_labels_are_the_references() {
    TIERS.into_iter().for_each(all_shapes::<half::bf16>);
}

#[test]
fn f32_labels_are_the_references() {
    for tier in TIERS {
        for (seed, shape) in shapes(tier) {
            for data in kinds(seed, shape) {
                let (points, centroids) = case::<f32>(data, shape);
                let expected = reference::assign(&points, shape.2, &centroids);
                let centre = match data {
                    Data::Offset => points[..shape.2].to_vec(),
                    _ => vec![0.0; shape.2],
                };
                let (labels, _) = of_singles(tier, &points, &centroids, &centre, 40, seed as u64);
                assert_eq!(labels, expected, "{tier:?} f32 {data:?} {shape:?}");
            }
        }
    }
}

/// Checks 16-bit and `f32` kernels on the same numbers; returns how many rows had to be settled by each, the least of the tiers.
fn check(what: &str, points: &[f32], centroids: &[f32], d: usize, room: u32) -> [usize; 3] {
    let [ampere, hopper] = TIERS.map(|tier| check_tier(tier, what, points, centroids, d, room));
    [0, 1, 2].map(|i| ampere[i].min(hopper[i]))
}

fn check_tier(tier: Tier, what: &str, points: &[f32], centroids: &[f32], d: usize, room: u32) -> [usize; 3] {
    fn halves<T: Half>(tier: Tier, what: &str, points: &[f32], centroids: &[f32], d: usize, room: u32) -> usize {
        let convert = |values: &[f32]| values.iter().map(|&v| T::from_f64(v as f64)).collect::<Vec<T>>();
        let (points, centroids) = (convert(points), convert(centroids));
        let (labels, settled) = of_halves(tier, &points, &centroids, d, room, 3);
        assert_eq!(labels, reference::assign(&points, d, &centroids), "{tier:?} {what} {}", T::NAME);
        settled
    }
    let (labels, settled) = of_singles(tier, points, centroids, &vec![0.0; d], room, 3);
    assert_eq!(labels, reference::assign(points, d, centroids), "{tier:?} {what} f32");
    [
        settled,
        halves::<f16>(tier, what, points, centroids, d, room),
        halves::<half::bf16>(tier, what, points, centroids, d, room),
    ]
}

#[test]
fn rows_between_two_centroids_are_settled() {
    // Centroids v + w and v − w, points near v, on either side or just between: scores differ by less than their errors.
    for d in [40, 128, 192] {
        let (v, w) = (numbers::<f32>(Data::Grid, d, 1), numbers::<f32>(Data::Grid, d, 2));
        let far = numbers::<f32>(Data::Grid, 30 * d, 3).into_iter().map(|x| 4.0 * x + 64.0);
        let pair = [1.0, -1.0].iter().flat_map(|s| (0..d).map(|i| v[i] + s * w[i] / 8.0).collect::<Vec<_>>());
        let centroids: Vec<f32> = far.chain(pair).collect();
        let points: Vec<f32> = (0..60)
            .flat_map(|r| {
                let shift = (r as f32 - 30.0) * 2.0_f32.powi(-(r % 20));
                (0..d).map(|i| v[i] + w[i] / 8.0 * shift * 2.0_f32.powi(-8)).collect::<Vec<_>>()
            })
            .collect();
        let settled = check(&format!("between two, d {d}"), &points, &centroids, d, 8);
        assert!(settled.iter().all(|&s| s >= 10), "{settled:?}");
    }
}

#[test]
fn equal_centroids_give_the_lowest_label_however_many_there_are() {
    // So many that lanes name tiles, then runs of tiles.
    for (k, distinct) in [(5, 1), (130, 1), (300, 100), (700, 2), (4000, 40)] {
        let d = 16;
        let some = numbers::<f32>(Data::Grid, distinct * d, 5);
        let centroids: Vec<f32> = (0..k).flat_map(|c| some[c % distinct * d..][..d].to_vec()).collect();
        let n = if k > 300 { 5 } else { 70 };
        let points = numbers::<f32>(Data::Grid, n * d, 6);
        // The list overflows too.
        for room in [0, 3, 100] {
            let settled = check(&format!("{distinct} of {k} distinct"), &points, &centroids, d, room);
            assert!(settled.iter().all(|&s| s == n), "{settled:?}");
        }
    }
}

#[test]
fn huge_tiny_and_mixed_scales_give_the_labels() {
    TIERS.into_iter().for_each(all_scales);
}

fn all_scales(tier: Tier) {
    let (n, k, d) = (90, 40, 24);
    let base = numbers::<f32>(Data::Unit, n * d, 9);
    // Beyond f16's normal numbers, at their end, among the subnormal ones of f16, of f32, and with an outlier.
    for exponent in [15, 0, -12, -20, 100, 60, -60, -125, -140] {
        let points: Vec<f32> =
            base.iter().map(|v| v * 2.0_f32.powi(exponent / 2) * 2.0_f32.powi(exponent - exponent / 2)).collect();
        let centroids = points[..k * d].to_vec();
        let (labels, _) = of_singles(tier, &points, &centroids, &vec![0.0; d], 9, 1);
        assert_eq!(labels, reference::assign(&points, d, &centroids), "f32 2^{exponent}");
        let narrow = |v: &[f32]| v.iter().map(|&v| half::bf16::from_f32(v)).collect::<Vec<_>>();
        let (points16, centroids16) = (narrow(&points), narrow(&centroids));
        let (labels, _) = of_halves(tier, &points16, &centroids16, d, 9, 1);
        assert_eq!(labels, reference::assign(&points16, d, &centroids16), "bf16 2^{exponent}");
        if exponent.abs() <= 20 {
            let narrow = |v: &[f32]| v.iter().map(|&v| f16::from_f32(v)).collect::<Vec<_>>();
            let (points16, centroids16) = (narrow(&points), narrow(&centroids));
            let (labels, _) = of_halves(tier, &points16, &centroids16, d, 9, 1);
            assert_eq!(labels, reference::assign(&points16, d, &centroids16), "f16 2^{exponent}");
        }
    }
    let mut points = base;
    points[5] = 1e30;
    let centroids = points[..k * d].to_vec();
    let (labels, _) = of_singles(tier, &points, &centroids, &vec![0.0; d], 9, 1);
    assert_eq!(labels, reference::assign(&points, d, &centroids), "an outlier");
}

#[test]
fn a_centre_far_off_or_near_changes_nothing() {
    let (n, k, d) = (150, 60, 20);
    let points = numbers::<f32>(Data::Offset, n * d, 4);
    let centroids = points[d..(k + 1) * d].to_vec();
    let expected = reference::assign(&points, d, &centroids);
    let settled = [points[..d].to_vec(), vec![0.0; d], vec![-3e7; d]].map(|centre| {
        let [ampere, hopper] = TIERS.map(|tier| {
            let (labels, settled) = of_singles(tier, &points, &centroids, &centre, 9, 2);
            assert_eq!(labels, expected, "{tier:?} {:?}", &centre[..1]);
            settled
        });
        ampere.max(hopper)
    });
    // A good centre spares the settling.
    assert!(settled[0] < n / 4 && settled[2] == n, "{settled:?}");
}

#[test]
fn no_points_need_no_labels() {
    for tier in TIERS {
        let (labels, _) = of_halves::<f16>(tier, &[], &[f16::ONE; 3], 3, 4, 1);
        assert!(labels.is_empty());
        let (labels, _) = of_halves::<f16>(tier, &[], &[f16::ONE; 200], 200, 4, 1);
        assert!(labels.is_empty());
    }
}

/// Centroids of lengths from 1/4 to 16 times the usual, in no order, each twice: `k` of them.
fn mixed_lengths(k: usize, d: usize) -> Vec<f32> {
    let some = numbers::<f32>(Data::Grid, k.div_ceil(2) * d, 21);
    let length = |c: usize| 2.0_f32.powi((c * 5 % 7) as i32 - 2) / 16.0;
    (0..k).flat_map(|c| some[c / 2 * d..][..d].iter().map(move |v| v * length(c / 2))).collect()
}

/// Points by pairs of centroids: half way between them, and off that by less and less.
fn between(centroids: &[f32], n: usize, d: usize) -> Vec<f32> {
    let k = centroids.len() / d;
    let row = |c: usize| &centroids[c % k * d..][..d];
    (0..n)
        .flat_map(|i| {
            let (a, b) = (row(i * 11), row(i * 37 + 2));
            let side = if i % 5 == 0 { 0.0 } else { (i % 3) as f32 - 1.0 };
            let shift = side * 2.0_f32.powi(-(i as i32 % 22));
            (0..d).map(|j| f32::midpoint(a[j], b[j]) + (b[j] - a[j]) * shift).collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn long_and_short_centroids_of_many_columns_give_the_labels() {
    let d = 136;
    for (n, k) in [(9, 1), (130, 127), (150, 300)] {
        let centroids = mixed_lengths(k, d);
        let points = between(&centroids, n, d);
        check_tier(Tier::Hopper, &format!("mixed lengths, k {k}"), &points, &centroids, d, 20);
        // A centroid of zeros, and one that no 16-bit margin reaches.
        let mut odd = centroids.clone();
        odd[..d].fill(0.0);
        odd[(k - 1) * d..].fill(3e4);
        check_tier(Tier::Hopper, &format!("zeros and far off, k {k}"), &points, &odd, d, 20);
        odd[(k - 1) * d..].fill(1e30);
        let (labels, _) = of_singles(Tier::Hopper, &points, &odd, &vec![0.0; d], 20, 5);
        assert_eq!(labels, reference::assign(&points, d, &odd), "a huge one, k {k}");
    }
}

#[test]
fn centroids_of_equal_length_are_told_apart_by_label() {
    // The same numbers with other signs: D ties exactly for points on few columns, and any order in the tiles is allowed.
    let (n, k, d) = (70, 260, 130);
    let base = numbers::<f32>(Data::Grid, d, 31);
    let sign = |c: usize, j: usize| if (c * 31 + j * 17) % 11 < 5 { -1.0 } else { 1.0 };
    let centroids: Vec<f32> =
        (0..k).flat_map(|c| (0..d).map(|j| base[j] * sign(c % 90, j)).collect::<Vec<_>>()).collect();
    let points: Vec<f32> = (0..n * d).map(|i| if i % d == i / d % 7 { 1.5 } else { 0.0 }).collect();
    let settled = check_tier(Tier::Hopper, "equal lengths", &points, &centroids, d, 30);
    assert!(settled.iter().all(|&s| s == n), "{settled:?}");
}

#[test]
fn a_few_long_centroids_do_not_widen_the_margins_of_short_ones() {
    let (n, k, d) = (200, 270, 144);
    let mut centroids = numbers::<f32>(Data::Unit, k * d, 41);
    let points: Vec<f32> =
        (0..n).flat_map(|i| centroids[i * d..][..d].iter().map(|v| v * 1.25).collect::<Vec<_>>()).collect();
    // The last tile has nothing but long ones.
    for c in 256..k {
        centroids[c * d..][..d].iter_mut().for_each(|v| *v *= 1000.0);
    }
    let settled = check_tier(Tier::Hopper, "few long", &points, &centroids, d, 30);
    assert_eq!(settled[0], 0);
}
