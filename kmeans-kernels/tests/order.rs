//! Rows in the order of their clusters, all or those that changed: the lists, and the sums that they give.

mod common;

use common::{Data, format, labels, launch, numbers, words};
use kmeans_core::Scalar;
use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch::{self as contract, Kernel, LEAVES, ORDER_BINS, SortedRuns};
use kmeans_core::rng::{Purpose, Random};
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::update;
use kmeans_kernels::update::fixed::{Narrow, Wide};
use kmeans_kernels::update::sorted::Runs;

/// What the kernels keep.
struct Order {
    counts: Buffer<u64>,
    touched: Buffer<u32>,
    arrivals: Buffer<u32>,
    places: Buffer<u32>,
    rows: Buffer<u32>,
    order: Buffer<u64>,
}

fn counts_of(labels: &[u32], k: usize) -> Vec<u64> {
    let mut counts = vec![0; k];
    for &label in labels {
        counts[label as usize] += 1;
    }
    counts
}

/// Runs both kernels and checks what they leave. Without `before` all rows are listed; `sums` has what was there.
fn list(e: &Emulator, before: Option<&[u32]>, after: &[u32], k: usize, sums: &Buffer<u64>) -> Order {
    let n = after.len();
    let from = before.map_or(vec![0; k], |before| counts_of(before, k));
    let own = Order {
        counts: e.buffer("counts", &from),
        touched: e.buffer("touched", &vec![0; k]),
        arrivals: e.buffer("arrivals", &[0]),
        places: e.uninitialised("places", k),
        rows: e.buffer("rows", &vec![u32::MAX; n]),
        order: e.buffer("order", &[9, 9, 0]),
    };
    let l = e.buffer("labels", after);
    let b = before.map_or_else(|| e.uninitialised("before", n), |before| e.buffer("before", before));
    let changed = e.buffer("changed", &[0_u64]);
    launch(e, &contract::ORDER_TALLY, contract::order_tally(n as u64), || {
        update::order::tally(
            b.input(),
            l.input(),
            changed.output(),
            own.counts.output(),
            own.touched.output(),
            own.places.output(),
            own.order.output(),
            own.arrivals.output(),
            before.is_none() as u32,
            n as u64,
            k as u32,
        );
    });
    let words = sums.to_vec().len() as u64;
    launch(e, &contract::ORDER_LIST, contract::order_list(n as u64), || {
        let (o, p, r) = (own.order.input(), own.places.output(), own.rows.output());
        update::order::list(b.input(), l.input(), o, p, r, sums.output(), words, n as u64);
    });

    assert_eq!(own.counts.to_vec(), counts_of(after, k));
    assert_eq!((own.touched.to_vec(), own.arrivals.to_vec()), (vec![0; k], vec![0]));
    let differ: Vec<u32> = before.map_or_else(Vec::new, |before| {
        (0..n as u32).filter(|&row| before[row as usize] != after[row as usize]).collect()
    });
    assert_eq!(changed.to_vec(), [differ.len() as u64]);
    let moves = before.is_some() && differ.len() * 8 < n * 3;
    let mut expected: Vec<(u32, u32)> = if moves {
        let leaving = differ.iter().map(|&row| (before.unwrap()[row as usize], row | LEAVES));
        leaving.chain(differ.iter().map(|&row| (after[row as usize], row))).collect()
    } else {
        (0..n as u32).map(|row| (after[row as usize], row)).collect()
    };
    expected.sort_unstable();
    assert_eq!(own.order.to_vec(), [moves as u64, expected.len() as u64, 0]);
    let ends: Vec<u32> = (0..k as u32).map(|c| expected.iter().filter(|entry| entry.0 <= c).count() as u32).collect();
    assert_eq!(own.places.to_vec(), ends);
    let mut found = own.rows.to_vec()[..expected.len()].to_vec();
    let mut begin = 0;
    for end in ends {
        found[begin..end as usize].sort_unstable();
        begin = end as usize;
    }
    assert_eq!(found, expected.iter().map(|entry| entry.1).collect::<Vec<_>>());
    own
}

/// Labels of which about one in `one_in` differs from `labels`.
fn others(labels: &[u32], k: usize, one_in: usize) -> Vec<u32> {
    labels.iter().enumerate().map(|(i, &l)| if i % one_in == 0 { (l + 1) % k as u32 } else { l }).collect()
}

