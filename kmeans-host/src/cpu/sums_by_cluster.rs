//! Sums for many large clusters: threads share one set of sums and split it by cluster.
//!
//! A set of partial sums per thread would take threads · k · d; here the rows that changed are sorted by cluster first
//! and every cluster is summed by one thread.

use kmeans_core::Scalar;
use rayon::prelude::*;

use super::cluster_sums::ClusterSums;
use super::sums::Sign;
use crate::points::Points;

/// Clusters summed at a time.
const BATCH: usize = 1024;

/// Moves every row whose label differs from the one in `before` from its old cluster's sums to its new one's; without
/// `before`, adds all rows.
pub(crate) fn move_rows<T: Scalar>(
    sums: &mut ClusterSums,
    points: &Points<'_, T>,
    labels: &[u32],
    before: Option<&Vec<u32>>,
) {
    let plus = labels.par_iter().enumerate();
    let mut moves: Vec<(u32, usize, bool)> = match before {
        None => plus.map(|(i, &to)| (to, i, true)).collect(),
        Some(before) => plus
            .zip(before)
            .filter(|((_, to), from)| to != from)
            .flat_map_iter(|((i, &to), &from)| [(to, i, true), (from, i, false)])
            .collect(),
    };
    moves.par_sort_unstable();
    // In batches, so that the sums on their way take little memory.
    let clusters: Vec<&[(u32, usize, bool)]> = moves.chunk_by(|a, b| a.0 == b.0).collect();
    for batch in clusters.chunks(BATCH) {
        let partial: Vec<(u32, ClusterSums)> = batch
            .par_iter()
            .map(|moves| {
                let mut one = ClusterSums::new(points, 1);
                let mut buffer = Vec::new();
                for &(_, row, plus) in *moves {
                    buffer.clear();
                    points.append_row(row, &mut buffer);
                    let sign = if plus { Sign::Plus } else { Sign::Minus };
                    one.add(0, &buffer, points.weights().map(|w| w[row]), sign);
                }
                (moves[0].0, one)
            })
            .collect();
        for (k, one) in &partial {
            sums.add_cluster(*k as usize, one);
        }
    }
}
