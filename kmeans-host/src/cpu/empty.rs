//! Which points empty clusters take over: [`kmeans_core::reference::fill_empty_clusters`], in parallel.

use kmeans_core::{Scalar, distance};
use rayon::prelude::*;

use crate::points::Points;

/// Rows and the empty cluster that each moves to. `members` counts the points of positive weight per cluster.
pub(crate) fn farthest<T: Scalar>(
    points: &Points<'_, T>,
    centroids: &[T],
    labels: &[u32],
    members: &[u64],
) -> Vec<(usize, u32)> {
    let empty: Vec<u32> = (0..members.len() as u32).filter(|&k| members[k as usize] == 0).collect();
    // Each cluster turns at most one point away, its last, so this many of the farthest are enough.
    let mut far = farthest_rows(points, centroids, labels, empty.len() + members.len());
    far.sort_unstable_by(by_distance);
    let mut members = members.to_vec();
    let mut candidates = far.into_iter().map(|(_, row)| row);
    let mut moves = Vec::with_capacity(empty.len());
    for cluster in empty {
        let Some(row) = candidates.find(|&row| members[labels[row] as usize] > 1) else { break };
        members[labels[row] as usize] -= 1;
        moves.push((row, cluster));
    }
    moves
}

/// The `wanted` rows of positive weight and positive D that are farthest from their centroid, in no order.
fn farthest_rows<T: Scalar>(
    points: &Points<'_, T>,
    centroids: &[T],
    labels: &[u32],
    wanted: usize,
) -> Vec<(f64, usize)> {
    let d = points.d();
    let keep = |mut rows: Vec<(f64, usize)>| {
        if rows.len() > wanted {
            rows.select_nth_unstable_by(wanted - 1, by_distance);
            rows.truncate(wanted);
        }
        rows
    };
    points
        .blocks()
        .fold(Vec::new, |mut far, block| {
            let mut scratch = Vec::new();
            for (i, row) in block.clone().zip(points.rows(block, &mut scratch).chunks_exact(d)) {
                let to_own = distance(row, &centroids[labels[i] as usize * d..][..d]);
                if to_own > 0.0 && points.weight(i) > 0.0 {
                    far.push((to_own, i));
                }
            }
            // Trimmed now and then, so that the list stays short.
            if far.len() > 2 * wanted + 4096 { keep(far) } else { far }
        })
        .reduce(Vec::new, |mut a, b| {
            a.extend(b);
            keep(a)
        })
}

fn by_distance(a: &(f64, usize), b: &(f64, usize)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}
