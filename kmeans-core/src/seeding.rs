//! Starting centroids: what each way of choosing them picks.
//!
//! Every draw is counter-based and every choice is made by exact integer comparison, so that an engine may evaluate the
//! points in any order, on any number of threads, and still pick the same rows. The functions here do it plainly, one
//! row after the other; they are what faster versions are checked against.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

pub use crate::amounts::{PARALLEL_OVERSAMPLING, Quantizer, is_candidate};
use crate::distance;
use crate::exact::ExactSum;
use crate::rng::{Purpose, Random};
use crate::scalar::Scalar;

/// Rounds of k-means||.
pub const PARALLEL_ROUNDS: u32 = 4;
/// Up to this k the candidates of k-means|| are reduced greedily; above, one trial per centroid keeps it affordable.
pub const GREEDY_REDUCTION_UP_TO: usize = 1024;

/// Rows ⌊i·n/k⌋ for i in `0..k`.
pub fn evenly_spaced(n: usize, k: usize) -> Vec<usize> {
    (0..k).map(|i| (i as u128 * n as u128 / k as u128) as usize).collect()
}

/// k different rows, each set equally likely (Fisher–Yates on a sparse array), in the order drawn.
pub fn random_rows(n: usize, k: usize, random: &Random) -> Vec<usize> {
    let mut moved = BTreeMap::new();
    let mut rows = Vec::with_capacity(k);
    for i in 0..k {
        let j = i + random.below((n - i) as u64, Purpose::Point, 0, i as u64) as usize;
        let at_i = moved.get(&i).copied().unwrap_or(i);
        rows.push(moved.insert(j, at_i).unwrap_or(j));
    }
    rows
}

/// The random label of row `i`.
#[inline]
pub fn random_label(i: usize, k: usize, random: &Random) -> u32 {
    random.below(k as u64, Purpose::Label, 0, i as u64) as u32
}

/// The row that stands in for label `k` when no row drew it.
pub fn vacancy_row(k: usize, n: usize, random: &Random) -> usize {
    random.below(n as u64, Purpose::Vacancy, 0, k as u64) as usize
}

/// Trials per centroid of greedy k-means++: 2 + ⌊ln k⌋, as in scikit-learn.
pub fn trials(k: usize) -> usize {
    let (mut trials, mut power) = (2, core::f64::consts::E);
    while power <= k as f64 {
        trials += 1;
        power *= core::f64::consts::E;
    }
    trials
}

/// Row number `rank` (from 0) among the rows that are not in `taken`.
pub fn untaken_row(rank: usize, taken: &[usize]) -> usize {
    let mut sorted = taken.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut row = rank;
    for t in sorted {
        if t <= row {
            row += 1;
        }
    }
    row
}

fn weight_of(weights: Option<&[f64]>, i: usize) -> f64 {
    weights.map_or(1.0, |w| w[i])
}

/// The first row whose running sum of `amounts` exceeds `draw`.
fn pick(amounts: impl Iterator<Item = u64>, draw: u64) -> usize {
    let mut sum = 0;
    for (i, amount) in amounts.enumerate() {
        sum += amount;
        if sum > draw {
            return i;
        }
    }
    unreachable!("the draw is below the total")
}

