//! Rounds on rows of up to four columns: a thread labels its rows one after the other, each in registers, against
//! centroids in shared memory. `f32` arithmetic as in [`filtered`](crate::assign::filtered), which says why the labels are
//! exact. Rungs: see [`super`].

use kmeans_core::launch::{FitEnd, fit_copies, fit_copy_words};

use super::own::Own;
use super::{Ending, Log};
use crate::argmin::Nearest;
use crate::assign::filtered::is_certain;
use crate::assign::narrow::offer_all;
use crate::assign::two::Two;
use crate::device::{
    self, GridBarrier, In, Load, Number, Out, Shared, SharedMemory, ballot, block_index, block_size, grid_size, lane,
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
        own.clear(copies * pitch);
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
    ///
    /// A row is on its way while the one before it is labelled. Where few rows change, a warp would still spend most of its time on
    /// moving one or two of its 32: so a row that moves waits, until another of the same lane does, and then all lanes move
    /// theirs at once.
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
        let mut waiting = Move::<D>::NONE;
        // Of the warp, whose lanes stay together to vote.
        let mut first_row = block_index() as u64 * block_size() as u64 + (thread_index() - lane()) as u64;
        let mut next = self.load(first_row + lane() as u64, is_new);
        while first_row < self.n {
            let (row, loaded) = (first_row + lane() as u64, next);
            first_row += grid_size() as u64 * block_size() as u64;
            next = self.load(first_row + lane() as u64, is_new);
            let mut found = Move::NONE;
            if row < self.n {
                found = self.label_row(row, loaded, centroids, first, staged);
            }
            if ballot(found.is_some() && waiting.is_some()) != 0 {
                waiting.add_to(own, self.k);
                waiting = Move::NONE;
            }
            if found.is_some() {
                changed += 1;
                waiting = found;
            }
        }
        waiting.add_to(own, self.k);
        changed
    }

    /// A row and its label, if there is such a row; `is_new`: it has no label.
    #[inline(always)]
    fn load<const D: usize>(self, row: u64, is_new: bool) -> Loaded<D> {
        let (mut x, mut before) = ([0.0_f32; D], NOWHERE);
        if row < self.n {
            for (j, value) in x.iter_mut().enumerate() {
                *value = self.points.get(row * D as u64 + j as u64).load().single();
            }
            if !is_new {
                before = self.labels.get(row);
            }
        }
        Loaded { x, before }
    }

    /// Labels a row, and says where it moves.
    #[inline(always)]
    fn label_row<const D: usize>(
        self,
        row: u64,
        Loaded { x, before }: Loaded<D>,
        centroids: Out<P::Value>,
        first: u64,
        staged: Shared<f32>,
    ) -> Move<D> {
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
        if label == before {
            return Move::NONE;
        }
        self.labels.set(row, label);
        Move { x, from: before, to: label }
    }
}

/// No cluster.
const NOWHERE: u32 = u32::MAX;

/// A row, and the cluster that it is in.
#[derive(Clone, Copy)]
struct Loaded<const D: usize> {
    x: [f32; D],
    before: u32,
}

/// A row that moves from a cluster to another.
#[derive(Clone, Copy)]
struct Move<const D: usize> {
    x: [f32; D],
    from: u32,
    to: u32,
}

impl<const D: usize> Move<D> {
    const NONE: Self = Self { x: [0.0; D], from: NOWHERE, to: NOWHERE };

    #[inline(always)]
    fn is_some(self) -> bool {
        self.to != NOWHERE
    }

    /// Adds the row to one of k clusters and takes it from the other.
    #[inline(always)]
    fn add_to<F: Integer>(self, own: Own<F>, k: u32) {
        if !self.is_some() {
            return;
        }
        let d = D as u32;
        for (j, &value) in self.x.iter().enumerate() {
            own.add(self.to, j as u32, d, value as f64);
        }
        own.count(self.to, k, d, 1);
        if self.from != NOWHERE {
            for (j, &value) in self.x.iter().enumerate() {
                own.add(self.from, j as u32, d, -value as f64);
            }
            // Wrapping addition takes one away.
            own.count(self.from, k, d, u64::MAX);
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
