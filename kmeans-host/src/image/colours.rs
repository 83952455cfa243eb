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
/// Words of the set per unit of work.
const WORDS: usize = 1 << 12;

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
        let colour = picture.colour_channels();
        let used = if picture.weighted { picture.channels } else { colour };
        // Colour in the higher bits, alpha in the lowest where it counts.
        let code = |pixel: &[S]| pixel[..used].iter().fold(0, |code, s| code << S::BITS | s.bits());
        let (codes, index, counts) = if used as u32 * S::BITS <= BITS_OF_SET {
            let cubes = Cubes::new::<S>(colour, used);
            match used {
                1 => by_set::<S, 1>(picture, cubes, limit)?,
                2 => by_set::<S, 2>(picture, cubes, limit)?,
                _ => by_set::<S, 3>(picture, cubes, limit)?,
            }
        } else {
            by_sorting(picture, limit, code)?
        };
        let mut rows = Array2::zeros((codes.len(), colour));
        let channel = |code: u64, i: usize| (code >> ((used - 1 - i) as u32 * S::BITS)) & ((1 << S::BITS) - 1);
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

/// Codes in which colours that differ little, as those of neighbouring pixels do, lie in one cache line of a table: the high bits of all
/// channels, then their low bits, then alpha.
#[derive(Clone, Copy)]
struct Cubes {
    channels: u32,
    bits: u32,
    alpha_bits: u32,
}

/// Low bits of a channel that stand together with those of the others.
const LOW: u32 = 3;

impl Cubes {
    /// For pixels of which the first `colour` of `used` samples are colour.
    fn new<S: Sample>(colour: usize, used: usize) -> Self {
        Self { channels: colour as u32, bits: S::BITS, alpha_bits: (used - colour) as u32 * S::BITS }
    }

    /// The code of a pixel whose samples stand one after the other in `packed`: every bit goes to a place of its own.
    fn code(self, packed: u64) -> u64 {
        let (high_bits, colour) = (self.bits - LOW, packed >> self.alpha_bits);
        let (mut high, mut low) = (0, 0);
        for channel in (0..self.channels).rev() {
            let sample = colour >> (channel * self.bits) & ((1 << self.bits) - 1);
            high = high << high_bits | sample >> LOW;
            low = low << LOW | sample & ((1 << LOW) - 1);
        }
        let alpha = packed & ((1 << self.alpha_bits) - 1);
        (high << (self.channels * LOW) | low) << self.alpha_bits | alpha
    }

    /// The inverse.
    fn packed(self, code: u64) -> u64 {
        let (high_bits, colour) = (self.bits - LOW, code >> self.alpha_bits);
        let high = colour >> (self.channels * LOW);
        let mut packed = 0;
        for channel in (0..self.channels).rev() {
            let high = high >> (channel * high_bits) & ((1 << high_bits) - 1);
            let low = colour >> (channel * LOW) & ((1 << LOW) - 1);
            packed = packed << self.bits | high << LOW | low;
        }
        packed << self.alpha_bits | code & ((1 << self.alpha_bits) - 1)
    }
}

/// The codes that occur, in order; each pixel's rank among them; how often each occurs.
type Counted = (Vec<u64>, Vec<u32>, Vec<u64>);