/// Greedy k-means++: the rows picked, in order. `points` is `[n, d]` row-major, 1 ≤ k ≤ n.
///
/// The first row is drawn in proportion to the weights. For each further centroid `trials` rows are drawn in proportion
/// to weight times D to the nearest centroid so far, and the one that leaves the smallest weighted sum of D is kept
/// (the first among equals). Draws and sums are of integers ([`Quantizer`], its scale set anew for each centroid). When
/// nothing is left to draw from, because every row coincides with a centroid, a row not yet picked is drawn uniformly.
/// Source: Arthur & Vassilvitskii, "k-means++: the advantages of careful seeding", SODA 2007, with their greedy trials.
///
/// # Panics
/// If `trials` is 0 or there are no points.
pub fn plus_plus<T: Scalar>(
    points: &[T],
    d: usize,
    weights: Option<&[f64]>,
    k: usize,
    trials: usize,
    random: &Random,
    purpose: Purpose,
) -> Vec<usize> {
    let rows: Vec<&[T]> = points.chunks_exact(d).collect();
    let n = rows.len();
    let mut picked = vec![first_row(n, weights, random, purpose)];
    let mut nearest: Vec<f64> = rows.iter().map(|x| distance(x, rows[picked[0]])).collect();
    while picked.len() < k {
        let step = picked.len() as u32;
        let cost = |i: usize, near: f64| weight_of(weights, i) * near;
        let largest = (0..n).map(|i| cost(i, nearest[i])).fold(0.0, f64::max);
        let Some(quantizer) = Quantizer::new(largest, n) else {
            let rank = random.below((n - picked.len()) as u64, purpose, step, 0) as usize;
            let row = untaken_row(rank, &picked);
            for (near, x) in nearest.iter_mut().zip(&rows) {
                *near = near.min(distance(x, rows[row]));
            }
            picked.push(row);
            continue;
        };
        let amounts = || (0..n).map(|i| quantizer.amount(cost(i, nearest[i])));
        let total: u64 = amounts().sum();
        let mut best: Option<(u64, usize, Vec<f64>)> = None;
        for trial in 0..trials {
            let row = pick(amounts(), random.below(total, purpose, step, trial as u64));
            let nearer: Vec<f64> = (0..n).map(|i| nearest[i].min(distance(rows[i], rows[row]))).collect();
            let potential: u64 = (0..n).map(|i| quantizer.amount(cost(i, nearer[i]))).sum();
            if best.as_ref().is_none_or(|b| potential < b.0) {
                best = Some((potential, row, nearer));
            }
        }
        let (_, row, nearer) = best.expect("at least one trial");
        picked.push(row);
        nearest = nearer;
    }
    picked
}

/// The first row of k-means++ and k-means||: drawn in proportion to the weights.
pub fn first_row(n: usize, weights: Option<&[f64]>, random: &Random, purpose: Purpose) -> usize {
    let quantizer = weights.and_then(|w| Quantizer::new(w.iter().copied().fold(0.0, f64::max), n));
    let (Some(weights), Some(quantizer)) = (weights, quantizer) else {
        return random.below(n as u64, purpose, 0, 0) as usize;
    };
    let amounts = || weights.iter().map(|&w| quantizer.amount(w));
    pick(amounts(), random.below(amounts().sum(), purpose, 0, 0))
}

/// k-means||: the rows picked, in order. `points` is `[n, d]` row-major, 1 ≤ k ≤ n.
///
/// One row to start from; then [`PARALLEL_ROUNDS`] rounds, each of which takes every row independently, with a
/// probability of [`PARALLEL_OVERSAMPLING`]·k times its share of the weighted sum of D, as a candidate. Each candidate
/// weighs as much as the rows it is nearest to, and k-means++ on the candidates picks k of them. So about
/// 2·k·rounds rows are looked at, whatever n is. Source: Bahmani et al., "Scalable k-means++", VLDB 2012.
pub fn parallel<T: Scalar>(points: &[T], d: usize, weights: Option<&[f64]>, k: usize, random: &Random) -> Vec<usize> {
    let rows: Vec<&[T]> = points.chunks_exact(d).collect();
    let n = rows.len();
    let mut candidates = vec![first_row(n, weights, random, Purpose::Parallel)];
    let mut nearest: Vec<(f64, usize)> = rows.iter().map(|x| (distance(x, rows[candidates[0]]), 0)).collect();
    for round in 1..=PARALLEL_ROUNDS {
        let cost = |i: usize| weight_of(weights, i) * nearest[i].0;
        let Some(quantizer) = Quantizer::new((0..n).map(cost).fold(0.0, f64::max), n) else { break };
        let total: u64 = (0..n).map(|i| quantizer.amount(cost(i))).sum();
        let selected: Vec<usize> =
            (0..n).filter(|&i| is_candidate(i, quantizer.amount(cost(i)), total, k, round, random)).collect();
        for row in selected {
            for (near, x) in nearest.iter_mut().zip(&rows) {
                let to_new = distance(x, rows[row]);
                if to_new < near.0 {
                    *near = (to_new, candidates.len());
                }
            }
            candidates.push(row);
        }
    }
    let mut masses: Vec<ExactSum> = vec![ExactSum::new(); candidates.len()];
    for (i, near) in nearest.iter().enumerate() {
        masses[near.1].add(weight_of(weights, i));
    }
    let masses: Vec<f64> = masses.iter().map(ExactSum::to_f64).collect();
    let chosen: Vec<T> = candidates.iter().flat_map(|&row| rows[row].iter().copied()).collect();
    reduce(&candidates, n, k, random, |k, trials| {
        plus_plus(&chosen, d, Some(&masses), k, trials, random, Purpose::Reduce)
    })
}

