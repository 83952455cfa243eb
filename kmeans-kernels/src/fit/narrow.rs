//! Rounds on rows of up to four columns: a thread labels its rows one after the other, each in registers, against
//! centroids in shared memory. `f32` arithmetic as in [`filtered`](crate::assign::filtered), which says why the labels are
//! exact. Rungs: see [`super`].

use kmeans_core::launch::{FitEnd, fit_copies, fit_copy_words};

use super::{Ending, Log};
use crate::argmin::Nearest;
use crate::assign::filtered::is_certain;
use crate::assign::narrow::offer_all;
use crate::assign::two::Two;
use crate::device::{
    self, GridBarrier, In, Load, Number, Out, Shared, SharedMemory, block_index, block_size, grid_size, lane,
    sync_block, thread_index,
};
use crate::distance::add_square;
use crate::scale::divide::Integer;
use crate::together::sum_lanes;
use crate::update::fixed::{Narrow, Wide};

/// Up to slots − 2 rounds, and where they end and the flags say so, the labels of the last means. `state` gets the rounds
/// done, and how they ended; slot 0 of the log is what they begin with.
#[inline(always)]
pub fn narrow<P: Load, F: Integer>(
    points: In<P>,
    labels: Out<u32>,
    centroids: Out<P::Value>,
    sums: Out<u64>,
    counts: Out<u64>,
    gained: Out<u64>,
    moved: Out<u64>,
    found: Out<u64>,
    state: Out<u64>,
    arrivals: Out<u32>,
    exponent: i32,
    words: u32,
    rule: u32,
    limit: u64,
    flags: u32,
    slots: u32,
    n: u64,
    k: u32,
    d: u32,
) {
    let format = F::new(exponent, words);
    let log = Log { centroids, sums, counts, gained, moved, found, k, d };
    let ending = Ending { rule, limit, flags, rounds: slots - 2 };
    let copies = fit_copies(k, d, format.words());
    let pitch = fit_copy_words(k, d, format.words());
    let mut shared = SharedMemory::new();
    let total = shared.array::<f64>(1);
    let staged = shared.array::<f32>(k * d);
    let cells = shared.array::<u64>(copies * pitch);
    let own = Own { format, cells, start: thread_index() % copies * pitch, copies, pitch };
    let rows = Rows { points, labels, n, k };
    let mut grid = GridBarrier::new(arrivals);
    let (mut slot, mut end) = (0, FitEnd::None);
    loop {
        let first = slot * k as u64 * d as u64;
        let mut value = thread_index();
        while value < k * d {
            staged.set(value, centroids.get(first + value as u64).single());
            value += block_size();
        }
        own.clear();
        sync_block();
        let is_new = !ending.has_labels(slot);
        let changed = match d {
            1 => rows.label::<F, 1>(centroids, first, staged, own, is_new),
            2 => rows.label::<F, 2>(centroids, first, staged, own, is_new),
            3 => rows.label::<F, 3>(centroids, first, staged, own, is_new),
            _ => rows.label::<F, 4>(centroids, first, staged, own, is_new),
        };
        let changed = sum_lanes(changed as u64);
        if lane() == 0 && changed != 0 {
            found.add(slot * 2, changed);
        }
        sync_block();
        own.flush(log, slot + 1);
        grid.sync();
        log.update::<F>(slot, exponent);
        grid.sync();
        slot += 1;
        // That was the pass for the last means.
        if end != FitEnd::None {
            break;
        }
        end = log.end(slot - 1, ending, cells.cast::<f64>(), total);
        if end != FitEnd::None {
            if block_index() == 0 && thread_index() == 0 {
                state.set(0, slot);
                state.set(1, end as u64);
            }
            if !ending.closes(end) {
                break;
            }
        }
    }
}

/// The rows and their labels.
#[derive(Clone, Copy)]
struct Rows<'a, P> {
    points: In<'a, P>,
    labels: Out<'a, u32>,
    n: u64,
    k: u32,
}

