//! The engine against the reference where the public interface cannot choose the path: every instruction set of this
//! processor, and sums too large for a copy per thread.

use kmeans_core::reference::{self, Fit};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::settings::{EmptyCluster, Settings, Stop};
use ndarray::{Array2, ArrayView2};
use pulp::Arch;

use super::CpuEngine;
use crate::engine::{Engine, Outcome, Task};
use crate::points::Points;
use crate::{Control, Element};

const SETTINGS: Settings = Settings { max_iter: 12, stop: Stop::LabelsRepeat, empty: EmptyCluster::Farthest };

/// The instruction sets that can run here, without vectors first.
fn archs() -> Vec<Arch> {
    #[allow(unused_mut)]
    let mut archs = vec![Arch::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        archs.extend(pulp::x86::V3::try_new().map(Arch::V3));
        archs.extend(pulp::x86::V4::try_new().map(Arch::V4));
    }
    archs
}

/// Values in (−1, 1), some columns a thousand times larger, rounded to the type.
fn points<T: Element>(n: usize, d: usize) -> Array2<T> {
    let random = Random::new(5, 0);
    Array2::from_shape_fn((n, d), |(i, j)| {
        let bits = random.bits(Purpose::Point, j as u32, i as u64) as i64;
        let unit = bits as f64 / i64::MAX as f64;
        T::from_f64(if j % 3 == 0 { 1000.0 * unit } else { unit })
    })
}

fn fit<T: Element>(arch: Arch, points: ArrayView2<'_, T>, k: usize) -> (Outcome<T>, Vec<u32>) {
    let checked = Points::to_fit(points, None).unwrap();
    let start = points.slice(ndarray::s![..k, ..]).to_owned();
    let engine = CpuEngine { arch };
    let mut job = Engine::<T>::load(&engine, &checked, Task::Fit { k }).unwrap();
    let outcome = job.lloyd(start, &SETTINGS, &mut |_, _| Control::Continue).unwrap();
    (outcome, job.labels().unwrap())
}

fn reference_fit<T: Element>(points: &Array2<T>, k: usize) -> Fit<T> {
    let all = points.as_slice().unwrap();
    let d = points.ncols();
    reference::lloyd(all, d, None, &all[..k * d], &SETTINGS).unwrap()
}

fn assert_same<T: Element>((found, labels): &(Outcome<T>, Vec<u32>), expected: &Fit<T>, what: &str) {
    assert_eq!(*labels, expected.labels, "{what}");
    assert_eq!(found.counts, expected.counts, "{what}");
    assert!(found.centroids.iter().eq(&expected.centroids), "{what}");
    assert_eq!(found.history, expected.history, "{what}");
    assert_eq!(found.inertia.to_bits(), expected.inertia.to_bits(), "{what}");
}

#[test]
fn every_instruction_set_gives_the_bits_of_the_reference() {
    fn check<T: Element>() {
        for (n, d, k) in [(700, 1, 30), (700, 3, 9), (900, 4, 40), (500, 7, 33), (400, 50, 49), (300, 130, 97)] {
            let points = points::<T>(n, d);
            let expected = reference_fit(&points, k);
            for arch in archs() {
                assert_same(&fit(arch, points.view(), k), &expected, &format!("{n} × {d}, k = {k}, {arch:?}"));
            }
        }
    }
    check::<f32>();
    check::<f64>();
    check::<crate::f16>();
    check::<crate::bf16>();
}

#[test]
fn large_sums_are_shared_between_threads() {
    let (n, d, k) = (1300, 520, 1200);
    let points = points::<f32>(n, d);
    let checked = Points::to_fit(points.view(), None).unwrap();
    assert!(super::cluster_sums::ClusterSums::bytes(&checked, k) > super::move_rows::PARTIAL_BYTES);
    assert_same(&fit(Arch::new(), points.view(), k), &reference_fit(&points, k), "large sums");
}
