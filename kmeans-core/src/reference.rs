//! Plain Lloyd iterations: the definition that every engine must reproduce bit for bit.
//!
//! Nothing here is fast. Each step is written the way one would say it, on row-major slices: `points` is `[n, d]`,
//! `centroids` is `[k, d]`.

use alloc::vec;
use alloc::vec::Vec;

use crate::distance::{distance, nearest};
use crate::exact::ExactSum;
use crate::rng::Random;
use crate::scalar::Scalar;
use crate::seeding::{random_label, vacancy_row};
use crate::settings::{EmptyCluster, Iteration, Settings, Stop};

/// The result of a fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit<T> {
    /// Per point, the lowest k that minimises D to the returned centroids.
    pub labels: Vec<u32>,
    /// `[k, d]`, row-major.
    pub centroids: Vec<T>,
    /// Points per cluster.
    pub counts: Vec<u64>,
    /// Σᵢ wᵢ·|xᵢ − centroid of its label|², rounded once.
    pub inertia: f64,
    /// Rounds of assignment run, the one that found the labels repeated included.
    pub iterations: usize,
    /// Whether a stop rule ended the rounds, and not the cap.
    pub converged: bool,
    /// One entry per round.
    pub history: Vec<Iteration>,
}

/// The policy was [`EmptyCluster::Error`] and a cluster lost its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyClusterFound {
    /// The cluster.
    pub cluster: usize,
    /// The round, from 1.
    pub iteration: usize,
}

/// Lloyd's algorithm from `start`, `[k, d]`. `weights` has n entries if given.
///
/// # Errors
/// [`EmptyClusterFound`] if the policy asks for it.
pub fn lloyd<T: Scalar>(
    points: &[T],
    d: usize,
    weights: Option<&[f64]>,
    start: &[T],
    settings: &Settings,
) -> Result<Fit<T>, EmptyClusterFound> {
    let (n, k) = (points.len() / d, start.len() / d);
    let threshold = match settings.stop {
        Stop::RelativeTolerance(tolerance) => tolerance * mean_variance(points, d),
        _ => 0.0,
    };
    let mut centroids = start.to_vec();
    let mut labels: Option<Vec<u32>> = None;
    let mut history = Vec::new();
    let mut converged = false;
    let mut labels_are_current = false;

    while history.len() < settings.max_iter && !converged {
        let mut assigned = assign(points, d, &centroids);
        let inertia = inertia(points, d, weights, &centroids, &assigned);
        if labels.as_ref() == Some(&assigned) {
            history.push(Iteration { inertia, movement: 0.0, labels_changed: 0 });
            (converged, labels_are_current) = (true, true);
            break;
        }
        fill_empty_clusters(points, d, weights, &centroids, &mut assigned, settings.empty)
            .map_err(|cluster| EmptyClusterFound { cluster, iteration: history.len() + 1 })?;
        let updated = update(points, d, weights, &centroids, &assigned);

        let movement = (0..k).map(|c| distance(&updated[c * d..][..d], &centroids[c * d..][..d])).sum();
        let labels_changed = match &labels {
            None => n as u64,
            Some(before) => before.iter().zip(&assigned).filter(|(a, b)| a != b).count() as u64,
        };
        converged = match settings.stop {
            Stop::LabelsRepeat => false,
            Stop::RelativeTolerance(_) => movement <= threshold,
            Stop::Movement(limit) => movement < limit,
            Stop::LabelsChanged(share) => (labels_changed as f64) < share * n as f64,
        };
        history.push(Iteration { inertia, movement, labels_changed });
        centroids = updated;
        labels = Some(assigned);
    }

    // The last update moved the centroids: the labels returned belong to where they are now.
    let labels = match labels {
        Some(labels) if labels_are_current => labels,
        _ => assign(points, d, &centroids),
    };
    let mut counts = vec![0; k];
    for &label in &labels {
        counts[label as usize] += 1;
    }
    let inertia = inertia(points, d, weights, &centroids, &labels);
    Ok(Fit { labels, centroids, counts, inertia, iterations: history.len(), converged, history })
}

/// The label of every point.
pub fn assign<T: Scalar>(points: &[T], d: usize, centroids: &[T]) -> Vec<u32> {
    points.chunks_exact(d).map(|x| nearest(x, centroids).0).collect()
}

