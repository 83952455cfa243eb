//! Groups of rows, and what the reference makes of each.

use std::ops::Range;

use kmeans_core::Scalar;
use kmeans_core::launch as contract;
use kmeans_core::reference::{self, EmptyClusterFound, Fit};
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::settings::Settings;
use kmeans_kernels::device::emulated::{Buffer, Emulator};
use kmeans_kernels::groups;

use crate::common::{Data, launch, numbers};

/// Groups of the given sizes, a row that belongs to none between them.
pub fn ranges(sizes: &[u64]) -> (Vec<Range<usize>>, usize) {
    let mut at = 1;
    let ranges = sizes.iter().map(|&size| {
        let range = at..at + size as usize;
        at = range.end + 1;
        range
    });
    (ranges.collect(), at)
}

/// The table of tiles, as the device makes it.
pub struct Tables {
    pub ranges: Buffer<u64>,
    pub starts: Buffer<u32>,
    pub owners: Buffer<u32>,
    pub tiles: u64,
    pub tile_rows: u32,
}

impl Tables {
    pub fn new(emulator: &Emulator, groups: &[Range<usize>], n: usize, tile_rows: u32) -> Self {
        let flat: Vec<u64> = groups.iter().flat_map(|g| [g.start as u64, g.end as u64]).collect();
        let count = groups.len() as u32;
        let tiles = contract::group_tiles(n as u64, count, tile_rows);
        let ranges = emulator.buffer("ranges", &flat);
        let starts = emulator.uninitialised("starts", groups.len() + 1);
        let owners = emulator.uninitialised("owners", tiles as usize);
        launch(emulator, &contract::GROUPS_STARTS, contract::groups_starts(), || {
            groups::table::starts(ranges.input(), starts.output(), tile_rows, count);
        });
        launch(emulator, &contract::GROUPS_OWNERS, contract::GROUPS_OWNERS.thread_each(tiles), || {
            groups::table::owners(starts.input(), owners.output(), tiles as u32, count);
        });
        Self { ranges, starts, owners, tiles, tile_rows }
    }
}

/// A problem of many groups.
pub struct Problem<T> {
    pub points: Vec<T>,
    pub groups: Vec<Range<usize>>,
    pub starts: Vec<T>,
    pub k: usize,
    pub d: usize,
    pub what: String,
}

impl<T: Scalar> Problem<T> {
    pub fn new(sizes: &[u64], k: usize, d: usize, data: Data, seed: u64) -> Self {
        let (groups, n) = ranges(sizes);
        let points = numbers::<T>(data, n * d, seed);
        // Rows of each group, the first twice, so that a cluster is empty; some from elsewhere.
        let random = Random::new(seed, 3);
        let mut starts = Vec::new();
        for group in &groups {
            for c in 0..k {
                let row = match c {
                    0 | 1 => group.start,
                    _ => group.start + random.below(group.len() as u64, Purpose::Point, 5, c as u64) as usize,
                };
                starts.extend_from_slice(&points[row * d..][..d]);
            }
        }
        let what = format!("{} {data:?} {sizes:?} k {k} d {d}", T::NAME);
        Self { points, groups, starts, k, d, what }
    }

    pub fn own(&self, g: usize) -> &[T] {
        let group = &self.groups[g];
        &self.points[group.start * self.d..group.end * self.d]
    }

    pub fn expected(&self, settings: &Settings) -> Vec<Result<Fit<T>, EmptyClusterFound>> {
        let size = self.k * self.d;
        (0..self.groups.len())
            .map(|g| reference::lloyd(self.own(g), self.d, None, &self.starts[g * size..][..size], settings))
            .collect()
    }
}

/// Sizes around those of a step and of a tile; groups of one row, of as many as clusters.
pub const SIZES: [u64; 5] = [70, 9, 64, 129, 12];
