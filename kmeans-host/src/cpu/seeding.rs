//! k-means++ and k-means|| in parallel: the rows that [`kmeans_core::seeding`] picks.
//!
//! Sums and draws there are of integers, so blocks may be summed in any order; and a draw is found by walking the sums
//! of the blocks, then one block.

use kmeans_core::Scalar;
use kmeans_core::fixed::FixedPoint;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{self, Quantizer};
use ndarray::Array2;
use pulp::Arch;
use rayon::prelude::*;

use super::assign::{Assigner, Scratch};
use super::frame::Frame;
use super::several::Several;
use super::sums::{Divisor, Sign, Sums};
use crate::Error;
use crate::engine::OnSeeding;
use crate::points::Points;
use crate::progress::Control;

/// The cost of every row, weight times D to the nearest pick, by blocks.
struct Costs<'a, 'p, T> {
    arch: Arch,
    points: &'a Points<'p, T>,
    /// D to the nearest pick.
    nearest: Vec<f64>,
    /// The largest cost.
    largest: f64,
}

impl<'a, 'p, T: Scalar> Costs<'a, 'p, T> {
    fn new(arch: Arch, points: &'a Points<'p, T>, first: usize) -> Self {
        let mut costs = Self { arch, points, nearest: vec![f64::INFINITY; points.n()], largest: 0.0 };
        costs.add(first);
        costs
    }

    /// Takes `row` into account as a pick.
    fn add(&mut self, row: usize) {
        let (arch, points) = (self.arch, self.points);
        let pick = points.row(row);
        let several = Several::new([&pick[..]].into_iter(), points.d());
        self.largest = points
            .blocks()
            .zip(self.nearest.par_chunks_mut(points.block_rows()))
            .map_init(Vec::new, |scratch, (block, nearest)| {
                let mut largest = 0.0_f64;
                several.distances(arch, points.rows(block.clone(), scratch), |i, d| {
                    nearest[i] = nearest[i].min(d[0]);
                    largest = largest.max(points.weight(block.start + i) * nearest[i]);
                });
                largest
            })
            .reduce(|| 0.0, f64::max);
    }

    fn amount(&self, quantizer: Quantizer, i: usize) -> u64 {
        quantizer.amount(self.points.weight(i) * self.nearest[i])
    }

    /// The sum of all amounts up to the end of each block.
    fn running(&self, quantizer: Quantizer) -> Vec<u64> {
        let mut sums: Vec<u64> =
            self.points.blocks().map(|block| block.map(|i| self.amount(quantizer, i)).sum()).collect();
        let mut total = 0;
        for sum in &mut sums {
            total += *sum;
            *sum = total;
        }
        sums
    }

    /// The first row whose running sum exceeds `draw`.
    fn pick(&self, quantizer: Quantizer, running: &[u64], draw: u64) -> usize {
        let block = running.partition_point(|&sum| sum <= draw);
        let mut sum = if block == 0 { 0 } else { running[block - 1] };
        let start = block * self.points.block_rows();
        (start..self.points.n())
            .find(|&i| {
                sum += self.amount(quantizer, i);
                sum > draw
            })
            .expect("the draw is below the total")
    }

    /// For each of `rows` as the next pick, the sum of amounts that it would leave.
    fn potentials(&self, quantizer: Quantizer, rows: &[usize]) -> Vec<u64> {
        let (arch, points) = (self.arch, self.points);
        let picks: Vec<Vec<T>> = rows.iter().map(|&row| points.row(row)).collect();
        let several = Several::new(picks.iter().map(Vec::as_slice), points.d());
        points
            .blocks()
            .map_init(Vec::new, |scratch, block| {
                let mut sums = vec![0; rows.len()];
                several.distances(arch, points.rows(block.clone(), scratch), |i, distances| {
                    let (near, weight) = (self.nearest[block.start + i], points.weight(block.start + i));
                    for (sum, &d) in sums.iter_mut().zip(distances) {
                        *sum += quantizer.amount(weight * near.min(d));
                    }
                });
                sums
            })
            .reduce(
                || vec![0; rows.len()],
                |mut a, b| {
                    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                    a
                },
            )
    }
}

