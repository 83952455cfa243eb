//! Kernels for many groups at once give each group what the reference gives it alone, bit for bit.

mod common;

use std::ops::Range;

use common::{Data, bits, launch, numbers, words};
use kmeans_core::Scalar;
use kmeans_core::fixed::{ExponentRange, FixedPoint};
use kmeans_core::launch as contract;
use kmeans_core::reference::{self, EmptyClusterFound, Fit};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::groups::{self, assign, begin, decide, empty, exact as by_distance, fused, inertia, partition};
use kmeans_kernels::inertia::Many;
use kmeans_kernels::seeding::NO_ROW;
use kmeans_kernels::update::fixed::{Format, Limbs, Narrow, Wide};
use kmeans_kernels::{scale, update};

/// Groups of the given sizes, a row that belongs to none between them.
fn ranges(sizes: &[u64]) -> (Vec<Range<usize>>, usize) {
    let mut at = 1;
    let ranges = sizes.iter().map(|&size| {
        let range = at..at + size as usize;
        at = range.end + 1;
        range
    });
    (ranges.collect(), at)
}

/// The table of tiles, as the device makes it.
struct Tables {
    ranges: Buffer<u64>,
    starts: Buffer<u32>,
    owners: Buffer<u32>,
    tiles: u64,
    tile_rows: u32,
}

impl Tables {
    fn new(emulator: &Emulator, groups: &[Range<usize>], n: usize, tile_rows: u32) -> Self {
        let flat: Vec<u64> = groups.iter().flat_map(|g| [g.start as u64, g.end as u64]).collect();
        let count = groups.len() as u32;
        let tiles = contract::group_tiles(n as u64, count, tile_rows);
        let ranges = emulator.buffer("ranges", &flat);
        let starts = emulator.uninitialised("starts", groups.len() + 1);
        let owners = emulator.uninitialised("owners", tiles as usize);
        launch(emulator, &contract::GROUPS_STARTS, contract::groups_starts(), || {
            groups::table::starts(ranges.input(), starts.output(), tile_rows, count);
        });
        launch(emulator, &contract::GROUPS_OWNERS, contract::GROUPS_OWNERS.thread_each(tiles), || {
            groups::table::owners(starts.input(), owners.output(), tiles as u32, count);
        });
        Self { ranges, starts, owners, tiles, tile_rows }
    }
}

#[test]
fn tiles_cover_each_group_once() {
    for (sizes, tile_rows) in
        [(vec![1], 64), (vec![64, 65, 0, 63, 0, 0, 200], 64), (vec![0, 0], 64), (vec![7; 1500], 4), (vec![3000], 128)]
    {
        let (groups, n) = ranges(&sizes);
        let emulator = Emulator::new(sizes.len() as u64);
        let tables = Tables::new(&emulator, &groups, n, tile_rows);
        let mut expected = Vec::new();
        let mut starts = vec![0];
        for (g, size) in sizes.iter().enumerate() {
            expected.extend(vec![g as u32; size.div_ceil(tile_rows as u64) as usize]);
            starts.push(expected.len() as u32);
        }
        expected.resize(tables.tiles as usize, contract::NO_GROUP);
        assert_eq!(tables.starts.to_vec(), starts);
        assert_eq!(tables.owners.to_vec(), expected);
    }
}

/// How labels and sums are found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Fused,
    Apart,
}

/// A problem of many groups.
struct Problem<T> {
    points: Vec<T>,
    groups: Vec<Range<usize>>,
    starts: Vec<T>,
    k: usize,
    d: usize,
    what: String,
}

impl<T: Scalar> Problem<T> {
    fn new(sizes: &[u64], k: usize, d: usize, data: Data, seed: u64) -> Self {
        let (groups, n) = ranges(sizes);
        let points = numbers::<T>(data, n * d, seed);
        // Rows of each group, the first twice, so that a cluster is empty; some from elsewhere.
        let random = Random::new(seed, 3);
        let mut starts = Vec::new();
        for group in &groups {
            for c in 0..k {
                let row = match c {
                    0 | 1 => group.start,
                    _ => group.start + random.below(group.len() as u64, Purpose::Point, 5, c as u64) as usize,
                };
                starts.extend_from_slice(&points[row * d..][..d]);
            }
        }
        let what = format!("{} {data:?} {sizes:?} k {k} d {d}", T::NAME);
        Self { points, groups, starts, k, d, what }
    }

    fn own(&self, g: usize) -> &[T] {
        let group = &self.groups[g];
        &self.points[group.start * self.d..group.end * self.d]
    }