/// The centroid of every cluster: the exact weighted mean of its points, rounded once. A cluster without points of
/// positive weight keeps the centroid it has in `old`.
pub fn update<T: Scalar>(points: &[T], d: usize, weights: Option<&[f64]>, old: &[T], labels: &[u32]) -> Vec<T> {
    let mut totals = vec![ExactSum::new(); old.len() / d];
    for (i, &label) in labels.iter().enumerate() {
        totals[label as usize].add(weight(weights, i));
    }
    let mut centroids = old.to_vec();
    for column in 0..d {
        let mut sums = vec![ExactSum::new(); totals.len()];
        for (i, &label) in labels.iter().enumerate() {
            sums[label as usize].add_product(weight(weights, i), points[i * d + column].to_f64());
        }
        for (c, (sum, total)) in sums.iter().zip(&totals).enumerate() {
            if !total.is_zero() {
                centroids[c * d + column] = sum.divide(total);
            }
        }
    }
    centroids
}

/// Applies the policy for empty clusters to fresh labels; `Err` names the first empty cluster if the policy is an error.
///
/// # Errors
/// The index of the first empty cluster.
pub fn fill_empty_clusters<T: Scalar>(
    points: &[T],
    d: usize,
    weights: Option<&[f64]>,
    centroids: &[T],
    labels: &mut [u32],
    policy: EmptyCluster,
) -> Result<(), usize> {
    let mut members = vec![0_u64; centroids.len() / d];
    for (i, &label) in labels.iter().enumerate() {
        members[label as usize] += u64::from(weight(weights, i) > 0.0);
    }
    let empty: Vec<usize> = (0..members.len()).filter(|&c| members[c] == 0).collect();
    match policy {
        _ if empty.is_empty() => return Ok(()),
        EmptyCluster::Keep => return Ok(()),
        EmptyCluster::Error => return Err(empty[0]),
        EmptyCluster::Farthest => {}
    }
    let mut far: Vec<(f64, usize)> = (0..labels.len())
        .filter(|&i| weight(weights, i) > 0.0)
        .map(|i| (distance(&points[i * d..][..d], &centroids[labels[i] as usize * d..][..d]), i))
        .filter(|&(distance, _)| distance > 0.0)
        .collect();
    far.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut candidates = far.into_iter().map(|(_, i)| i);
    for cluster in empty {
        let Some(i) = candidates.find(|&i| members[labels[i] as usize] > 1) else { break };
        members[labels[i] as usize] -= 1;
        labels[i] = cluster as u32;
    }
    Ok(())
}

/// The weighted sum of squared distances of points to the centroids of their labels, as real numbers, rounded once.
pub fn inertia<T: Scalar>(points: &[T], d: usize, weights: Option<&[f64]>, centroids: &[T], labels: &[u32]) -> f64 {
    let mut sum = ExactSum::new();
    for (i, x) in points.chunks_exact(d).enumerate() {
        let w = weight(weights, i);
        for (x, c) in x.iter().zip(&centroids[labels[i] as usize * d..][..d]) {
            // w·(x − c)² = w·x² − 2·w·x·c + w·c²
            let (x, c) = (x.to_f64(), c.to_f64());
            sum.add_triple(w, x, x);
            sum.add_triple(w, -2.0 * x, c);
            sum.add_triple(w, c, c);
        }
    }
    sum.to_f64()
}

/// The mean over columns of the variance (unweighted): the sum over all values of (x − m)², over n·d, where m is the mean of
/// the value's column rounded to `f64` and the sum is exact, rounded once before it is divided.
pub fn mean_variance<T: Scalar>(points: &[T], d: usize) -> f64 {
    let n = points.len() / d;
    let count = ExactSum::from_count(n as u64);
    let mut scatter = ExactSum::new();
    for column in 0..d {
        let values = || points[column..].iter().step_by(d).map(|v| v.to_f64());
        let mut sum = ExactSum::new();
        values().for_each(|v| sum.add(v));
        let mean: f64 = sum.divide(&count);
        for v in values() {
            // (v − m)² = v² − 2·v·m + m²
            scatter.add_product(v, v);
            scatter.add_triple(-2.0, v, mean);
            scatter.add_product(mean, mean);
        }
    }
    scatter.to_f64() / (n as f64 * d as f64)
}

