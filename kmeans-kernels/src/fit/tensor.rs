//! Rounds on rows of up to 128 columns and up to 128 clusters: tensor cores multiply a warp's 16 rows, rounded to f16, with all
//! centroids, which lie in shared memory; what the scores leave open is settled by D. Rows are centred, scaled and rounded
//! once ([`halves`](crate::assign::halves)), centroids in every round. `assign/bound.rs` says how far apart scores
//! must be. Rungs: see [`super`].

use half::f16;
use kmeans_core::launch::{FIT_TENSOR_CLUSTERS, FIT_TENSOR_COLUMNS, FitEnd};

use super::own::Own;
use super::{Ending, Log, sum};
use crate::argmin::Nearest;
use crate::assign::bound::{Bound, offset};
use crate::assign::halves::round_row;
use crate::device::{
    self, GridBarrier, In, Out, Shared, SharedMemory, WARP, ballot, block_index, block_size, grid_size, lane,
    multiply_tiles, shuffle_from, shuffle_xor, sync_block, sync_warp, thread_index,
};
use crate::distance::add_square;
use crate::scale::divide::Integer;
use crate::scale::quick;
use crate::update::fixed::{Narrow, Wide};

/// Centroids of a product of tiles.
const WIDTH: u32 = 8;
/// Rows, and columns, of a product of tiles.
const SIDE: u32 = 16;
/// Products of tiles for all centroids.
const TILES: usize = (FIT_TENSOR_CLUSTERS / WIDTH) as usize;
/// Values of a row that a lane has.
const VALUES: usize = (FIT_TENSOR_COLUMNS / WARP) as usize;
/// Columns of D that are loaded at a time.
const AHEAD: usize = 15;
/// Steps for all columns.
const STEPS: usize = (FIT_TENSOR_COLUMNS / SIDE) as usize;

/// Centroids as tensor cores read them.
#[derive(Clone, Copy)]
struct Rounded<'a> {
    /// `[k, width]`.
    halves: Out<'a, f16>,
    /// `[k]`: |c'|².
    norms: Out<'a, f32>,
    /// `[slots, 2]`: the bits of the largest |c'|², and of the largest error.
    largest: Out<'a, u32>,
    centre: In<'a, f32>,
    scale: f32,
    /// Columns, a multiple of 16.
    width: u32,
}

/// Centroids in shared memory.
#[derive(Clone, Copy)]
struct Staged<'a> {
    /// `[⌈k/8⌉·8, width + 8]`, by twos: rows begin in different banks.
    pairs: Shared<'a, u32>,
    /// What scores begin with, `[⌈k/8⌉·8]`.
    starts: Shared<'a, f32>,
}