    fn expected(&self, settings: &Settings) -> Vec<Result<Fit<T>, EmptyClusterFound>> {
        let size = self.k * self.d;
        (0..self.groups.len())
            .map(|g| reference::lloyd(self.own(g), self.d, None, &self.starts[g * size..][..size], settings))
            .collect()
    }
}

/// What a run of the kernels leaves.
struct Outcome<T> {
    labels: Vec<u32>,
    centroids: Vec<T>,
    counts: Vec<u64>,
    states: Vec<u32>,
    iterations: Vec<u32>,
    vacant: Vec<u32>,
    inertias: Vec<f64>,
    history: Vec<(Vec<f64>, Vec<f64>, Vec<u64>)>,
}

/// Limbs that hold all products of numbers of `range` in units of their lowest bit.
fn limbs_for<T: Scalar>(range: ExponentRange, n: usize) -> (i32, u32) {
    if range.is_zero() {
        return (0, 3);
    }
    // Means have bits below those of the points, as the type allows.
    let lowest = range.low;
    let low = range.low - n.ilog2() as i32 - 1 - T::DIGITS;
    let range = ExponentRange { low: low.max(T::MIN_EXPONENT), high: range.high + 1 };
    let products = range.product(range);
    // A whole number of limbs below the squares of the points.
    let below = (2 * lowest - products.low + 31) / 32 * 32;
    (2 * lowest - below, (products.span() as u32 + 102 + n.ilog2()) / 32 + 3)
}

/// Finds labels and sums of groups of a state up to a given one; sums are in a unit and have so many words.
type Label<'a, T> = &'a dyn Fn(&Emulator, &Device<T>, u32, (i32, u32));