#[test]
fn lists_have_the_rows_of_each_cluster() {
    let rows = (contract::ORDER_EACH * contract::ORDER_TALLY.block) as usize;
    let far = 3 * ORDER_BINS as usize;
    for (n, k) in [(1, 1), (100, 7), (rows, 40), (2 * rows + 100, 40), (rows + 1, far)] {
        let e = Emulator::new(n as u64);
        let after = labels(n, k, 3);
        let sums = e.buffer("sums", &[1_u64; 10]);
        list(&e, None, &after, k, &sums);
        assert_eq!(sums.to_vec(), [0; 10], "all rows are listed for sums that begin at zero");
        for one_in in [2, 3, 50] {
            let sums = e.buffer("sums", &[1_u64; 10]);
            let before = others(&after, k, one_in);
            list(&e, Some(&before), &after, k, &sums);
            assert_eq!(sums.to_vec() == [1; 10], k == 1 || one_in > 2, "changes are for sums that are kept");
        }
        list(&e, Some(&after), &after, k, &sums);
    }
}

#[test]
fn clusters_of_a_group_of_many_are_counted_in_shared_memory() {
    // Each group's rows name clusters close together, the numbers of which are beyond what shared memory holds.
    let (groups, k, n) = (9_u32, 2000, 5000);
    let label = |i: usize| (i / 600) as u32 * k + i as u32 * 7 % k;
    let after: Vec<u32> = (0..n).map(label).collect();
    let e = Emulator::new(1);
    let sums = e.buffer("sums", &[0_u64]);
    list(&e, None, &after, (groups * k) as usize, &sums);
    let before: Vec<u32> = after.iter().enumerate().map(|(i, &l)| if i % 5 == 0 { l / k * k } else { l }).collect();
    list(&e, Some(&before), &after, (groups * k) as usize, &sums);
}

/// Sums of `points` by their labels, one by one.
fn sums_of<T: Number, F: Runs>(
    e: &Emulator,
    x: &Buffer<T>,
    labels: &[u32],
    sizes: (usize, usize, u32),
    exponent: i32,
) -> Buffer<u64> {
    let (k, d, words) = sizes;
    let (n, sums) = (labels.len() as u64, e.buffer("sums", &vec![0_u64; k * d * words as usize]));
    let l = e.buffer("labels", labels);
    launch(e, &contract::SUM_PER_ELEMENT_WIDE, contract::sum_per_element(n, d as u32), || {
        let (x, l, s) = (x.input(), l.input(), sums.output());
        update::per_element::per_element::<T, F>(x, l, s, exponent, words, n, d as u32);
    });
    sums
}

/// Checks sums of `points`, from nothing and from those of other labels, in runs of at most `longest`.
fn check<T: Number, F: Runs>(
    kernel: &Kernel,
    points: &[T],
    (n, k, d): (usize, usize, usize),
    (exponent, words): (i32, u32),
    runs: SortedRuns,
) {
    let e = Emulator::new((n + d) as u64);
    let x = e.buffer("points", points);
    let after = labels(n, k, n as u64);
    let expected = sums_of::<T, F>(&e, &x, &after, (k, d, words), exponent).to_vec();
    let before: Vec<Option<Vec<u32>>> = vec![None, Some(others(&after, k, 2)), Some(others(&after, k, 4))];
    let each = 16 / size_of::<T>();
    for (before, vectors) in before.iter().flat_map(|b| [(b, false), (b, true)]) {
        if vectors && d % each != 0 {
            continue;
        }
        let sums = match before {
            Some(before) => sums_of::<T, F>(&e, &x, before, (k, d, words), exponent),
            None => e.buffer("sums", &vec![7_u64; k * d * words as usize]),
        };
        let own = list(&e, before.as_deref(), &after, k, &sums);
        let l = e.buffer("labels", &after);
        let b = e.buffer("before", before.as_deref().unwrap_or(&after));
        let pieces = if vectors { d / each } else { d };
        launch(&e, kernel, contract::sum_sorted(n as u64, pieces as u32), || {
            update::sorted::sorted::<T, F>(
                x.input(),
                b.input(),
                l.input(),
                own.rows.input(),
                own.places.input(),
                own.order.input(),
                sums.output(),
                exponent,
                words,
                runs.split,
                runs.longest,
                vectors as u32,
                d as u32,
            );
        });
        let what = format!("{} {} n {n} k {k} d {d} {runs:?} {vectors}", kernel.name, T::NAME);
        assert_eq!(sums.to_vec(), expected, "{what}");
    }
}