/// The starting centroids of random labels: the means of the rows that drew each label; a label that no row of positive
/// weight drew starts at a random row.
pub fn random_label_start<T: Scalar>(
    points: &[T],
    d: usize,
    weights: Option<&[f64]>,
    k: usize,
    random: &Random,
) -> Vec<T> {
    let n = points.len() / d;
    let vacancies: Vec<T> = (0..k).flat_map(|c| points[vacancy_row(c, n, random) * d..][..d].iter().copied()).collect();
    let labels: Vec<u32> = (0..n).map(|i| random_label(i, k, random)).collect();
    update(points, d, weights, &vacancies, &labels)
}

fn weight(weights: Option<&[f64]>, i: usize) -> f64 {
    weights.map_or(1.0, |w| w[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(stop: Stop, empty: EmptyCluster, max_iter: usize) -> Settings {
        Settings { max_iter, stop, empty }
    }

    #[test]
    fn centroids_are_the_means_and_the_start_is_not_counted() {
        let fit =
            lloyd(&[0.0_f32, 1.0], 1, None, &[10.0], &settings(Stop::LabelsRepeat, EmptyCluster::Keep, 1)).unwrap();
        assert_eq!(fit.centroids, [0.5]);
        assert!(!fit.converged);
        assert_eq!(fit.inertia, 0.5);
    }

    #[test]
    fn stops_at_once_where_the_start_is_the_answer() {
        let rows = [0.0_f64, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0];
        let fit = lloyd(&rows, 2, None, &rows, &Settings::default()).unwrap();
        assert_eq!(fit.labels, [0, 1, 1, 3, 4]);
        assert_eq!((fit.inertia, fit.iterations, fit.converged), (0.0, 1, true));
    }

    #[test]
    fn an_empty_cluster_takes_the_farthest_point_or_stays_or_fails() {
        let points = [0.0_f32, 1.0, 2.0, 9.0];
        let start = [1.0_f32, 100.0];
        let run = |empty, max_iter| lloyd(&points, 1, None, &start, &settings(Stop::LabelsRepeat, empty, max_iter));
        let moved = run(EmptyCluster::Farthest, 100).unwrap();
        assert_eq!((moved.labels, moved.centroids), (vec![0, 0, 0, 1], vec![1.0, 9.0]));
        let kept = run(EmptyCluster::Keep, 1).unwrap();
        assert_eq!(kept.centroids, [3.0, 100.0]);
        assert_eq!(run(EmptyCluster::Error, 1), Err(EmptyClusterFound { cluster: 1, iteration: 1 }));
    }

    #[test]
    fn duplicated_points_do_not_keep_moving() {
        let points = [7.0_f64; 6];
        let fit =
            lloyd(&points, 1, None, &[7.0; 5], &settings(Stop::LabelsRepeat, EmptyCluster::Farthest, 50)).unwrap();
        assert_eq!((fit.counts, fit.iterations, fit.inertia), (vec![6, 0, 0, 0, 0], 2, 0.0));
    }

    #[test]
    fn weights_weigh() {
        let points = [0.0_f64, 1.0, 10.0];
        let fit = lloyd(&points, 1, Some(&[3.0, 1.0, 0.0]), &[5.0], &Settings::default()).unwrap();
        assert_eq!(fit.centroids, [0.25]);
        assert_eq!(fit.inertia, 3.0 * 0.0625 + 0.5625);
        assert_eq!(fit.counts, [3]);
    }

    #[test]
    fn each_stop_rule_stops() {
        let points: Vec<f64> = (0..400).map(f64::from).collect();
        let start = &points[..5];
        let run = |stop| lloyd(&points, 1, None, start, &settings(stop, EmptyCluster::Keep, 300)).unwrap();
        let full = run(Stop::LabelsRepeat);
        assert!(full.converged && full.history.last().unwrap().labels_changed == 0);
        for stop in [Stop::RelativeTolerance(0.01), Stop::Movement(100.0), Stop::LabelsChanged(0.04)] {
            let early = run(stop);
            assert!(early.converged && early.iterations < full.iterations, "{stop:?}");
            assert_eq!(early.labels, assign(&points, 1, &early.centroids), "{stop:?}");
        }
    }

    #[test]
    fn mean_variance_is_that_of_the_columns() {
        assert_eq!(mean_variance(&[1.0_f32, 10.0, 3.0, 14.0], 2), f64::midpoint(1.0, 4.0));
        assert_eq!(mean_variance(&[1e7_f64 + 1.0, 1e7 - 1.0], 1), 1.0);
    }
}