/// The steps of a fit, kernel by kernel, as the host launches them.
fn run<T: Number, F: Format + scale::means::Quotient>(
    problem: &Problem<T>,
    settings: &Settings,
    way: Way,
    (exponent, words): (i32, u32),
    label: Label<T>,
    tile_rows: u32,
) -> Outcome<T> {
    let Problem { points, groups, starts, k, d, .. } = problem;
    let (n, count, k, d) = (points.len() / d, groups.len(), *k, *d);
    let emulator = Emulator::new(n as u64 + 7 * k as u64);
    let e = &emulator;
    let tables = Tables::new(e, groups, n, tile_rows);
    let range = points.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
    let (limb_exponent, limb_words) = limbs_for::<T>(range, n);
    // Squares whose spread is small add up in 128 bits, in units of some limb.
    let base = (2 * range.low - limb_exponent) / 32;
    let narrow = if !range.is_zero() && 2 * range.span() < 100 { base as u32 + 1 } else { 0 };
    let device = Device {
        points: e.buffer("points", points),
        centroids: e.buffer("centroids", starts),
        // One more cluster, for rows of no group.
        labels: e.uninitialised("labels", n),
        before: e.uninitialised("before", n),
        sums: e.buffer("sums", &vec![0_u64; (count * k + 1) * d * words as usize]),
        counts: e.buffer("counts", &vec![0_u64; count * k + 1]),
        changed: e.buffer("changed", &vec![0_u64; count]),
        states: e.buffer("states", &vec![contract::RUNNING; count]),
        tables,
        k: k as u32,
        d: d as u32,
    };
    let t = &device.tables;
    let moved_again = e.buffer("moved_again", &vec![0_u64; count]);
    let moved = e.buffer("moved", &vec![0.0_f64; count * k]);
    let squares = e.buffer("squares", &vec![0_u64; count * limb_words as usize]);
    let limbs = e.buffer("limbs", &vec![0_u64; count * limb_words as usize]);
    let (vacant, iterations) = (e.buffer("vacant", &vec![0_u32; count]), e.buffer("iterations", &vec![0_u32; count]));
    let (inertias, movements) =
        (e.buffer("inertias", &vec![0.0_f64; count]), e.buffer("movements", &vec![0.0_f64; count]));
    let changes = e.buffer("changes", &vec![0_u64; count]);
    let distances = e.uninitialised("distances", n);
    let (rule, limits): (u32, Vec<f64>) = match settings.stop {
        Stop::RelativeTolerance(tolerance) => {
            let limit = |g| tolerance * reference::mean_variance(problem.own(g), d);
            (contract::BY_TOLERANCE, (0..count).map(limit).collect())
        }
        Stop::Movement(limit) => (contract::BY_MOVEMENT, vec![limit; count]),
        Stop::LabelsChanged(share) => {
            (contract::BY_CHANGES, groups.iter().map(|group| share * group.len() as f64).collect())
        }
        _ => (contract::BY_NOTHING, vec![0.0; count]),
    };
    let limits = e.buffer("limits", &limits);
    launch(e, &contract::GROUPS_OUTSIDE, contract::GROUPS_OUTSIDE.thread_each(n as u64), || {
        groups::labels::outside(device.labels.output(), (count * k) as u32, n as u64);
    });
    launch(e, &contract::GROUPS_SQUARES_MANY, contract::groups_squares(t.tiles), || {
        let (r, s, o) = (t.ranges.input(), t.starts.input(), t.owners.input());
        let (limbs, words) = (squares.output(), limb_words);
        groups::squares::squares::<T, Many>(
            device.points.input(),
            r,
            s,
            o,
            limbs,
            limb_exponent,
            words,
            narrow,
            tile_rows,
            d as u32,
        );
    });
    let parts = contract::group_parts(k as u32, d as u32, words);
    let begin = |most| {
        let sum_words = if way == Way::Fused { k as u64 * d as u64 * words as u64 } else { 0 };
        launch(
            e,
            &contract::GROUPS_BEGIN,
            contract::groups_parts(&contract::GROUPS_BEGIN, count as u32, parts),
            || {
                let (changed, again) = (device.changed.output(), moved_again.output());
                let (sums, counts) = (device.sums.output(), device.counts.output());
                begin::begin(device.states.input(), changed, again, sums, counts, sum_words, most, parts, k as u32);
            },
        );
    };
    let inertia = |most| {
        squares.to_vec().into_iter().enumerate().for_each(|(i, limb)| limbs.set(i as u64, limb));
        let geometry = contract::groups_parts(&contract::GROUPS_INERTIA_MANY, count as u32, parts);
        launch(e, &contract::GROUPS_INERTIA_MANY, geometry, || {
            let (sums, counts, c) = (device.sums.input(), device.counts.input(), device.centroids.input());
            let (s, l) = (device.states.input(), limbs.output());
            inertia::inertia::<T, Many>(
                sums,
                counts,
                c,
                s,
                l,
                exponent,
                words,
                limb_exponent,
                limb_words,
                most,
                parts,
                k as u32,
                d as u32,
            );
        });
    };
    let mut history = Vec::new();
    for round in 0..settings.max_iter {
        let first = (round == 0) as u32;
        begin(contract::RUNNING);
        label(e, &device, contract::RUNNING, (exponent, words));
        inertia(contract::RUNNING);
        if settings.empty == EmptyCluster::Farthest {
            let geometry = contract::groups_tiles(&contract::GROUPS_VACANT, count as u64);
            launch(e, &contract::GROUPS_VACANT, geometry, || {
                let (c, s, h) = (device.counts.input(), device.states.input(), device.changed.input());
                empty::count(c, s, h, vacant.output(), first, k as u32);
            });
            let geometry = contract::groups_tiles(&contract::GROUPS_DISTANCES, t.tiles);
            launch(e, &contract::GROUPS_DISTANCES, geometry, || {
                let (x, c, l) = (device.points.input(), device.centroids.input(), device.labels.input());
                let (r, s, o) = (t.ranges.input(), t.starts.input(), t.owners.input());
                empty::distances(x, c, l, r, s, o, vacant.input(), distances.output(), tile_rows, d as u32);
            });
            launch(e, &contract::GROUPS_FILL_LIMBS, contract::groups_fill(count as u32), || {
                let (x, f, r) = (device.points.input(), distances.input(), t.ranges.input());
                let (v, b, l) = (vacant.input(), device.before.input(), device.labels.output());
                let (sums, counts) = (device.sums.output(), device.counts.output());
                let again = moved_again.output();
                empty::fill::<T, F>(x, f, r, v, b, l, sums, counts, again, exponent, words, k as u32, d as u32);
            });
        }
        launch(e, &contract::GROUPS_UPDATE_LIMBS, contract::groups_update((count * k) as u64), || {
            let (sums, counts, s) = (device.sums.input(), device.counts.input(), device.states.input());
            let (h, c, m) = (device.changed.input(), device.centroids.output(), moved.output());
            let (groups, k, d) = (count as u32, k as u32, d as u32);
            groups::update::update::<T, F>(sums, counts, s, h, c, m, exponent, words, first, groups, k, d);
        });
        let running = e.buffer("running", &[0_u32]);
        launch(e, &contract::GROUPS_DECIDE, contract::groups_decide(count as u32), || {
            decide::decide(
                t.ranges.input(),
                device.changed.input(),
                moved_again.input(),
                device.counts.input(),
                moved.input(),
                limbs.input(),
                limits.input(),
                device.states.output(),
                iterations.output(),
                vacant.output(),
                inertias.output(),
                movements.output(),
                changes.output(),
                running.output(),
                rule,
                (settings.empty == EmptyCluster::Error) as u32,
                limb_exponent,
                limb_words,
                first,
                k as u32,
            );
        });
        history.push((inertias.to_vec(), movements.to_vec(), changes.to_vec()));
        let going_on = device.states.to_vec().iter().filter(|&&s| s == contract::RUNNING).count();
        assert_eq!(running.to_vec(), [going_on as u32]);
        if going_on == 0 {
            break;
        }
    }
    begin(contract::STOPPED);
    label(e, &device, contract::STOPPED, (exponent, words));
    inertia(contract::STOPPED);
    launch(e, &contract::GROUPS_ROUND, contract::GROUPS_ROUND.thread_each(count as u64), || {
        let (l, s, i) = (limbs.input(), device.states.input(), inertias.output());
        inertia::round(l, s, i, limb_exponent, limb_words, contract::STOPPED, count as u32);
    });
    Outcome {
        labels: device.labels.to_vec(),
        centroids: device.centroids.to_vec(),
        counts: device.counts.to_vec(),
        states: device.states.to_vec(),
        iterations: iterations.to_vec(),
        vacant: vacant.to_vec(),
        inertias: inertias.to_vec(),
        history,
    }
}