/// Brings the candidates of k-means|| to exactly k rows: `plus_plus(k, trials)` picks among them when there are more
/// than k; when there are fewer, rows drawn uniformly from the rest fill up.
pub fn reduce(
    candidates: &[usize],
    n: usize,
    k: usize,
    random: &Random,
    plus_plus: impl FnOnce(usize, usize) -> Vec<usize>,
) -> Vec<usize> {
    if candidates.len() > k {
        let trials = if k <= GREEDY_REDUCTION_UP_TO { trials(k) } else { 1 };
        return plus_plus(k, trials).into_iter().map(|c| candidates[c]).collect();
    }
    let mut rows = candidates.to_vec();
    while rows.len() < k {
        let rank = random.below((n - rows.len()) as u64, Purpose::Parallel, PARALLEL_ROUNDS + 1, rows.len() as u64);
        rows.push(untaken_row(rank as usize, &rows));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(mut rows: Vec<usize>) -> Vec<usize> {
        rows.sort_unstable();
        rows
    }

    #[test]
    fn random_rows_are_different_rows() {
        for seed in 0..50 {
            let random = Random::new(seed, 0);
            assert_eq!(sorted(random_rows(6, 6, &random)), [0, 1, 2, 3, 4, 5]);
            let mut few = sorted(random_rows(1000, 30, &random));
            few.dedup();
            assert_eq!(few.len(), 30);
        }
    }

    #[test]
    fn trials_follow_the_logarithm() {
        assert_eq!([1, 2, 3, 7, 8, 80, 1000].map(trials), [2, 2, 3, 3, 4, 6, 8]);
    }

    #[test]
    fn evenly_spaced_covers_the_range() {
        assert_eq!(evenly_spaced(10, 4), [0, 2, 5, 7]);
        assert_eq!(evenly_spaced(3, 3), [0, 1, 2]);
    }

    #[test]
    fn seeding_takes_each_of_k_separate_places() {
        // Ten places, three rows each.
        let points: Vec<f32> = (0..30).map(|i| (i % 10) as f32 * 100.0).collect();
        for seed in 0..20 {
            let random = Random::new(seed, 0);
            for rows in [
                plus_plus(&points, 1, None, 10, trials(10), &random, Purpose::PlusPlus),
                parallel(&points, 1, None, 10, &random),
            ] {
                assert_eq!(sorted(rows.iter().map(|r| r % 10).collect()), (0..10).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn seeding_on_equal_rows_picks_different_rows() {
        let points = [1.0_f32; 8];
        let random = Random::new(1, 0);
        assert_eq!(sorted(plus_plus(&points, 1, None, 8, 2, &random, Purpose::PlusPlus)), (0..8).collect::<Vec<_>>());
        assert_eq!(sorted(parallel(&points, 1, None, 8, &random)), (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn rows_of_weight_zero_are_not_picked_while_others_remain() {
        let points: Vec<f64> = (0..20).map(f64::from).collect();
        let weights: Vec<f64> = (0..20).map(|i| f64::from(i % 2)).collect();
        for seed in 0..20 {
            let rows = plus_plus(&points, 1, Some(&weights), 5, 3, &Random::new(seed, 0), Purpose::PlusPlus);
            assert!(rows.iter().all(|r| r % 2 == 1), "{rows:?}");
        }
    }

    #[test]
    fn untaken_rows_skip_the_taken_ones() {
        assert_eq!((0..3).map(|r| untaken_row(r, &[3, 0])).collect::<Vec<_>>(), [1, 2, 4]);
    }
}
