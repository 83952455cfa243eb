//! A fit of many groups, kernel by kernel, as the host launches them, in every way to find labels and sums.

use kmeans_core::Scalar;
use kmeans_core::fixed::{ExponentRange, ceil_log2};
use kmeans_core::launch as contract;
use kmeans_core::reference;
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::groups::runs::Run;
use kmeans_kernels::groups::split::Split;
use kmeans_kernels::groups::{self, assign, begin, decide, empty, exact as by_distance, fused, inertia, tensor};
use kmeans_kernels::inertia::Many;
use kmeans_kernels::update::fixed::Format;
use kmeans_kernels::{scale, update};

use crate::common::launch;
use crate::problem::{Problem, Tables};

/// How labels and sums are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Fused,
    Apart,
    /// Fused on tensor cores, the sums of 32 rows being `f64`.
    Tensor,
    /// The same, being integers.
    TensorLong,
}

/// What a run of the kernels leaves.
pub struct Outcome<T> {
    pub labels: Vec<u32>,
    pub centroids: Vec<T>,
    pub counts: Vec<u64>,
    pub states: Vec<u32>,
    pub iterations: Vec<u32>,
    pub vacant: Vec<u32>,
    pub inertias: Vec<f64>,
    pub history: Vec<(Vec<f64>, Vec<f64>, Vec<u64>)>,
}

/// Limbs that hold all products of numbers of `range` in units of their lowest bit.
pub fn limbs_for<T: Scalar>(range: ExponentRange, n: usize) -> (i32, u32) {
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
pub type Label<'a, T> = &'a dyn Fn(&Emulator, &Device<T>, u32, (i32, u32));

/// The steps of a fit, kernel by kernel, as the host launches them.
pub fn run<T: Number, F: Format + scale::means::Quotient>(
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
    let terms = contract::groups_squares_terms(tile_rows, d as u32);
    let bits = (2 * range.span() + ceil_log2(terms)) as u32;
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
            bits,
            tile_rows,
            d as u32,
        );
    });
    let parts = contract::group_parts(k as u32, d as u32, words);
    let begin = |most| {
        let sum_words = if way == Way::Apart { 0 } else { k as u64 * d as u64 * words as u64 };
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
            groups::update::update::<T, F>(
                sums,
                counts,
                s,
                h,
                c,
                m,
                exponent,
                words,
                first,
                count as u32,
                k as u32,
                d as u32,
            );
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
pub struct Device<T> {
    pub points: Buffer<T>,
    pub centroids: Buffer<T>,
    pub labels: Buffer<u32>,
    pub before: Buffer<u32>,
    pub sums: Buffer<u64>,
    pub counts: Buffer<u64>,
    pub changed: Buffer<u64>,
    pub states: Buffer<u32>,
    pub tables: Tables,
    pub k: u32,
    pub d: u32,
}

/// Labels by `f32` with D behind it, or by D alone for `f64`.
pub fn label_single<T: Number>(e: &Emulator, v: &Device<T>, most: u32) {
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
pub fn apart<T: Number, F: Format>(e: &Emulator, v: &Device<T>, most: u32, (exponent, words): (i32, u32)) {
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

pub fn together<T: Number, F: update::registers::InRegisters>(
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

/// The types, with what only some of them have.
pub trait Tested: Number {
    /// Labels and sums on tensor cores; sums of 32 rows as `R` has them.
    fn tensor<R: Run>(_: &Emulator, _: &Device<Self>, _: u32, _: (i32, u32)) {
        unreachable!("tensor cores do not multiply {}", Self::NAME);
    }
}

impl Tested for f64 {}

macro_rules! tested {
    ($($type:ty),*) => { $(
        impl Tested for $type {
            fn tensor<R: Run>(e: &Emulator, v: &Device<Self>, most: u32, sums: (i32, u32)) {
                on_tensor_cores::<Self, R>(e, v, most, sums);
            }
        }
    )* };
}

tested!(f32, half::f16, half::bf16);

fn on_tensor_cores<T: Split, R: Run>(e: &Emulator, v: &Device<T>, most: u32, (exponent, words): (i32, u32)) {
    let t = &v.tables;
    let geometry = contract::groups_tensor(t.tiles, v.k, v.d, T::IS_SPLIT, contract::MAX_SHARED_BYTES);
    launch(e, &contract::GROUPS_TENSOR_LONG, geometry.expect("few columns and clusters"), || {
        tensor::tensor::<T, R>(
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
            words,
            t.tile_rows,
            most,
            v.k,
            v.d,
        );
    });
}