/// What all steps of a round share.
struct Device<T> {
    points: Buffer<T>,
    centroids: Buffer<T>,
    labels: Buffer<u32>,
    before: Buffer<u32>,
    sums: Buffer<u64>,
    counts: Buffer<u64>,
    changed: Buffer<u64>,
    states: Buffer<u32>,
    tables: Tables,
    k: u32,
    d: u32,
}

/// Labels by `f32` with D behind it, or by D alone for `f64`.
fn label_single<T: Number>(e: &Emulator, v: &Device<T>, most: u32) {
    let t = &v.tables;
    let body = |exact: bool| {
        let (x, c, r, s, o) =
            (v.points.input(), v.centroids.input(), t.ranges.input(), t.starts.input(), t.owners.input());
        let (g, l, b, h) = (v.states.input(), v.labels.output(), v.before.output(), v.changed.output());
        if exact {
            by_distance::exact(x, c, r, s, o, g, l, b, h, t.tile_rows, most, v.k, v.d);
        } else {
            assign::assign(x, c, r, s, o, g, l, b, h, t.tile_rows, most, v.k, v.d);
        }
    };
    if T::NAME == "f64" {
        launch(e, &contract::GROUPS_EXACT, contract::groups_exact(t.tiles), || body(true));
    } else {
        launch(e, &contract::GROUPS_ASSIGN, contract::groups_assign(t.tiles, v.k, v.d), || body(false));
    }
}

/// Labels and sums apart: the sums by the kernels for one group.
fn apart<T: Number, F: Format>(e: &Emulator, v: &Device<T>, most: u32, (exponent, words): (i32, u32)) {
    label_single(e, v, most);
    let n = v.labels.to_vec().len() as u64;
    for index in 0..v.sums.to_vec().len() as u64 {
        v.sums.set(index, 0);
    }
    let mut counts = vec![0; v.counts.to_vec().len()];
    v.labels.to_vec().iter().for_each(|&label| counts[label as usize] += 1);
    counts.into_iter().enumerate().for_each(|(c, count)| v.counts.set(c as u64, count));
    launch(e, &contract::SUM_PER_ELEMENT_LIMBS, contract::sum_per_element(n, v.d), || {
        let (x, l, s) = (v.points.input(), v.labels.input(), v.sums.output());
        update::per_element::per_element::<T, F>(x, l, s, exponent, words, n, v.d);
    });
}

fn together<T: Number, F: update::registers::InRegisters>(
    e: &Emulator,
    v: &Device<T>,
    most: u32,
    (exponent, words): (i32, u32),
) {
    let t = &v.tables;
    launch(e, &contract::GROUPS_FUSED_WIDE, contract::groups_fused(t.tiles, v.k, v.d, words), || {
        fused::fused::<T, F>(
            v.points.input(),
            v.centroids.input(),
            t.ranges.input(),
            t.starts.input(),
            t.owners.input(),
            v.states.input(),
            v.labels.output(),
            v.before.output(),
            v.changed.output(),
            v.sums.output(),
            v.counts.output(),
            exponent,
            t.tile_rows,
            most,
            v.k,
            v.d,
        );
    });
}

