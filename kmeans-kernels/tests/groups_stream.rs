//! The streaming kernels, Hopper's and Ampere's, give every row the nearest of its own group's centroids.

mod common;

use std::ops::Range;

use common::{Data, TIERS, Tier, launch, numbers};
use half::{bf16, f16};
use kmeans_core::launch::{self as contract, Kernel};
use kmeans_core::{Scalar, reference};
use kmeans_kernels::assign::plan::Slices;
use kmeans_kernels::assign::stream::{stream_groups, stream_groups_rounded};
use kmeans_kernels::assign::{halves, settle, stream_mma, tiles};
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::device::{Half, Number};
use kmeans_kernels::groups::{assign, table};

/// Multiprocessors of the GPU that is played here: few, so that blocks go several rounds.
const MULTIPROCESSORS: u32 = 2;
/// Rows of tiles where labels are adopted.
const TILE_ROWS: u32 = 64;

/// Groups of rows, each with k centroids.
struct Problem<T> {
    points: Vec<T>,
    centroids: Vec<T>,
    groups: Vec<Range<usize>>,
    k: usize,
    d: usize,
}

impl<T: Scalar> Problem<T> {
    /// A row of no group comes before each group. Some centroids are points, some the same.
    fn new(sizes: &[usize], (k, d): (usize, usize), data: Data, seed: u64) -> Self {
        let (mut groups, mut n) = (Vec::new(), 1);
        for &size in sizes {
            groups.push(n..n + size);
            n += size + 1;
        }
        let points = numbers::<T>(data, n * d, seed);
        let row = |g: &Range<usize>, c: usize| (g.start + c * 7 % k % g.len().max(1)).min(n - 1) * d;
        let of = |g: &Range<usize>| (0..k).map(|c| row(g, c)).collect::<Vec<_>>();
        let centroids = groups.iter().flat_map(of).flat_map(|at| points[at..at + d].to_vec()).collect();
        Self { points, centroids, groups, k, d }
    }

    /// Numbers of clusters; the one after the last for rows of no group.
    fn expected(&self) -> Vec<u32> {
        let mut labels = vec![(self.groups.len() * self.k) as u32; self.points.len() / self.d];
        for (g, group) in self.groups.iter().enumerate() {
            let own = &self.points[group.start * self.d..group.end * self.d];
            let centroids = &self.centroids[g * self.k * self.d..][..self.k * self.d];
            for (row, label) in group.clone().zip(reference::assign(own, self.d, centroids)) {
                labels[row] = (g * self.k) as u32 + label;
            }
        }
        labels
    }
}

/// The table of tiles of `tile_rows` rows.
fn cut(e: &Emulator, ranges: &Buffer<u64>, groups: u32, n: u64, tile_rows: u32) -> (Buffer<u32>, Buffer<u32>, u64) {
    let tiles = contract::group_tiles(n, groups, tile_rows);
    let starts = e.uninitialised("starts", groups as usize + 1);
    let owners = e.uninitialised("owners", tiles as usize);
    launch(e, &contract::GROUPS_STARTS, contract::groups_starts(), || {
        table::starts(ranges.input(), starts.output(), tile_rows, groups);
    });
    launch(e, &contract::GROUPS_OWNERS, contract::GROUPS_OWNERS.thread_each(tiles), || {
        table::owners(starts.input(), owners.output(), tiles as u32, groups);
    });
    (starts, owners, tiles)
}

/// A matrix as tensor cores read it, with what bounds need of it.
struct Prepared<H> {
    elements: Buffer<H>,
    norms: Buffer<f32>,
    errors: Option<Buffer<f32>>,
    largest: Buffer<u32>,
}