fn range<T: Scalar>(points: &[T]) -> ExponentRange {
    points.iter().fold(ExponentRange::ZERO, |r, v| r.union(ExponentRange::of(v.to_f64())))
}

/// One value, one column, rows of odd lengths, pieces for more than a warp, more clusters than rows of a run.
const ROWS: [(usize, usize, usize); 6] =
    [(1, 1, 1), (129, 130, 1), (65, 17, 17), (70, 66, 40), (200, 3, 64), (90, 5, 272)];

fn sorted<T: Number>() {
    for (n, k, d) in ROWS {
        for data in [Data::Unit, Data::Offset] {
            let points = numbers::<T>(data, n * d, n as u64);
            let format = format(&points);
            let shape = (n, k, d);
            if words(format) == 1 {
                let runs = SortedRuns::new(range(&points), 1).expect("few bits");
                let short = SortedRuns { longest: 3, ..runs };
                check::<T, Narrow>(&contract::SUM_SORTED_NARROW, &points, shape, (format.exponent, 1), short);
            }
            let runs = SortedRuns::new(range(&points), 2).expect("few bits");
            check::<T, Wide>(&contract::SUM_SORTED_WIDE, &points, shape, (format.exponent, 2), runs);
        }
    }
}

#[test]
fn sums_of_sorted_points_are_exact() {
    for_each_type!(sorted());
}

/// Numbers of which the last bits of some and the first of others are as far apart as runs can take.
fn far_apart<T: Scalar>(len: usize, digits: i32, span: i32) -> Vec<T> {
    let random = Random::new(5, 0);
    let value = |i: u64| {
        let exponent = random.below((span - digits) as u64 + 1, Purpose::Point, 0, i) as i32;
        // The first and the last bit of a value are set.
        let bits = random.below(1 << (digits - 2), Purpose::Point, 1, i) << 1 | 1 | 1 << (digits - 1);
        let sign = if random.below(2, Purpose::Point, 2, i) == 0 { 1.0 } else { -1.0 };
        sign * bits as f64 * 2.0_f64.powi(exponent - span * 5 / 8)
    };
    (0..len as u64).map(|i| T::from_f64(value(i))).collect()
}

fn at_the_limit<T: Number, F: Runs>(kernel: &Kernel, words: u32, digits: i32, longest: u32, span: i32) {
    let (n, k, d) = (300, 2, 8);
    let points = far_apart::<T>(n * d, digits, span);
    let range = range(&points);
    assert_eq!(range.span(), span, "{}", T::NAME);
    let runs = SortedRuns::new(range, words).unwrap();
    assert_eq!(runs.longest, longest);
    check::<T, F>(kernel, &points, (n, k, d), (range.low, words), runs);
}

#[test]
fn sums_are_exact_where_runs_have_no_bit_to_spare() {
    at_the_limit::<f32, Narrow>(&contract::SUM_SORTED_NARROW, 1, 24, 16, 49);
    at_the_limit::<f64, Narrow>(&contract::SUM_SORTED_NARROW, 1, 45, 16, 49);
    at_the_limit::<half::f16, Narrow>(&contract::SUM_SORTED_NARROW, 1, 11, 1 << 15, 38);
    at_the_limit::<f32, Wide>(&contract::SUM_SORTED_WIDE, 2, 24, 16, 96);
    at_the_limit::<f64, Wide>(&contract::SUM_SORTED_WIDE, 2, 53, 16, 96);
    at_the_limit::<f64, Wide>(&contract::SUM_SORTED_WIDE, 2, 53, 64, 91);
    assert_eq!(SortedRuns::new(ExponentRange { low: 0, high: 97 }, 2), None);
    assert_eq!(SortedRuns::new(ExponentRange { low: 0, high: 50 }, 1), None);
    assert_eq!(SortedRuns::new(ExponentRange { low: 880, high: 960 }, 2), None);
}