/// Fits all groups in one way and compares each with the reference.
fn check<T: Number>(problem: &Problem<T>, settings: &Settings, way: Way, tile_rows: u32) {
    let n = problem.points.len() / problem.d;
    let range = problem.points.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())));
    let format = FixedPoint::for_sums(range, n as u64);
    let sums = (format.exponent, words(format));
    if way == Way::Fused && (sums.1 > 2 || T::NAME == "f64") {
        return;
    }
    let found = match (way, sums.1) {
        (Way::Fused, 1) => {
            run::<T, Narrow>(problem, settings, way, sums, &|e, v, m, s| together::<T, Narrow>(e, v, m, s), tile_rows)
        }
        (Way::Fused, _) => {
            run::<T, Wide>(problem, settings, way, sums, &|e, v, m, s| together::<T, Wide>(e, v, m, s), tile_rows)
        }
        (_, 1) => {
            run::<T, Narrow>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Narrow>(e, v, m, s), tile_rows)
        }
        (_, 2) => run::<T, Wide>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Wide>(e, v, m, s), tile_rows),
        _ => run::<T, Limbs>(problem, settings, way, sums, &|e, v, m, s| apart::<T, Limbs>(e, v, m, s), tile_rows),
    };
    let (k, d) = (problem.k, problem.d);
    for (g, expected) in problem.expected(settings).into_iter().enumerate() {
        let what = format!("{} {way:?} {settings:?} group {g}", problem.what);
        let fit = match expected {
            Err(failed) => {
                assert_eq!(found.states[g], contract::FAILED, "{what}");
                assert_eq!(
                    (found.vacant[g], found.iterations[g]),
                    (failed.cluster as u32, failed.iteration as u32),
                    "{what}"
                );
                continue;
            }
            Ok(fit) => fit,
        };
        let rows = problem.groups[g].clone();
        let labels: Vec<u32> = found.labels[rows].iter().map(|&l| l - (g * k) as u32).collect();
        assert_eq!(labels, fit.labels, "{what}");
        assert_eq!(bits(&found.centroids[g * k * d..][..k * d]), bits(&fit.centroids), "{what}");
        assert_eq!(found.counts[g * k..][..k], fit.counts, "{what}");
        assert_eq!(found.iterations[g] as usize, fit.iterations, "{what}");
        assert_eq!(matches!(found.states[g], contract::STOPPED | contract::REPEATED), fit.converged, "{what}");
        assert_eq!(found.inertias[g].to_bits(), fit.inertia.to_bits(), "{what}");
        for (round, (record, found)) in fit.history.iter().zip(&found.history).enumerate() {
            let what = format!("{what} round {round}");
            assert_eq!(found.0[g].to_bits(), record.inertia.to_bits(), "{what}");
            assert_eq!(found.1[g].to_bits(), record.movement.to_bits(), "{what}");
            assert_eq!(found.2[g], record.labels_changed, "{what}");
        }
    }
}

fn settings(stop: Stop, empty: EmptyCluster, max_iter: usize) -> Settings {
    Settings { max_iter, stop, empty }
}

/// Sizes around those of a step and of a tile; groups of one row, of as many as clusters.
const SIZES: [u64; 5] = [70, 9, 64, 129, 12];

fn every_shape<T: Number>() {
    for (seed, (k, d)) in [(8, 5), (2, 1), (9, 12), (3, 130), (8, 128), (1, 3)].into_iter().enumerate() {
        for (i, data) in [Data::Grid, Data::Unit, Data::Offset].into_iter().enumerate() {
            let problem = Problem::<T>::new(&SIZES, k, d, data, seed as u64);
            for way in [Way::Fused, Way::Apart] {
                // One shape sees everything, the others some.
                if seed > 0 && (seed + i + way as usize) % 2 == 1 {
                    continue;
                }
                check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3), way, [64, 128][seed % 2]);
            }
        }
    }
}

#[test]
fn groups_of_f32_are_fitted_as_each_alone() {
    every_shape::<f32>();
}

#[test]
fn groups_of_f64_are_fitted_as_each_alone() {
    every_shape::<f64>();
}

#[test]
fn groups_of_f16_and_bf16_are_fitted_as_each_alone() {
    every_shape::<half::f16>();
    every_shape::<half::bf16>();
}

#[test]
fn every_stop_rule_and_policy_decides_for_each_group() {
    let problem = Problem::<f32>::new(&SIZES, 5, 3, Data::Unit, 11);
    for stop in [Stop::LabelsRepeat, Stop::RelativeTolerance(0.03), Stop::Movement(0.2), Stop::LabelsChanged(0.2)] {
        for policy in [EmptyCluster::Farthest, EmptyCluster::Keep, EmptyCluster::Error] {
            for way in [Way::Fused, Way::Apart] {
                check(&problem, &settings(stop, policy, 20), way, 64);
            }
        }
    }
    // Without a round, labels are those of the start.
    check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 0), Way::Fused, 64);
}