/// The labels of a problem whose points and centroids `prepare` makes 16-bit matrices of, `width` columns wide.
fn labels<T: Number, H: Half>(
    tier: Tier,
    problem: &Problem<T>,
    width: u32,
    room: u32,
    prepare: impl Fn(&Emulator, &Buffer<T>, u64) -> Prepared<H>,
) -> (Vec<u32>, usize) {
    let (n, k, d) = ((problem.points.len() / problem.d) as u64, problem.k as u32, problem.d as u32);
    let groups = problem.groups.len() as u32;
    let emulator = Emulator::new(n + k as u64);
    let e = &emulator;
    let flat: Vec<u64> = problem.groups.iter().flat_map(|g| [g.start as u64, g.end as u64]).collect();
    let ranges = e.buffer("ranges", &flat);
    let tile_rows = if tier == Tier::Ampere { contract::STREAM_MMA_ROWS } else { contract::STREAM_ROWS };
    let (tile_starts, owners, count) = cut(e, &ranges, groups, n, tile_rows);
    let (points, centroids) = (e.buffer("points", &problem.points), e.buffer("centroids", &problem.centroids));
    let (x, c) = (prepare(e, &points, n), prepare(e, &centroids, groups as u64 * k as u64));
    let laid_tiles = groups as usize * k.div_ceil(128) as usize;
    let laid = e.uninitialised("tiles", laid_tiles * width.div_ceil(64) as usize * 128 * 64);
    let starts = e.uninitialised("score starts", laid_tiles * 128 * 16);
    let plain = e.uninitialised("plain starts", laid_tiles * 128);
    launch(e, &contract::ASSIGN_TILES, contract::assign_tiles(groups, k), || {
        let (norms, largest) = (c.norms.input(), c.largest.input());
        tiles::tiles(c.elements.input(), norms, largest, laid.output(), starts.output(), plain.output(), k, width);
    });
    let found = e.buffer("found", &vec![u32::MAX; n as usize]);
    // Rows of no group have nothing open.
    let others = e.buffer("others", &vec![u32::MAX; n as usize]);
    let (rows, codes) = (e.uninitialised("open rows", room as usize), e.uninitialised("open codes", room as usize * 8));
    let open = e.buffer("open", &[0]);
    let kernel: &Kernel = match (width, c.errors.is_some()) {
        (_, false) if tier == Tier::Ampere => &contract::GROUPS_STREAM_MMA,
        (_, true) if tier == Tier::Ampere => &contract::GROUPS_STREAM_MMA_ROUNDED,
        (..=64, false) => &contract::GROUPS_STREAM_64,
        (_, false) => &contract::GROUPS_STREAM_128,
        (..=64, true) => &contract::GROUPS_STREAM_64_ROUNDED,
        (_, true) => &contract::GROUPS_STREAM_128_ROUNDED,
    };
    let geometry = match tier {
        Tier::Ampere => contract::groups_stream_mma(count, MULTIPROCESSORS),
        Tier::Hopper => contract::groups_stream(count, width, MULTIPROCESSORS),
    };
    launch(e, kernel, geometry, || {
        let (norms, largest) = (x.norms.input(), c.largest.input());
        let (ranges, tile_starts, owners) = (ranges.input(), tile_starts.input(), owners.input());
        let (found, others) = (found.output(), others.output());
        let (rows, codes, open) = (rows.output(), codes.output(), open.output());
        let (elements, laid) = (x.elements.input(), laid.input());
        if x.errors.is_some() {
            return;
        }
        let count = count as u32;
        if tier == Tier::Ampere {
            let starts = plain.input();
            return stream_mma::stream_groups(
                elements,
                laid,
                starts,
                norms,
                largest,
                ranges,
                tile_starts,
                owners,
                found,
                others,
                rows,
                codes,
                open,
                room,
                count,
                k,
                width,
            );
        }
        let starts = starts.input();
        let stream = if width <= 64 { stream_groups::<H, Slices<1>> } else { stream_groups::<H, Slices<2>> };
        stream(
            elements,
            laid,
            starts,
            norms,
            largest,
            ranges,
            tile_starts,
            owners,
            found,
            others,
            rows,
            codes,
            open,
            room,
            count,
            k,
            width,
        );
    });
    if let Some(errors) = &x.errors {
        // Rounded points are f16 whatever H is called.
        let halves = |buffer: &Buffer<H>| {
            let values: Vec<f16> = buffer.to_vec().iter().map(|v| f16::from_f32(v.single())).collect();
            e.buffer("halves", &values)
        };
        let (elements, laid, starts) = (halves(&x.elements), halves(&laid), halves(&starts));
        launch(e, kernel, geometry, || {
            if tier == Tier::Ampere {
                return stream_mma::stream_groups_rounded(
                    elements.input(),
                    laid.input(),
                    plain.input(),
                    x.norms.input(),
                    errors.input(),
                    c.largest.input(),
                    ranges.input(),
                    tile_starts.input(),
                    owners.input(),
                    found.output(),
                    others.output(),
                    rows.output(),
                    codes.output(),
                    open.output(),
                    room,
                    count as u32,
                    k,
                    width,
                );
            }
            let stream =
                if width <= 64 { stream_groups_rounded::<Slices<1>> } else { stream_groups_rounded::<Slices<2>> };
            stream(
                elements.input(),
                laid.input(),
                starts.input(),
                x.norms.input(),
                errors.input(),
                c.largest.input(),
                ranges.input(),
                tile_starts.input(),
                owners.input(),
                found.output(),
                others.output(),
                rows.output(),
                codes.output(),
                open.output(),
                room,
                count as u32,
                k,
                width,
            );
        });
    }
    let settled = others.to_vec().iter().filter(|&&other| other != u32::MAX).count();
    launch(e, &contract::GROUPS_SETTLE, contract::assign_settle(n, MULTIPROCESSORS), || {
        let (x, c, others) = (points.input(), centroids.input(), others.input());
        let (rows, codes, open) = (rows.input(), codes.input(), open.input());
        settle::settle_groups(x, c, ranges.input(), others, rows, codes, open, room, found.output(), n, k, d, groups);
    });
    // Every other group had the right labels before: none of theirs changes.
    let mut old = problem.expected();
    let mut changes = vec![0; groups as usize];
    for (g, group) in problem.groups.iter().enumerate().filter(|(g, _)| g % 2 == 1) {
        changes[g] = group.len() as u64;
        old[group.clone()].fill(u32::MAX);
    }
    let (tile_starts, owners, count) = cut(e, &ranges, groups, n, TILE_ROWS);
    let (numbers, before) = (e.buffer("labels", &old), e.buffer("before", &old));
    let (changed, states) =
        (e.buffer("changed", &vec![0; groups as usize]), e.buffer("states", &vec![0; groups as usize]));
    launch(e, &contract::GROUPS_ADOPT, contract::groups_tiles(&contract::GROUPS_ADOPT, count), || {
        let (f, r, s, o) = (found.input(), ranges.input(), tile_starts.input(), owners.input());
        let (states, labels, before) = (states.input(), numbers.output(), before.output());
        assign::adopt(f, r, s, o, states, labels, before, changed.output(), TILE_ROWS, 0, k);
    });
    assert_eq!(changed.to_vec(), changes);
    assert_eq!(before.to_vec(), old);
    (numbers.to_vec(), settled)
}