/// [`seeding::plus_plus`].
pub(crate) fn plus_plus<T: Scalar>(
    arch: Arch,
    points: &Points<'_, T>,
    k: usize,
    trials: usize,
    random: &Random,
    purpose: Purpose,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    let n = points.n();
    let mut picked = vec![seeding::first_row(n, points.weights(), random, purpose)];
    let mut costs = Costs::new(arch, points, picked[0]);
    report(observe, 1, k)?;
    while picked.len() < k {
        let step = picked.len() as u32;
        let row = if let Some(quantizer) = Quantizer::new(costs.largest, n) {
            let running = costs.running(quantizer);
            let total = *running.last().expect("at least one block");
            let rows: Vec<usize> = (0..trials as u64)
                .map(|trial| costs.pick(quantizer, &running, random.below(total, purpose, step, trial)))
                .collect();
            // The first of the smallest, as `min_by_key` returns it.
            let potentials = costs.potentials(quantizer, &rows);
            (0..rows.len()).min_by_key(|&t| potentials[t]).map(|t| rows[t]).expect("at least one trial")
        } else {
            seeding::untaken_row(random.below((n - picked.len()) as u64, purpose, step, 0) as usize, &picked)
        };
        picked.push(row);
        if picked.len() < k {
            costs.add(row);
        }
        report(observe, picked.len(), k)?;
    }
    Ok(picked)
}

/// [`seeding::parallel`].
pub(crate) fn parallel<T: Scalar>(
    arch: Arch,
    points: &Points<'_, T>,
    k: usize,
    random: &Random,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    let (n, d) = (points.n(), points.d());
    let frame = Frame::new(points);
    let mut candidates = vec![seeding::first_row(n, points.weights(), random, Purpose::Parallel)];
    let mut costs = Costs::new(arch, points, candidates[0]);
    let mut owner = vec![0_u32; n];
    for round in 1..=seeding::PARALLEL_ROUNDS {
        report(observe, round as usize - 1, seeding::PARALLEL_ROUNDS as usize)?;
        let Some(quantizer) = Quantizer::new(costs.largest, n) else { break };
        let total = *costs.running(quantizer).last().expect("at least one block");
        let selected: Vec<usize> = (0..n)
            .into_par_iter()
            .filter(|&i| seeding::is_candidate(i, costs.amount(quantizer, i), total, k, round, random))
            .collect();
        if selected.is_empty() {
            continue;
        }
        let rows = points.select(&selected);
        let new: Vec<T> = rows.iter().copied().collect();
        let assigner = Assigner::new(arch, &frame, &new, d);
        let offset = candidates.len() as u32;
        let step = points.block_rows();
        costs.largest = points
            .blocks()
            .zip(costs.nearest.par_chunks_mut(step).zip(owner.par_chunks_mut(step)))
            .map_init(Scratch::new, |scratch, (block, (nearest, owner))| {
                let mut buffer = std::mem::take(&mut scratch.rows);
                let rows = points.rows(block.clone(), &mut buffer);
                let mut labels = vec![0; owner.len()];
                assigner.label(rows, scratch, &mut labels);
                let mut largest = 0.0_f64;
                for (i, row) in rows.chunks_exact(d).enumerate() {
                    let to_new = kmeans_core::distance(row, &new[labels[i] as usize * d..][..d]);
                    if to_new < nearest[i] {
                        (nearest[i], owner[i]) = (to_new, offset + labels[i]);
                    }
                    largest = largest.max(points.weight(block.start + i) * nearest[i]);
                }
                scratch.rows = buffer;
                largest
            })
            .reduce(|| 0.0, f64::max);
        candidates.extend(selected);
    }
    // Reducing the candidates is the end of the last round.
    let rounds = seeding::PARALLEL_ROUNDS as usize;
    let reducing: OnSeeding<'_> = &mut |_, _| observe(rounds, rounds);
    let masses = masses(points, &owner, candidates.len());
    let mut result = Ok(Vec::new());
    let rows = seeding::reduce(&candidates, n, k, random, |k, trials| {
        let chosen: Array2<T> = points.select(&candidates);
        let picked = Points::new(chosen.view(), Some(masses))
            .and_then(|chosen| plus_plus(arch, &chosen, k, trials, random, Purpose::Reduce, reducing));
        result = picked;
        result.as_ref().map_or_else(|_| Vec::new(), Clone::clone)
    });
    result.map(|_| rows)
}

/// The weight of the rows that each candidate is nearest to, rounded once.
fn masses<T: Scalar>(points: &Points<'_, T>, owner: &[u32], candidates: usize) -> Vec<f64> {
    let format = FixedPoint::for_sums(points.weight_range(), points.n() as u64);
    let mut sums = Sums::new(format, candidates, 1);
    for (i, &owner) in owner.iter().enumerate() {
        sums.add(owner as usize, &[points.weight(i)], None, Sign::Plus);
    }
    let mut masses = vec![0.0];
    (0..candidates)
        .map(|c| {
            sums.divide(c, Divisor::Count(1), &mut masses);
            masses[0]
        })
        .collect()
}

fn report(observe: OnSeeding<'_>, done: usize, total: usize) -> Result<(), Error> {
    match observe(done, total) {
        Control::Continue => Ok(()),
        Control::Finish | Control::Cancel => Err(Error::Cancelled { iterations: 0 }),
    }
}
