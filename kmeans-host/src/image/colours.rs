//! The distinct colours of an image, how often each occurs, and which one each pixel has.
//!
//! A photograph of two million pixels has a tenth as many colours or fewer. K-means on the colours, each weighing as
//! much as its pixels, has the same exact sums, so it gives the bits of k-means on all pixels.

use std::sync::atomic::{AtomicU32, Ordering};

use ndarray::Array2;
use rayon::prelude::*;

use super::picture::{Picture, opacity};
use super::{Features, Sample};

/// Colours are counted in a set of bits up to this many bits of colour: 2 MiB, which a cache holds.
const BITS_OF_SET: u32 = 24;
/// Pixels per unit of work.
const CHUNK: usize = 1 << 16;

/// Distinct colours in the order of their codes. Where pixels have weights, alpha is part of the colour.
pub struct Colours {
    /// Per colour, pixels that have it.
    pub counts: Vec<u64>,
    /// Per pixel, its colour.
    pub index: Vec<u32>,
    /// `[m, d]`: the features of each colour.
    pub rows: Array2<f32>,
    /// Per colour, the weight of one pixel.
    pub weights: Option<Vec<f64>>,
}

impl Colours {
    /// The colours of `picture`, or `None` if they are more than `limit`, or of a type whose colours cannot be counted.
    pub fn count<S: Sample>(picture: &Picture<'_, S>, features: Features, limit: usize) -> Option<Self> {
        if S::BITS == 0 {
            return None;
        }
        // Colour in the higher bits, alpha in the lowest where it counts.
        let used = if picture.weighted { picture.channels } else { picture.colour_channels() };
        let code = |pixel: &[S]| pixel[..used].iter().fold(0, |code, s| code << S::BITS | s.bits());
        let (codes, index) = if used as u32 * S::BITS <= BITS_OF_SET {
            by_set(picture, used as u32 * S::BITS, limit, code)?
        } else {
            by_sorting(picture, limit, code)?
        };
        let counts = count(&index, codes.len());
        let colour = picture.colour_channels();
        let channel = |code: u64, i: usize| (code >> ((used - 1 - i) as u32 * S::BITS)) & ((1 << S::BITS) - 1);
        let mut rows = Array2::zeros((codes.len(), colour));
        let sample = |code: u64, i: usize| S::from_f32(channel(code, i) as f32);
        rows.as_slice_mut().expect("packed").par_chunks_exact_mut(colour).zip(&codes).with_min_len(256).for_each(
            |(row, &code)| {
                let pixel = [0, 1, 2].map(|i| sample(code, i.min(colour - 1)));
                features.colour_into(&pixel[..colour], row);
            },
        );
        let weights = picture.weighted.then(|| codes.iter().map(|&code| opacity(sample(code, used - 1))).collect());
        Some(Self { counts, index, rows, weights })
    }

    /// Colours that differ in more than their alpha, and are seen.
    pub fn seen(&self) -> usize {
        let Some(weights) = &self.weights else { return self.rows.nrows() };
        // Equal colours of different alpha are neighbours.
        let seen: Vec<_> = self.rows.rows().into_iter().zip(weights).filter(|(_, w)| **w > 0.0).collect();
        seen.windows(2).filter(|pair| pair[0].0 != pair[1].0).count() + 1
    }
}

/// The codes that occur, in order, and each pixel's rank among them, by way of a set of bits.
fn by_set<S: Sample>(
    picture: &Picture<'_, S>,
    bits: u32,
    limit: usize,
    code: impl Fn(&[S]) -> u64 + Sync,
) -> Option<(Vec<u64>, Vec<u32>)> {
    let set: Vec<AtomicU32> = (0..(1_usize << bits).div_ceil(32)).map(|_| AtomicU32::new(0)).collect();
    picture.samples().par_chunks(CHUNK * picture.channels).for_each(|pixels| {
        let mut before = u64::MAX;
        for pixel in pixels.chunks_exact(picture.channels) {
            let code = code(pixel);
            let (word, bit) = (&set[code as usize >> 5], 1 << (code & 31));
            // Writing only what is news keeps the words in every core's cache.
            if code != before && word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
            before = code;
        }
    });
    let words: Vec<u32> = set.into_iter().map(AtomicU32::into_inner).collect();
    let mut codes = Vec::new();
    let mut ranks = Vec::with_capacity(words.len());
    for (i, &word) in words.iter().enumerate() {
        ranks.push(codes.len() as u32);
        let mut rest = word;
        while rest != 0 {
            codes.push((i as u64) << 5 | u64::from(rest.trailing_zeros()));
            rest &= rest - 1;
        }
        if codes.len() > limit {
            return None;
        }
    }
    let rank = |pixel: &[S]| {
        let code = code(pixel);
        let below = words[code as usize >> 5] & ((1_u32 << (code & 31)) - 1);
        ranks[code as usize >> 5] + below.count_ones()
    };
    let index = picture.samples().par_chunks_exact(picture.channels).with_min_len(CHUNK).map(rank).collect();
    Some((codes, index))
}

/// The same for codes too long for a set of bits: chunks are sorted and merged.
fn by_sorting<S: Sample>(
    picture: &Picture<'_, S>,
    limit: usize,
    code: impl Fn(&[S]) -> u64 + Sync,
) -> Option<(Vec<u64>, Vec<u32>)> {
    let codes = picture
        .samples()
        .par_chunks(CHUNK * picture.channels)
        .map(|pixels| {
            let mut codes: Vec<u64> = pixels.chunks_exact(picture.channels).map(&code).collect();
            codes.sort_unstable();
            codes.dedup();
            Some(codes)
        })
        .try_reduce(Vec::new, |a, b| {
            let mut merged = a;
            merged.extend(b);
            merged.sort_unstable();
            merged.dedup();
            (merged.len() <= limit).then_some(merged)
        })?;
    if codes.len() > limit {
        return None;
    }
    let rank = |pixel: &[S]| codes.partition_point(|&c| c < code(pixel)) as u32;
    let index = picture.samples().par_chunks_exact(picture.channels).with_min_len(CHUNK).map(rank).collect();
    Some((codes, index))
}

/// How often each colour occurs. One table per thread: colours are fewer than pixels.
fn count(index: &[u32], colours: usize) -> Vec<u64> {
    let chunk = index.len().div_ceil(rayon::current_num_threads()).max(CHUNK);
    index
        .par_chunks(chunk)
        .map(|part| {
            let mut counts = vec![0_u64; colours];
            for &colour in part {
                counts[colour as usize] += 1;
            }
            counts
        })
        .reduce_with(|mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        })
        .unwrap_or_default()
}