#[test]
fn some_groups_fail_and_others_go_on() {
    let mut problem = Problem::<f32>::new(&SIZES, 3, 2, Data::Unit, 5);
    // Distinct starts for all groups but the second.
    let (k, d) = (problem.k, problem.d);
    for g in [0, 2, 3, 4] {
        for c in 0..k {
            let row = problem.groups[g].start + 2 * c;
            let values = problem.points[row * d..][..d].to_vec();
            problem.starts[(g * k + c) * d..][..d].copy_from_slice(&values);
        }
    }
    let settings = settings(Stop::LabelsRepeat, EmptyCluster::Error, 10);
    let fails: Vec<bool> = problem.expected(&settings).iter().map(Result::is_err).collect();
    assert_eq!(fails, [false, true, false, false, false]);
    check(&problem, &settings, Way::Fused, 64);
}

#[test]
fn sums_of_any_range_are_exact() {
    for (k, d) in [(4, 3), (20, 2)] {
        check(
            &Problem::<f32>::new(&SIZES, k, d, Data::Extreme, 3),
            &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3),
            Way::Apart,
            64,
        );
        check(
            &Problem::<f64>::new(&SIZES, k, d, Data::Extreme, 4),
            &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 3),
            Way::Apart,
            64,
        );
    }
    check(
        &Problem::<f32>::new(&[40, 30], 4, 2, Data::Same, 3),
        &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 5),
        Way::Fused,
        64,
    );
}

#[test]
fn more_centroids_than_shared_memory_holds_go_through_it_in_windows() {
    // 40 centroids, 32 at a time; 70 wide sums of 129 columns do not fit, and runs are added to global memory.
    for (k, d) in [(40, 7), (33, 128), (70, 129)] {
        let problem = Problem::<f32>::new(&[150, 80], k, d, Data::Unit, 8);
        for way in [Way::Fused, Way::Apart] {
            check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Keep, 2), way, 128);
        }
    }
    assert_eq!(contract::group_sum_words(70, 129, 2), 0);
    assert!(
        contract::groups_fuse(8, 128, 2) && contract::groups_fuse(16, 1000, 2) && !contract::groups_fuse(70, 129, 2)
    );
}

#[test]
fn rows_between_two_centroids_are_settled_in_each_group() {
    // Points at the middle of two centroids, and as little to either side as the type can say; the two trade places in the
    // second group, so that ties go the other way.
    for d in [1, 7, 128, 200] {
        let middle = numbers::<f32>(Data::Unit, d, 1);
        let apart = numbers::<f32>(Data::Grid, d, 2);
        let at = |shift: f32| (0..d).map(|j| middle[j] + shift * apart[j] / 64.0).collect::<Vec<f32>>();
        let mut points = vec![0.0; d];
        for _ in 0..2 {
            for i in 0..80_i32 {
                points.extend(at((i - 40) as f32 * 2.0_f32.powi(-(i % 24))));
            }
            points.extend(vec![0.0; d]);
        }
        let starts = [at(1.0), at(-1.0), at(-1.0), at(1.0)].concat();
        let what = format!("between two, d {d}");
        let problem = Problem { points, groups: vec![1..81, 82..162], starts, k: 2, d, what };
        for way in [Way::Fused, Way::Apart] {
            check(&problem, &settings(Stop::LabelsRepeat, EmptyCluster::Keep, 2), way, 64);
        }
    }
}

#[test]
fn random_labels_are_those_of_each_group() {
    let (groups, n) = ranges(&SIZES);
    let emulator = Emulator::new(1);
    let t = Tables::new(&emulator, &groups, n, 64);
    let seeds: Vec<u64> = (0..groups.len() as u64).map(|g| g * 77).collect();
    let own = emulator.buffer("seeds", &seeds);
    let labels = emulator.buffer("labels", &vec![u32::MAX; n]);
    let geometry = contract::groups_tiles(&contract::GROUPS_RANDOM_LABELS, t.tiles);
    launch(&emulator, &contract::GROUPS_RANDOM_LABELS, geometry, || {
        let (r, s, o) = (t.ranges.input(), t.starts.input(), t.owners.input());
        groups::labels::random(r, s, o, own.input(), labels.output(), 2, 64, 9);
    });
    let labels = labels.to_vec();
    for (g, group) in groups.iter().enumerate() {
        for (i, row) in group.clone().enumerate() {
            let label = seeding::random_label(i, 9, &Random::new(seeds[g], 2));
            assert_eq!(labels[row], g as u32 * 9 + label);
        }
    }
}