impl<P: Load> Rows<'_, P> {
    /// Labels this thread's rows, `D` columns each, for the centroids from `first` on; returns how many labels changed. All
    /// do if they are new.
    #[inline(always)]
    fn label<F: Integer, const D: usize>(
        self,
        centroids: Out<P::Value>,
        first: u64,
        staged: Shared<f32>,
        own: Own<F>,
        is_new: bool,
    ) -> u32 {
        let mut changed = 0;
        let mut row = block_index() as u64 * block_size() as u64 + thread_index() as u64;
        while row < self.n {
            let mut x = [0.0_f32; D];
            for (j, value) in x.iter_mut().enumerate() {
                *value = self.points.get(row * D as u64 + j as u64).load().single();
            }
            let two = offer_all(Two::NONE, x, staged, 0, self.k);
            let mut label = two.label;
            if !is_certain(two, D as u32) {
                let mut nearest = Nearest::NONE;
                for candidate in 0..self.k {
                    let mut distance = 0.0;
                    for j in 0..D as u64 {
                        let c = centroids.get(first + candidate as u64 * D as u64 + j);
                        distance = add_square(distance, self.points.get(row * D as u64 + j).load(), c);
                    }
                    nearest = nearest.offer(candidate, distance);
                }
                label = nearest.label();
            }
            let before = if is_new { u32::MAX } else { self.labels.get(row) };
            if label != before {
                changed += 1;
                self.labels.set(row, label);
                own.add(label, self.k, x, 1.0, 1);
                if !is_new {
                    own.add(before, self.k, x, -1.0, u64::MAX);
                }
            }
            row += grid_size() as u64 * block_size() as u64;
        }
        changed
    }
}

/// What a block's rows add to sums and counts, as often as shared memory allows: neighbouring threads add to different
/// copies, so that they seldom wait for each other.
#[derive(Clone, Copy)]
struct Own<'a, F> {
    format: F,
    cells: Shared<'a, u64>,
    /// This thread's copy.
    start: u32,
    copies: u32,
    /// Words from one copy to the next.
    pitch: u32,
}

impl<F: Integer> Own<'_, F> {
    #[inline(always)]
    fn clear(self) {
        let mut word = thread_index();
        while word < self.copies * self.pitch {
            self.cells.set(word, 0);
            word += block_size();
        }
    }

    /// Adds sign·x to the sums of a cluster, and `one` to its count.
    #[inline(always)]
    fn add<const D: usize>(self, label: u32, k: u32, x: [f32; D], sign: f32, one: u64) {
        let words = self.format.words();
        for (j, &value) in x.iter().enumerate() {
            let at = self.start + (label * D as u32 + j as u32) * words;
            self.format.add(self.cells, at as u64, (sign * value) as f64);
        }
        self.cells.add(self.start + k * D as u32 * words + label, one);
    }

    /// Adds what the block has to slot `slot` of the log.
    #[inline(always)]
    fn flush<T: Number>(self, log: Log<T>, slot: u64) {
        let (words, values) = (self.format.words(), log.k * log.d);
        let mut sum = thread_index();
        while sum < values {
            // The copies of a sum have one reader, this thread.
            for copy in 1..self.copies {
                let word = |word| self.cells.get(copy * self.pitch + sum * words + word);
                self.format.merge(self.cells, (sum * words) as u64, word);
            }
            let at = (slot * values as u64 + sum as u64) * words as u64;
            self.format.merge(log.sums, at, |word| self.cells.get(sum * words + word));
            sum += block_size();
        }
        let mut cluster = thread_index();
        while cluster < log.k {
            let mut count = 0_u64;
            for copy in 0..self.copies {
                count = count.wrapping_add(self.cells.get(copy * self.pitch + values * words + cluster));
            }
            if count != 0 {
                log.gained.add(slot * log.k as u64 + cluster as u64, count);
            }
            cluster += block_size();
        }
    }
}

device::entries! {
    narrow(
        points: In<T>, labels: Out<u32>, centroids: Out<<T as Load>::Value>, sums: Out<u64>, counts: Out<u64>,
        gained: Out<u64>, moved: Out<u64>, found: Out<u64>, state: Out<u64>, arrivals: Out<u32>, exponent: i32, words: u32,
        rule: u32, limit: u64, flags: u32, slots: u32, n: u64, k: u32, d: u32
    );
    fit_narrow_sums_narrow_f32: (f32, Narrow),
    fit_narrow_sums_narrow_f16: (half::f16, Narrow),
    fit_narrow_sums_narrow_bf16: (half::bf16, Narrow),
    fit_narrow_sums_narrow_u8: (u8, Narrow),
    fit_narrow_sums_wide_f32: (f32, Wide),
    fit_narrow_sums_wide_f16: (half::f16, Wide),
    fit_narrow_sums_wide_bf16: (half::bf16, Wide),
    fit_narrow_sums_wide_u8: (u8, Wide),
}