/// Up to slots − 2 rounds, as [`narrow`](super::narrow::narrow). `pairs` are the rounded rows, `[n, width/2]` times two,
/// `x_norms` and `x_errors` what [`halves`](crate::assign::halves) says of them.
#[inline(always)]
pub fn tensor<F: Integer>(
    points: In<f32>,
    labels: Out<u32>,
    centroids: Out<f32>,
    sums: Out<u64>,
    counts: Out<u64>,
    gained: Out<u64>,
    moved: Out<u64>,
    found: Out<u64>,
    state: Out<u64>,
    arrivals: Out<u32>,
    pairs: In<u32>,
    x_norms: In<f32>,
    x_errors: In<f32>,
    centre: In<f32>,
    halves: Out<f16>,
    c_norms: Out<f32>,
    largest: Out<u32>,
    scale: f32,
    width: u32,
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
    let log = Log { centroids, sums, counts, gained, moved, found, k, d };
    let ending = Ending { rule, limit, flags, rounds: slots - 2 };
    let rounded = Rounded { halves, norms: c_norms, largest, centre, scale, width };
    let rows = Rows { points, labels, pairs, norms: x_norms, errors: x_errors, n, k, d, width };
    let format = F::new(exponent, words);
    let padded = k.next_multiple_of(WIDTH);
    let mut shared = SharedMemory::new();
    let staged = Staged { pairs: shared.array::<u32>(padded * (width + 8) / 2), starts: shared.array::<f32>(padded) };
    let pitch = k * (d * format.words() + 1);
    let cells = shared.array::<u64>(pitch);
    let own = Own { format, cells, start: 0, copies: 1, pitch };
    let mut grid = GridBarrier::new(arrivals);
    let (mut slot, mut end) = (0, FitEnd::None);
    rounded.round_all(log);
    grid.sync();
    loop {
        rounded.stage(staged, slot, k);
        own.clear();
        sync_block();
        let largest = [rounded.largest.get(slot * 2), rounded.largest.get(slot * 2 + 1)];
        let bound = Bound::new::<f16>(largest[0], largest[1], width);
        let changed = rows.label(log, slot, staged, bound, own, !ending.has_labels(slot));
        if lane() == 0 && changed != 0 {
            found.add(slot * 2, changed as u64);
        }
        sync_block();
        own.flush(gained, log.gains(slot + 1, format.words()), k, d);
        grid.sync();
        update::<F>(log, slot, exponent, cells.cast::<f64>(), rounded);
        grid.sync();
        slot += 1;
        // That was the pass for the last means.
        if end != FitEnd::None {
            break;
        }
        let movements = cells.cast::<f64>();
        let mut cluster = thread_index();
        while cluster < k {
            movements.set(cluster, f64::from_bits(moved.get((slot - 1) * k as u64 + cluster as u64)));
            cluster += block_size();
        }
        sync_block();
        end = ending.end(slot - 1, found.get(slot * 2 - 2), found.get(slot * 2 - 1), movements, k);
        sync_block();
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

/// The first cluster of this thread's warp, and how many clusters further its next one is: neighbours in different blocks.
#[inline(always)]
fn shares() -> (u64, u64) {
    let warp = (thread_index() / WARP) as u64;
    (block_index() as u64 + warp * grid_size() as u64, grid_size() as u64 * (block_size() / WARP) as u64)
}

impl Rounded<'_> {
    /// Rounds the centroids of slot 0, a warp each.
    #[inline(always)]
    fn round_all(self, log: Log<f32>) {
        let (mut cluster, step) = shares();
        while cluster < log.k as u64 {
            self.round(log, 0, cluster);
            cluster += step;
        }
    }

    /// Rounds a centroid of slot `slot`, which this warp has written.
    #[inline(always)]
    fn round(self, log: Log<f32>, slot: u64, cluster: u64) {
        let first = (slot * log.k as u64 + cluster) * log.d as u64;
        let value = |column: u32| log.centroids.get(first + column as u64);
        let set = |column: u32, half: f16| self.halves.set(cluster * self.width as u64 + column as u64, half);
        let (norm, error) = round_row(value, set, self.centre, self.scale, log.d, self.width);
        if lane() == 0 {
            self.norms.set(cluster, norm);
            self.largest.raise(slot * 2, norm.to_bits());
            self.largest.raise(slot * 2 + 1, error.to_bits());
        }
    }

    /// Brings the centroids to shared memory.
    #[inline(always)]
    fn stage(self, staged: Staged, slot: u64, k: u32) {
        let (padded, pitch) = (k.next_multiple_of(WIDTH), self.width + 8);
        let halves = staged.pairs.cast::<f16>();
        // A warp per row.
        let mut row = thread_index() / WARP;
        while row < padded {
            let mut column = lane();
            while column < self.width {
                let value = if row < k { self.halves.get((row * self.width + column) as u64) } else { f16::ZERO };
                halves.set(row * pitch + column, value);
                column += WARP;
            }
            row += block_size() / WARP;
        }
        let offset = offset(self.largest.get(slot * 2));
        let mut cluster = thread_index();
        while cluster < padded {
            // No centroid must not win.
            let start = if cluster < k {
                (offset as f64 - 0.5 * self.norms.get(cluster as u64) as f64) as f32
            } else {
                f32::NEG_INFINITY
            };
            staged.starts.set(cluster, start);
            cluster += block_size();
        }
    }
}

/// The rows and their labels.
#[derive(Clone, Copy)]
struct Rows<'a> {
    points: In<'a, f32>,
    labels: Out<'a, u32>,
    pairs: In<'a, u32>,
    norms: In<'a, f32>,
    errors: In<'a, f32>,
    n: u64,
    k: u32,
    d: u32,
    width: u32,
}