fn reordered<T: Number>() {
    for (sizes, k, d, tile_rows) in [(&SIZES[..], 7, 8, 64), (&[600, 1, 300], 3, 5, 128), (&[520], 40, 3, 512)] {
        let (groups, n) = ranges(sizes);
        let emulator = Emulator::new(k as u64);
        let e = &emulator;
        let t = Tables::new(e, &groups, n, tile_rows);
        let points = numbers::<T>(Data::Unit, n * d, 5);
        let mut labels = vec![(groups.len() * k) as u32; n];
        let mut counts = vec![0_u64; groups.len() * k];
        let (mut expected, mut children): (Vec<usize>, _) = ((0..n).collect(), Vec::new());
        for (g, group) in groups.iter().enumerate() {
            for (row, label) in group.clone().zip(common::labels(group.len(), k, g as u64)) {
                labels[row] = (g * k) as u32 + label;
                counts[labels[row] as usize] += 1;
            }
            expected[group.clone()].sort_by_key(|&row| labels[row]);
            let mut place = group.start as u64;
            for &count in &counts[g * k..][..k] {
                children.extend([place, place + count]);
                place += count;
            }
        }
        let order: Vec<u64> = (0..n as u64).map(|row| 10 * row).collect();
        let (x, l, c, o) = (
            e.buffer("points", &points),
            e.buffer("labels", &labels),
            e.buffer("counts", &counts),
            e.buffer("order", &order),
        );
        let (ranges, starts, owners) = (t.ranges.input(), t.starts.input(), t.owners.input());
        let own = e.uninitialised::<u64>("children", children.len());
        let bins = e.buffer("bins", &vec![0_u32; t.tiles as usize * k]);
        let places = e.uninitialised::<u64>("places", n);
        let (moved, moved_order) = (e.uninitialised::<T>("moved", n * d), e.uninitialised::<u64>("moved_order", n));
        let per_group = |kernel, blocks: usize| contract::groups_tiles(kernel, blocks as u64);
        launch(e, &contract::GROUPS_CHILDREN, per_group(&contract::GROUPS_CHILDREN, groups.len()), || {
            partition::children(ranges, c.input(), own.output(), k as u32);
        });
        launch(e, &contract::GROUPS_HISTOGRAM, per_group(&contract::GROUPS_HISTOGRAM, t.tiles as usize), || {
            partition::histogram(l.input(), ranges, starts, owners, bins.output(), tile_rows, k as u32);
        });
        launch(e, &contract::GROUPS_BASES, per_group(&contract::GROUPS_BASES, groups.len() * k), || {
            partition::bases(starts, bins.output(), k as u32);
        });
        launch(e, &contract::GROUPS_STAY, contract::GROUPS_STAY.thread_each(n as u64), || {
            partition::stay(places.output(), n as u64);
        });
        launch(e, &contract::GROUPS_PLACES, contract::groups_places(t.tiles), || {
            let (own, places) = (own.input(), places.output());
            partition::places(l.input(), ranges, starts, owners, own, bins.output(), places, tile_rows, k as u32);
        });
        launch(e, &contract::GROUPS_CARRY, contract::groups_carry(n as u64), || {
            let (moved, moved_order) = (moved.output(), moved_order.output());
            partition::carry(x.input(), o.input(), places.input(), moved, moved_order, n as u64, d as u32);
        });
        assert_eq!(own.to_vec(), children);
        assert_eq!(moved_order.to_vec(), expected.iter().map(|&row| 10 * row as u64).collect::<Vec<_>>());
        let rows: Vec<T> = expected.iter().flat_map(|&row| points[row * d..][..d].to_vec()).collect();
        assert_eq!(bits(&moved.to_vec()), bits(&rows));
    }
}

#[test]
fn rows_of_each_group_go_in_the_order_of_their_labels() {
    for_each_type!(reordered());
}