/// What occurs, by way of a set of bits, in pixels of which the first `U` samples count.
fn by_set<S: Sample, const U: usize>(picture: &Picture<'_, S>, cubes: Cubes, limit: usize) -> Option<Counted> {
    // What each sample contributes to a code.
    let parts: [Vec<u32>; U] = std::array::from_fn(|sample| {
        let shift = (U - 1 - sample) as u32 * S::BITS;
        (0..1_u64 << S::BITS).map(|value| cubes.code(value << shift) as u32).collect()
    });
    let code = |pixel: &[S]| (0..U).fold(0, |code, sample| code | parts[sample][pixel[sample].bits() as usize]);
    let words = (1_usize << (U as u32 * S::BITS)).div_ceil(32);
    let set: Vec<AtomicU32> = (0..words).into_par_iter().map(|_| AtomicU32::new(0)).collect();
    picture.samples().par_chunks(CHUNK * picture.channels).for_each(|pixels| {
        let mut before = u32::MAX;
        for pixel in pixels.chunks_exact(picture.channels) {
            let code = code(pixel);
            if code == before {
                continue;
            }
            before = code;
            let (word, bit) = (&set[code as usize >> 5], 1 << (code & 31));
            // Writing only what is news keeps the words in every core's cache.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    });
    let set: Vec<u32> = set.into_par_iter().map(AtomicU32::into_inner).collect();
    let sizes: Vec<u32> = set.par_chunks(WORDS).map(|words| words.iter().map(|word| word.count_ones()).sum()).collect();
    let mut ranks = Vec::with_capacity(sizes.len());
    let mut colours = 0_u32;
    for size in sizes {
        ranks.push(colours);
        colours += size;
    }
    if colours as usize > limit {
        return None;
    }
    // Each word beside the rank of its first code, so that looking a code up is one access to memory.
    let first_of = |next: &mut u32, word: &u32| {
        *next += word.count_ones();
        Some((*word, *next - word.count_ones()))
    };
    let words = set.par_chunks(WORDS).zip(ranks);
    let table: Vec<(u32, u32)> = words.flat_map_iter(|(words, rank)| words.iter().scan(rank, first_of)).collect();
    let bits_of = |(i, &word): (usize, &u32)| {
        // Most words have none: the lowest bit that is left, until none is.
        let rest =
            std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1))).take_while(|rest| *rest != 0);
        rest.map(move |rest| cubes.packed((i as u64) << 5 | u64::from(rest.trailing_zeros())))
    };
    let codes = set.par_iter().enumerate().with_min_len(WORDS).flat_map_iter(bits_of).collect();
    let rank = |code: u32| {
        let (word, rank) = table[code as usize >> 5];
        rank + (word & ((1_u32 << (code & 31)) - 1)).count_ones()
    };
    let (index, counts) = index(picture, colours as usize, code, rank);
    Some((codes, index, counts))
}

/// The same for codes too long for a set of bits: chunks are sorted and merged.
fn by_sorting<S: Sample>(picture: &Picture<'_, S>, limit: usize, code: impl Fn(&[S]) -> u64 + Sync) -> Option<Counted> {
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
    let (index, counts) = index(picture, codes.len(), &code, |packed| codes.partition_point(|&c| c < packed) as u32);
    Some((codes, index, counts))
}

/// The rank of each pixel, and how often each of `colours` ranks occurs. One table of counts per thread: colours are fewer than
/// pixels.
fn index<S: Sample, C: PartialEq + Copy>(
    picture: &Picture<'_, S>,
    colours: usize,
    code: impl Fn(&[S]) -> C + Sync,
    rank: impl Fn(C) -> u32 + Sync,
) -> (Vec<u32>, Vec<u64>) {
    let mut index = vec![0_u32; picture.len()];
    let chunk = index.len().div_ceil(rayon::current_num_threads()).clamp(CHUNK, u32::MAX as usize);
    let counts = index
        .par_chunks_mut(chunk)
        .zip(picture.samples().par_chunks(chunk * picture.channels))
        .map(|(index, pixels)| {
            let mut counts = vec![0_u32; colours];
            let (mut before, mut last) = (None, 0);
            for (index, pixel) in index.iter_mut().zip(pixels.chunks_exact(picture.channels)) {
                let code = code(pixel);
                if before != Some(code) {
                    (before, last) = (Some(code), rank(code));
                }
                *index = last;
                counts[last as usize] += 1;
            }
            counts
        })
        .fold(
            || vec![0_u64; colours],
            |mut sums, counts| {
                sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += u64::from(count));
                sums
            },
        )
        .reduce_with(|mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        });
    (index, counts.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_cubes_are_the_colours_in_another_order() {
        for (cubes, bits) in [(Cubes::new::<u8>(3, 3), 24), (Cubes::new::<u8>(1, 2), 16), (Cubes::new::<u16>(1, 1), 16)]
        {
            let mut seen = vec![false; 1 << bits];
            for packed in 0..1 << bits {
                let code = cubes.code(packed);
                assert_eq!(cubes.packed(code), packed);
                assert!(!std::mem::replace(&mut seen[code as usize], true));
            }
        }
        let cubes = Cubes::new::<u8>(3, 3);
        assert_eq!(cubes.code(0x28_50_78) >> 9, cubes.code(0x2f_57_7f) >> 9);
    }
}