/// A lane's scores of its two rows, g and g + 8 of the warp's 16, as tensor cores leave products.
type Scores = [[f32; 4]; TILES];

impl Rows<'_> {
    /// Labels this warp's rows, 16 at a time; returns, in lane 0, how many labels changed. All do if they are new.
    #[inline(always)]
    fn label<F: Integer>(
        self,
        log: Log<f32>,
        slot: u64,
        staged: Staged,
        bound: Bound,
        own: Own<F>,
        is_new: bool,
    ) -> u32 {
        let mut changed = 0;
        let warps = grid_size() as u64 * (block_size() / WARP) as u64;
        let mut first =
            (block_index() as u64 * (block_size() / WARP) as u64 + (thread_index() / WARP) as u64) * SIDE as u64;
        while first < self.n {
            let scores = self.scores(first, staged);
            let place = (log, slot, bound);
            changed += self.settle::<F, 0>(&scores, first, place, own, is_new);
            changed += self.settle::<F, 1>(&scores, first, place, own, is_new);
            first += warps * SIDE as u64;
        }
        changed
    }

    /// Labels a lane's row `R` of the 16 from `first` on, and moves it; returns how many labels changed.
    #[inline(always)]
    fn settle<F: Integer, const R: usize>(
        self,
        scores: &Scores,
        first: u64,
        place: (Log<f32>, u64, Bound),
        own: Own<F>,
        is_new: bool,
    ) -> u32 {
        let row = first + (lane() / 4 + 8 * R as u32) as u64;
        let label = self.decide::<R>(scores, row, place);
        // The first of the four lanes that have the row sees to it.
        let is_mine = row < self.n && lane().is_multiple_of(4);
        let before = if is_mine && !is_new { self.labels.get(row) } else { u32::MAX };
        let is_changed = is_mine && label != before;
        if is_changed {
            self.labels.set(row, label);
        }
        let changed = ballot(is_changed);
        let mut moves = changed;
        let row_of = |lane: u32| first + (lane / 4 + 8 * R as u32) as u64;
        let mut next = self.values(row_of(moves.trailing_zeros()), moves != 0);
        while moves != 0 {
            let (values, from) = (next, moves.trailing_zeros());
            moves &= moves - 1;
            // The next row is on its way while this one is added.
            next = self.values(row_of(moves.trailing_zeros()), moves != 0);
            self.move_row(values, shuffle_from(label, from), shuffle_from(before, from), own, is_new);
        }
        changed.count_ones()
    }

    /// The scores of the 16 rows from `first` on.
    #[inline(always)]
    fn scores(self, first: u64, staged: Staged) -> Scores {
        let (group, member) = (lane() / 4, lane() % 4);
        let mut a = [[0_u32; 4]; STEPS];
        for (step, a) in a.iter_mut().enumerate() {
            let column = step as u32 * (SIDE / 2) + member;
            if step as u32 * SIDE < self.width {
                for (i, word) in a.iter_mut().enumerate() {
                    let row = first + (group + 8 * (i as u32 % 2)) as u64;
                    let at = row * (self.width / 2) as u64 + (column + 4 * (i as u32 / 2)) as u64;
                    if row < self.n {
                        *word = self.pairs.get(at);
                    }
                }
            }
        }
        let mut scores: Scores = [[f32::NEG_INFINITY; 4]; TILES];
        let pitch = self.width / 2 + 4;
        for (tile, scores) in scores.iter_mut().enumerate() {
            let centroid = tile as u32 * WIDTH;
            if centroid < self.k {
                let mut sum = [0.0; 4];
                for (step, &a) in a.iter().enumerate() {
                    if step as u32 * SIDE < self.width {
                        let at = (centroid + group) * pitch + step as u32 * (SIDE / 2) + member;
                        sum = multiply_tiles::<f16>(a, [staged.pairs.get(at), staged.pairs.get(at + 4)], sum);
                    }
                }
                let start = centroid + member * 2;
                let starts = [staged.starts.get(start), staged.starts.get(start + 1)];
                *scores = [sum[0] + starts[0], sum[1] + starts[1], sum[2] + starts[0], sum[3] + starts[1]];
            }
        }
        scores
    }

    /// The label of a lane's row `R`, which is `row`; alike for the four lanes that have it.
    #[inline(always)]
    fn decide<const R: usize>(self, scores: &Scores, row: u64, (log, slot, bound): (Log<f32>, u64, Bound)) -> u32 {
        // Not by f32::max: where a score is no number, all centroids are candidates.
        let greater = |best: f32, other: f32| if other <= best { best } else { other };
        let mut best = f32::NEG_INFINITY;
        for tile in scores {
            best = greater(greater(best, tile[2 * R]), tile[2 * R + 1]);
        }
        best = greater(best, shuffle_xor(best, 1));
        best = greater(best, shuffle_xor(best, 2));
        let inside = row < self.n;
        let (norm, error) = if inside { (self.norms.get(row), self.errors.get(row)) } else { (0.0, 0.0) };
        let threshold = best - bound.margin(norm, error);
        let mut near = 0_u32;
        for (tile, scores) in scores.iter().enumerate() {
            for i in 0..2 {
                let is_far = scores[2 * R + i] < threshold;
                if !is_far && label_of(2 * tile + i) < self.k {
                    near |= 1 << (2 * tile + i);
                }
            }
        }
        let mut count = near.count_ones();
        count += shuffle_xor(count, 1);
        count += shuffle_xor(count, 2);
        let mut nearest = Nearest::NONE;
        if count == 1 {
            if near != 0 {
                nearest = Nearest { label: label_of(near.trailing_zeros() as usize), distance: 0.0 };
            }
        } else if inside {
            let c = slot * (self.k * self.d) as u64;
            while near != 0 {
                let label = label_of(near.trailing_zeros() as usize);
                let distance = self.distance(log, row * self.d as u64, c + label as u64 * self.d as u64);
                nearest = nearest.offer(label, distance);
                near &= near - 1;
            }
        }
        nearest.merge_lanes(4).label()
    }

    /// D between the row at `x` and the centroid at `c`.
    #[inline(always)]
    fn distance(self, log: Log<f32>, x: u64, c: u64) -> f64 {
        let (mut distance, mut column) = (0.0, 0);
        // Several values are on their way at a time.
        while column + AHEAD as u64 <= self.d as u64 {
            let (mut xs, mut cs) = ([0.0; AHEAD], [0.0; AHEAD]);
            for (i, (x_value, c_value)) in xs.iter_mut().zip(&mut cs).enumerate() {
                *x_value = self.points.get(x + column + i as u64);
                *c_value = log.centroids.get(c + column + i as u64);
            }
            for (&x_value, &c_value) in xs.iter().zip(&cs) {
                distance = add_square(distance, x_value, c_value);
            }
            column += AHEAD as u64;
        }
        while column < self.d as u64 {
            distance = add_square(distance, self.points.get(x + column), log.centroids.get(c + column));
            column += 1;
        }
        distance
    }

    /// A lane's values of a row: every 32nd column. Zeros if there is no such row.
    #[inline(always)]
    fn values(self, row: u64, is_row: bool) -> [f32; VALUES] {
        let mut values = [0.0; VALUES];
        for (i, value) in values.iter_mut().enumerate() {
            let column = lane() + WARP * i as u32;
            if is_row && column < self.d {
                *value = self.points.get(row * self.d as u64 + column as u64);
            }
        }
        values
    }

    /// Moves a row from one cluster to another; all lanes take part.
    #[inline(always)]
    fn move_row<F: Integer>(self, values: [f32; VALUES], label: u32, before: u32, own: Own<F>, is_new: bool) {
        for (i, &value) in values.iter().enumerate() {
            let column = lane() + WARP * i as u32;
            if column < self.d {
                own.add(label, column, self.d, value as f64);
                if !is_new {
                    own.add(before, column, self.d, -value as f64);
                }
            }
        }
        if lane() == 0 {
            own.count(label, self.k, self.d, 1);
            if !is_new {
                // Wrapping addition takes one away.
                own.count(before, self.k, self.d, u64::MAX);
            }
        }
    }
}

