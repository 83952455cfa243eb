//! Starting centroids as k-means on all pixels picks them, found from the distinct colours.
//!
//! Draws are of pixels, in row order, so that the same seed picks the same pixels; distances and their sums are
//! computed once per colour.

use kmeans_core::amounts::Quantizer;
use kmeans_core::distance;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{trials, untaken_row};
use rayon::prelude::*;

use super::colours::Colours;
use crate::Error;
use crate::engine::OnSeeding;
use crate::progress::Control;

/// Pixels whose amounts are added in one piece.
const CHUNK: usize = 1 << 15;

/// [`kmeans_core::seeding::plus_plus`] on the pixels of `colours`: the pixels picked.
pub fn plus_plus(colours: &Colours, k: usize, random: &Random, observe: OnSeeding<'_>) -> Result<Vec<usize>, Error> {
    let n = colours.index.len();
    let mut picked = vec![first_pixel(colours, random)];
    let mut nearest = nearer(colours, None, picked[0]);
    for step in 1..k {
        if observe(step, k) != Control::Continue {
            return Err(Error::Cancelled { iterations: 0 });
        }
        let costs = costs(colours, &nearest);
        let largest = costs.iter().copied().fold(0.0, f64::max);
        let Some(quantizer) = Quantizer::new(largest, n) else {
            let rank = random.below((n - picked.len()) as u64, Purpose::PlusPlus, step as u32, 0) as usize;
            let pixel = untaken_row(rank, &picked);
            nearest = nearer(colours, Some(&nearest), pixel);
            picked.push(pixel);
            continue;
        };
        let amounts: Vec<u64> = costs.iter().map(|&cost| quantizer.amount(cost)).collect();
        let total: u64 = amounts.iter().zip(&colours.counts).map(|(amount, count)| amount * count).sum();
        let draws: Vec<u64> =
            (0..trials(k)).map(|trial| random.below(total, Purpose::PlusPlus, step as u32, trial as u64)).collect();
        let mut best: Option<(u64, usize, Vec<f64>)> = None;
        for pixel in pick(colours, &amounts, &draws) {
            let nearer = nearer(colours, Some(&nearest), pixel);
            let potential = self::costs(colours, &nearer)
                .par_iter()
                .zip(&colours.counts)
                .with_min_len(4096)
                .map(|(&cost, count)| quantizer.amount(cost) * count)
                .sum();
            if best.as_ref().is_none_or(|b| potential < b.0) {
                best = Some((potential, pixel, nearer));
            }
        }
        let (_, pixel, nearer) = best.expect("there are at least two trials");
        picked.push(pixel);
        nearest = nearer;
    }
    observe(k, k);
    Ok(picked)
}

/// [`kmeans_core::seeding::first_row`].
fn first_pixel(colours: &Colours, random: &Random) -> usize {
    let n = colours.index.len();
    let weights = colours.weights.as_deref();
    let quantizer = weights.and_then(|w| Quantizer::new(w.iter().copied().fold(0.0, f64::max), n));
    let (Some(weights), Some(quantizer)) = (weights, quantizer) else {
        return random.below(n as u64, Purpose::PlusPlus, 0, 0) as usize;
    };
    let amounts: Vec<u64> = weights.iter().map(|&w| quantizer.amount(w)).collect();
    let total = amounts.iter().zip(&colours.counts).map(|(amount, count)| amount * count).sum();
    pick(colours, &amounts, &[random.below(total, Purpose::PlusPlus, 0, 0)])[0]
}

/// Per colour, D to the nearest of the centroids so far and that of `pixel`.
fn nearer(colours: &Colours, nearest: Option<&[f64]>, pixel: usize) -> Vec<f64> {
    let d = colours.rows.ncols();
    let rows = colours.rows.as_slice().expect("packed");
    let centroid = &rows[colours.index[pixel] as usize * d..][..d];
    rows.par_chunks_exact(d)
        .with_min_len(2048)
        .enumerate()
        .map(|(i, row)| {
            let to_new = distance(row, centroid);
            nearest.map_or(to_new, |nearest| nearest[i].min(to_new))
        })
        .collect()
}

/// Per colour, the cost of one pixel.
fn costs(colours: &Colours, nearest: &[f64]) -> Vec<f64> {
    match &colours.weights {
        None => nearest.to_vec(),
        Some(weights) => weights.iter().zip(nearest).map(|(w, near)| w * near).collect(),
    }
}

/// For each of `draws`, the first pixel at which the running sum of amounts exceeds it.
fn pick(colours: &Colours, amounts: &[u64], draws: &[u64]) -> Vec<usize> {
    let amount = |colour: &u32| amounts[*colour as usize];
    let sums: Vec<u64> = colours.index.par_chunks(CHUNK).map(|part| part.iter().map(amount).sum()).collect();
    let find = |&draw: &u64| {
        let mut rest = draw;
        let mut chunk = 0;
        while sums[chunk] <= rest {
            rest -= sums[chunk];
            chunk += 1;
        }
        let within = colours.index[chunk * CHUNK..].iter().map(amount).position(|amount| {
            let found = amount > rest;
            rest = rest.saturating_sub(amount);
            found
        });
        chunk * CHUNK + within.expect("draws are below the total")
    };
    draws.iter().map(find).collect()
}