fn as_they_are<H: Half>(tier: Tier, problem: &Problem<H>, room: u32) -> (Vec<u32>, usize) {
    let d = problem.d as u32;
    labels(tier, problem, d, room, |e, matrix: &Buffer<H>, rows| {
        let (norms, largest) = (e.uninitialised("norms", rows as usize), e.buffer("largest", &[0]));
        launch(e, &contract::ASSIGN_LENGTHS, contract::assign_lengths(rows), || {
            halves::lengths(matrix.input(), norms.output(), largest.output(), rows, d);
        });
        Prepared { elements: e.buffer("elements", &matrix.to_vec()), norms, errors: None, largest }
    })
}

fn rounded(tier: Tier, problem: &Problem<f32>, room: u32) -> (Vec<u32>, usize) {
    let (d, width) = (problem.d as u32, problem.d.next_multiple_of(8) as u32);
    let largest = problem.points.iter().fold(f32::MIN_POSITIVE, |most, v| most.max(v.abs()));
    let scale = 2.0_f32.powi((9 - largest.log2().ceil() as i32).clamp(-120, 120));
    labels(tier, problem, width, room, |e, matrix: &Buffer<f32>, rows| {
        let centre = e.buffer("centre", &vec![0.0; d as usize]);
        let elements = e.uninitialised::<f16>("halves", rows as usize * width as usize);
        let (norms, errors) = (e.uninitialised("norms", rows as usize), e.uninitialised("errors", rows as usize));
        let largest = e.buffer("largest", &[0, 0]);
        launch(e, &contract::ASSIGN_HALVES, contract::assign_lengths(rows), || {
            let (m, c, h) = (matrix.input(), centre.input(), elements.output());
            halves::halves(m, c, h, norms.output(), errors.output(), largest.output(), scale, rows, d, width);
        });
        Prepared { elements, norms, errors: Some(errors), largest }
    })
}

/// Sizes around tiles of 256 rows and of 64, groups of none and of one.
const SIZES: [usize; 6] = [300, 1, 0, 256, 40, 257];

#[test]
fn labels_are_those_of_each_group_alone() {
    TIERS.into_iter().for_each(each_group_alone);
}

fn each_group_alone(tier: Tier) {
    for (seed, shape) in [(130, 64), (32, 20), (5, 128), (129, 65)].into_iter().enumerate() {
        let seed = seed as u64;
        for data in [Data::Grid, Data::Unit] {
            let problem = Problem::<f16>::new(&SIZES, shape, data, seed);
            assert_eq!(as_they_are(tier, &problem, 20).0, problem.expected(), "{tier:?} f16 {data:?} {shape:?}");
        }
        let problem = Problem::<bf16>::new(&SIZES, shape, Data::Unit, seed);
        assert_eq!(as_they_are(tier, &problem, 20).0, problem.expected(), "{tier:?} bf16 {shape:?}");
        for data in [Data::Unit, Data::Offset] {
            let problem = Problem::<f32>::new(&SIZES, shape, data, seed);
            assert_eq!(rounded(tier, &problem, 20).0, problem.expected(), "{tier:?} f32 {data:?} {shape:?}");
        }
    }
}

#[test]
fn equal_centroids_are_settled_in_each_group() {
    // So many candidates that the list overflows, and that codes name tiles and runs of tiles.
    for (k, room) in [(140, 0), (140, 1000), (700, 30)] {
        let mut problem = Problem::<f16>::new(&[30, 20], (k, 16), Data::Grid, 3);
        let d = problem.d;
        for c in 0..2 * k {
            let from = (c / k * k + c % 2) * d;
            let row = problem.centroids[from..from + d].to_vec();
            problem.centroids[c * d..(c + 1) * d].copy_from_slice(&row);
        }
        for tier in TIERS {
            let (labels, settled) = as_they_are(tier, &problem, room);
            assert_eq!(labels, problem.expected(), "{tier:?} k {k} room {room}");
            assert_eq!(settled, 50);
        }
    }
}