fn seeded<T: Number>() {
    for (sizes, k, d, data) in [
        (&SIZES[..], 5, 3, Data::Unit),
        (&[300, 7], 7, 40, Data::Grid),
        (&[20, 20], 4, 2, Data::Same),
        (&[140], 30, 1, Data::Grid),
    ] {
        let problem = Problem::<T>::new(sizes, k, d, data, 2);
        let (groups, n) = (&problem.groups, problem.points.len() / d);
        let seeds: Vec<u64> = (0..groups.len() as u64).map(|g| 5 * g + 1).collect();
        let emulator = Emulator::new(n as u64);
        let e = &emulator;
        let t = Tables::new(e, groups, n, 64);
        let (ranges, starts, owners) = (t.ranges.input(), t.starts.input(), t.owners.input());
        let trials = seeding::trials(k) as u32;
        let firsts: Vec<u64> = groups
            .iter()
            .zip(&seeds)
            .map(|(group, &seed)| {
                let random = Random::new(seed, 0);
                (group.start + seeding::first_row(group.len(), None, &random, Purpose::PlusPlus)) as u64
            })
            .collect();
        let x = e.buffer("points", &problem.points);
        let own_seeds = e.buffer("seeds", &seeds);
        let rows = e.buffer("rows", &firsts);
        let nearest = e.uninitialised::<f64>("nearest", n);
        let largest = e.buffer("largest", &vec![0_u64; groups.len()]);
        let amounts = e.uninitialised::<u64>("amounts", t.tiles as usize);
        let trial_rows = e.uninitialised::<u64>("trial_rows", groups.len() * trials as usize);
        let potentials = e.buffer("potentials", &vec![0_u64; groups.len() * trials as usize]);
        let picked = e.buffer("picked", &vec![NO_ROW; groups.len() * k]);
        let near = |first: u32| {
            let geometry = contract::groups_seed_nearest(t.tiles, T::SIZE);
            launch(e, &contract::GROUPS_SEED_NEAREST, geometry, || {
                let (near, largest) = (nearest.output(), largest.output());
                groups::seeding::nearest(
                    x.input(),
                    ranges,
                    starts,
                    owners,
                    rows.input(),
                    near,
                    largest,
                    64,
                    first,
                    d as u32,
                );
            });
        };
        near(1);
        for step in 1..k as u32 {
            let geometry = contract::groups_tiles(&contract::GROUPS_SEED_AMOUNTS, t.tiles);
            launch(e, &contract::GROUPS_SEED_AMOUNTS, geometry, || {
                groups::seeding::amounts(
                    nearest.input(),
                    ranges,
                    starts,
                    owners,
                    largest.input(),
                    amounts.output(),
                    64,
                );
            });
            let purpose = Purpose::PlusPlus as u32;
            let geometry = contract::groups_seed_draw(groups.len() as u32, trials);
            launch(e, &contract::GROUPS_SEED_DRAW, geometry, || {
                let (seeds, largest, amounts) = (own_seeds.input(), largest.input(), amounts.input());
                let rows = trial_rows.output();
                groups::seeding::draw(
                    nearest.input(),
                    ranges,
                    starts,
                    seeds,
                    largest,
                    amounts,
                    rows,
                    64,
                    0,
                    purpose,
                    step,
                    trials,
                );
            });
            let geometry = contract::groups_seed_potentials(t.tiles, T::SIZE);
            launch(e, &contract::GROUPS_SEED_POTENTIALS, geometry, || {
                let (rows, near, largest) = (trial_rows.input(), nearest.input(), largest.input());
                let left = potentials.output();
                groups::seeding::potentials(
                    x.input(),
                    ranges,
                    starts,
                    owners,
                    rows,
                    near,
                    largest,
                    left,
                    64,
                    trials,
                    d as u32,
                );
            });
            let geometry = contract::GROUPS_SEED_CHOOSE.thread_each(groups.len() as u64);
            launch(e, &contract::GROUPS_SEED_CHOOSE, geometry, || {
                let (left, largest, picked) = (potentials.output(), largest.output(), picked.output());
                let count = groups.len() as u32;
                groups::seeding::choose(
                    trial_rows.input(),
                    left,
                    largest,
                    picked,
                    rows.output(),
                    trials,
                    step,
                    k as u32,
                    count,
                );
            });
            near(0);
        }
        let picked = picked.to_vec();
        for (g, group) in groups.iter().enumerate() {
            let random = Random::new(seeds[g], 0);
            let expected = seeding::plus_plus(problem.own(g), d, None, k, trials as usize, &random, Purpose::PlusPlus);
            let mut found = vec![firsts[g] as usize - group.start];
            for &row in &picked[g * k + 1..(g + 1) * k] {
                found.push(match row {
                    // What the host does where there was nothing to draw from.
                    NO_ROW => {
                        let left = (group.len() - found.len()) as u64;
                        let draw = random.below(left, Purpose::PlusPlus, found.len() as u32, 0);
                        seeding::untaken_row(draw as usize, &found)
                    }
                    row => row as usize - group.start,
                });
            }
            assert_eq!(found, expected, "{} group {g}", problem.what);
        }
    }
}

#[test]
fn seeding_picks_the_rows_of_each_group_alone() {
    for_each_type!(seeded());
}