/// The label of a lane's score number `index` of a row.
#[inline(always)]
fn label_of(index: usize) -> u32 {
    index as u32 / 2 * WIDTH + lane() % 4 * 2 + index as u32 % 2
}

/// The second half of round `slot`: centroids from sums, a warp per cluster. `squares` has room for a row of each of the
/// block's clusters.
#[inline(always)]
fn update<F: Integer>(log: Log<f32>, slot: u64, exponent: i32, squares: Shared<f64>, rounded: Rounded) {
    let (k, d) = (log.k as u64, log.d as u64);
    let words = F::new(exponent, 0).words() as u64;
    let gains = log.gains(slot + 1, words as u32);
    let (mut cluster, step) = shares();
    // Warps that have a cluster have those before them in the block.
    let own = thread_index() / WARP * log.d;
    while cluster < k {
        let (old, new) = (slot * k + cluster, (slot + 1) * k + cluster);
        // Wrapping: a difference may be negative.
        let count = log.counts.get(old).wrapping_add(log.gained.get(gains + k * d * words + cluster));
        let mut column = lane() as u64;
        while column < d {
            let total = sum::<F>(log.sums, 0, old * d + column, words)
                + sum::<F>(log.gained, gains, cluster * d + column, words);
            F::store(total, log.sums, (new * d + column) * words);
            let centroid = log.centroids.get(old * d + column);
            let mean = if count == 0 { centroid } else { quick::quotient(total, words as u32, exponent, count) };
            log.centroids.set(new * d + column, mean);
            squares.set(own + column as u32, add_square(0.0, mean, centroid));
            column += WARP as u64;
        }
        sync_warp();
        if lane() == 0 {
            let mut moved = 0.0_f64;
            for column in 0..log.d {
                moved += squares.get(own + column);
            }
            log.counts.set(new, count);
            log.moved.set(old, moved.to_bits());
            if count == 0 {
                log.found.add(slot * 2 + 1, 1);
            }
        }
        rounded.round(log, slot + 1, cluster);
        sync_warp();
        cluster += step;
    }
}

device::entries! {
    in ampere: tensor(
        points: In<f32>, labels: Out<u32>, centroids: Out<f32>, sums: Out<u64>, counts: Out<u64>, gained: Out<u64>,
        moved: Out<u64>, found: Out<u64>, state: Out<u64>, arrivals: Out<u32>, pairs: In<u32>, x_norms: In<f32>,
        x_errors: In<f32>, centre: In<f32>, halves: Out<f16>, c_norms: Out<f32>, largest: Out<u32>, scale: f32, width: u32,
        exponent: i32, words: u32, rule: u32, limit: u64, flags: u32, slots: u32, n: u64, k: u32, d: u32
    );
    fit_tensor_sums_narrow: (Narrow),
    fit_tensor_sums_wide: (Wide),
}
