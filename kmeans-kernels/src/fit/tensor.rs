//! Rounds on rows of up to 128 columns and up to 128 clusters: tensor cores multiply a warp's 16 rows, rounded to f16, with all
//! centroids, which lie in shared memory; what the scores leave open is settled by differences in `f32`, and by D. Rows are centred, scaled and rounded
//! once ([`halves`](crate::assign::halves)), centroids in every round. `assign/bound.rs` says how far apart scores
//! must be. Rungs: see [`super`].

use half::f16;
use kmeans_core::exact::quotient_by_count;
use kmeans_core::launch::{FIT_TENSOR_CLUSTERS, FIT_TENSOR_COLUMNS, FitEnd};

use super::own::Own;
use super::{Ending, Log, sum};
use crate::argmin::Nearest;
use crate::assign::bound::{Bound, offset};
use crate::assign::filtered::is_certain;
use crate::assign::halves::{in_single, round, sum_lanes as sum_doubles};
use crate::assign::two::Two;
use crate::device::{
    self, GridBarrier, In, Out, Shared, SharedMemory, WARP, ballot, block_index, block_size, grid_size, lane,
    multiply_add, multiply_tiles, shuffle_from, shuffle_xor, sync_block, thread_index,
};
use crate::distance::add_square;
use crate::scale::divide::Integer;
use crate::scale::means::add_in_order;
use crate::update::fixed::{Narrow, Wide};

/// Centroids of a product of tiles.
const WIDTH: u32 = 8;
/// Rows, and columns, of a product of tiles.
const SIDE: u32 = 16;
/// Products of tiles for all centroids.
const TILES: usize = (FIT_TENSOR_CLUSTERS / WIDTH) as usize;
/// Values of a row that a lane has.
const VALUES: usize = (FIT_TENSOR_COLUMNS / WARP) as usize;
/// Rows that are loaded before they are settled and moved.
const AHEAD: usize = 3;
/// Pieces of 16 bytes that a thread has on their way to shared memory.
const TOGETHER: usize = 4;
/// In place of the label of a row that scores leave open.
const OPEN: u32 = u32::MAX;
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
    let parts = shared.array::<f64>(block_size() / WARP * 2);
    let mut grid = GridBarrier::new(arrivals);
    let (mut slot, mut end) = (0, FitEnd::None);
    rounded.round_all(log, parts);
    grid.sync();
    rounded.stage(staged, slot, k);
    loop {
        own.clear();
        let largest = [rounded.largest.get(slot * 2), rounded.largest.get(slot * 2 + 1)];
        sync_block();
        let bound = Bound::new::<f16>(largest[0], largest[1], width);
        let changed = rows.label(log, slot, staged, bound, own, !ending.has_labels(slot));
        if lane() == 0 && changed != 0 {
            found.add(slot * 2, changed as u64);
        }
        sync_block();
        own.flush(gained, log.gains(slot + 1, format.words()), k, d);
        grid.sync();
        update::<F>(log, slot, exponent, (cells.cast::<f64>(), parts), rounded);
        grid.sync();
        slot += 1;
        // That was the pass for the last means.
        if end != FitEnd::None {
            break;
        }
        // All that is read of the round is on its way at the same time.
        let (changed, empty) = (found.get(slot * 2 - 2), found.get(slot * 2 - 1));
        let movements = cells.cast::<f64>();
        if ending.by_movement() {
            let mut cluster = thread_index();
            while cluster < k {
                movements.set(cluster, f64::from_bits(moved.get((slot - 1) * k as u64 + cluster as u64)));
                cluster += block_size();
            }
        }
        rounded.stage(staged, slot, k);
        sync_block();
        end = ending.end(slot - 1, changed, empty, movements, k);
        if end != FitEnd::None {
            if block_index() == 0 && thread_index() == 0 {
                state.set(0, slot);
                state.set(1, end as u64);
            }
            if !ending.closes(end) {
                break;
            }
        }
        // All have seen how far centroids moved.
        sync_block();
    }
}

impl Rounded<'_> {
    /// Rounds the centroids of slot 0, a block each.
    #[inline(always)]
    fn round_all(self, log: Log<f32>, parts: Shared<f64>) {
        let mut cluster = block_index();
        while cluster < log.k {
            let (mut column, mut sums) = (thread_index(), (0.0, 0.0));
            while column < self.width {
                let is_column = column < log.d;
                let value = if is_column { log.centroids.get((cluster * log.d + column) as u64) } else { 0.0 };
                self.round(cluster, column, is_column.then_some(value), &mut sums);
                column += block_size();
            }
            self.finish(0, cluster, sums, parts);
            sync_block();
            cluster += grid_size();
        }
    }

    /// Rounds a value of a centroid, and adds to the sums of squares of values and of what rounding changed.
    #[inline(always)]
    fn round(self, cluster: u32, column: u32, value: Option<f32>, (norm, error): &mut (f64, f64)) {
        let mut rounded = f16::ZERO;
        if let Some(value) = value {
            let (half, square, change) = round(value, self.centre.get(column as u64), self.scale);
            rounded = half;
            *norm += square;
            *error += change;
        }
        self.halves.set((cluster * self.width + column) as u64, rounded);
    }

    /// Says how long a centroid of slot `slot` is, and what rounding changed, from every thread's sums.
    #[inline(always)]
    fn finish(self, slot: u64, cluster: u32, (norm, error): (f64, f64), parts: Shared<f64>) {
        let (norm, error) = (sum_doubles(norm), sum_doubles(error));
        if lane() == 0 {
            parts.set(thread_index() / WARP * 2, norm);
            parts.set(thread_index() / WARP * 2 + 1, error);
        }
        sync_block();
        if thread_index() == 0 {
            let (mut norm, mut error) = (0.0, 0.0);
            for warp in 0..block_size() / WARP {
                norm += parts.get(warp * 2);
                error += parts.get(warp * 2 + 1);
            }
            let (norm, error) = in_single(norm, error);
            self.norms.set(cluster as u64, norm);
            self.largest.raise(slot * 2, norm.to_bits());
            self.largest.raise(slot * 2 + 1, error.to_bits());
        }
    }

    /// Brings the centroids to shared memory.
    #[inline(always)]
    fn stage(self, staged: Staged, slot: u64, k: u32) {
        let padded = k.next_multiple_of(WIDTH);
        let largest = self.largest.get(slot * 2);
        // Of 8 numbers each; there are some, which tells the compiler that it may divide.
        let pieces = (self.width / 8).max(1);
        let mut first = thread_index();
        while first < padded * pieces {
            let mut words = [[0; 4]; TOGETHER];
            for (i, words) in words.iter_mut().enumerate() {
                let piece = first + i as u32 * block_size();
                if piece < k * pieces {
                    *words = self.halves.get16(piece as u64 * 8);
                }
            }
            for (i, words) in words.iter().enumerate() {
                let piece = first + i as u32 * block_size();
                if piece < padded * pieces {
                    let at = piece / pieces * (pieces + 1) + piece % pieces;
                    staged.pairs.cast::<f32>().set4(at * 4, words.map(f32::from_bits));
                }
            }
            first += TOGETHER as u32 * block_size();
        }
        let offset = offset(largest);
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

/// The column of a row that is a lane's value number `i`.
#[inline(always)]
fn column_of(i: usize) -> u32 {
    lane() + WARP * i as u32
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

/// What a lane has of the warp's 16 rows: its shares of the products' left sides, and for its two rows, lengths, errors and the
/// clusters that they are in, which only the first of four lanes knows.
#[derive(Clone, Copy)]
struct Loaded {
    a: [[u32; 4]; STEPS],
    norms: [f32; 2],
    errors: [f32; 2],
    before: [u32; 2],
}

impl Rows<'_> {
    /// Labels this warp's rows, 16 at a time; returns, in every lane, how many labels changed. All do if they are new.
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
        // Neighbouring rows in different blocks, so that all have as many.
        let warp = block_index() as u64 + (thread_index() / WARP) as u64 * grid_size() as u64;
        let mut first = warp * SIDE as u64;
        let mut next = self.load(first, is_new);
        while first < self.n {
            let (row, loaded) = (first, next);
            let scores = self.scores(&loaded.a, staged);
            first += warps * SIDE as u64;
            let (labels, near) = {
                let (first, second) =
                    (self.decide::<0>(&scores, &loaded, bound), self.decide::<1>(&scores, &loaded, bound));
                ([first.0, second.0], [first.1, second.1])
            };
            // On their way while rows are settled and moved.
            next = self.load(first, is_new);
            // Rows g and g + 8 at bits 4g and 4g + 1: those that move, and those that are open.
            let mut rest = 0;
            for r in 0..2 {
                let is_mine = row + row_of_lane(r) < self.n && lane().is_multiple_of(4);
                rest |= ballot(is_mine && labels[r as usize] != loaded.before[r as usize]) << r;
            }
            let row_at = |bits: u32| row + (bits.trailing_zeros() / 4 + 8 * (bits.trailing_zeros() % 2)) as u64;
            // Some are on their way while one is settled and added.
            let (mut ahead, mut coming) = ([[0.0; VALUES]; AHEAD], rest);
            for values in &mut ahead {
                *values = self.values(row_at(coming), coming != 0);
                coming &= coming.wrapping_sub(1);
            }
            while rest != 0 {
                let (values, bit, row) = (ahead[0], rest.trailing_zeros(), row_at(rest));
                rest &= rest - 1;
                for i in 1..AHEAD {
                    ahead[i - 1] = ahead[i];
                }
                ahead[AHEAD - 1] = self.values(row_at(coming), coming != 0);
                coming &= coming.wrapping_sub(1);
                let pick = |of: [u32; 2]| if bit.is_multiple_of(2) { of[0] } else { of[1] };
                let from = bit / 4 * 4;
                let before = shuffle_from(pick(loaded.before), from);
                let mut label = shuffle_from(pick(labels), from);
                if label == OPEN {
                    label = self.settle(log, slot, (row, values), pick(near), from);
                }
                if label != before {
                    if lane() == from {
                        self.labels.set(row, label);
                    }
                    self.move_row(values, label, (!is_new).then_some(before), own);
                    changed += 1;
                }
            }
        }
        changed
    }

    /// The 16 rows from `first` on.
    #[inline(always)]
    fn load(self, first: u64, is_new: bool) -> Loaded {
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
        let (mut norms, mut errors, mut before) = ([0.0; 2], [0.0; 2], [u32::MAX - 1; 2]);
        for r in 0..2 {
            let row = first + row_of_lane(r);
            if row < self.n {
                norms[r as usize] = self.norms.get(row);
                errors[r as usize] = self.errors.get(row);
                // The first of the four lanes that have the row sees to its label.
                if !is_new && lane().is_multiple_of(4) {
                    before[r as usize] = self.labels.get(row);
                }
            }
        }
        Loaded { a, norms, errors, before }
    }

    /// The scores of 16 rows.
    #[inline(always)]
    fn scores(self, a: &[[u32; 4]; STEPS], staged: Staged) -> Scores {
        let (group, member) = (lane() / 4, lane() % 4);
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

    /// The label of a lane's row `R`, alike for the four lanes that have it, or [`OPEN`]; and a bit for each of the lane's
    /// clusters that may be the nearest.
    #[inline(always)]
    fn decide<const R: usize>(self, scores: &Scores, loaded: &Loaded, bound: Bound) -> (u32, u32) {
        // Not by f32::max: where a score is no number, all centroids are candidates.
        let greater = |best: f32, other: f32| if other <= best { best } else { other };
        let mut best = f32::NEG_INFINITY;
        for tile in scores {
            best = greater(greater(best, tile[2 * R]), tile[2 * R + 1]);
        }
        best = greater(best, shuffle_xor(best, 1));
        best = greater(best, shuffle_xor(best, 2));
        let threshold = best - bound.margin(loaded.norms[R], loaded.errors[R]);
        let mut near = 0_u32;
        for (tile, scores) in scores.iter().enumerate() {
            for i in 0..2 {
                let is_far = scores[2 * R + i] < threshold;
                if !is_far && label_of(2 * tile + i, lane() % 4) < self.k {
                    near |= 1 << (2 * tile + i);
                }
            }
        }
        // How many there are, and the sum of their labels: with one, its label.
        let label = if near == 0 { 0 } else { label_of(near.trailing_zeros() as usize, lane() % 4) };
        let mut found = near.count_ones() << 16 | label;
        found += shuffle_xor(found, 1);
        found += shuffle_xor(found, 2);
        (if found >> 16 == 1 { found & 0xffff } else { OPEN }, near)
    }

    /// The label of a row that scores leave open, of which each lane has its values; `near` are the lane's candidates, and lane `from`
    /// is the first of the four that have them all. First by sums in `f32`, as in [`filtered`](crate::assign::filtered), where a term may go
    /// through nearly 2(d + 4) roundings: here through two of its difference, ⌈d/32⌉ in its lane, and five.
    #[inline(always)]
    fn settle(self, log: Log<f32>, slot: u64, (row, values): (u64, [f32; VALUES]), near: u32, from: u32) -> u32 {
        let centroids = slot * (self.k * self.d) as u64;
        let mut two = Two::NONE;
        for member in 0..4 {
            let mut candidates = shuffle_from(near, from + member);
            while candidates != 0 {
                let label = label_of(candidates.trailing_zeros() as usize, member);
                candidates &= candidates - 1;
                let mut sum = 0.0;
                for (i, &value) in values.iter().enumerate() {
                    let column = column_of(i);
                    if column < self.d {
                        let c = log.centroids.get(centroids + (label * self.d + column) as u64);
                        sum = multiply_add(value - c, value - c, sum);
                    }
                }
                let mut mask = WARP / 2;
                while mask > 0 {
                    sum += shuffle_xor(sum, mask);
                    mask /= 2;
                }
                two = two.offer(label, sum);
            }
        }
        if is_certain(two, self.d) {
            return two.label;
        }
        // A candidate per lane.
        let (mut nearest, mut first) = (Nearest::NONE, 0);
        while first < self.k {
            let label = first + lane();
            let candidates = shuffle_from(near, from + label % WIDTH / 2);
            if label < self.k && candidates >> (label / WIDTH * 2 + label % 2) & 1 != 0 {
                let mut distance = 0.0;
                for column in 0..self.d as u64 {
                    let c = log.centroids.get(centroids + label as u64 * self.d as u64 + column);
                    distance = add_square(distance, self.points.get(row * self.d as u64 + column), c);
                }
                nearest = nearest.offer(label, distance);
            }
            first += WARP;
        }
        nearest.merge_lanes(WARP).label()
    }

    /// A lane's values of a row: every 32nd column. Zeros if there is no such row.
    #[inline(always)]
    fn values(self, row: u64, is_row: bool) -> [f32; VALUES] {
        let mut values = [0.0; VALUES];
        for (i, value) in values.iter_mut().enumerate() {
            if is_row && column_of(i) < self.d {
                *value = self.points.get(row * self.d as u64 + column_of(i) as u64);
            }
        }
        values
    }

    /// Moves a row to a cluster, and from another if it had one; all lanes take part.
    #[inline(always)]
    fn move_row<F: Integer>(self, values: [f32; VALUES], label: u32, before: Option<u32>, own: Own<F>) {
        let mut columns = [0; VALUES];
        for (i, column) in columns.iter_mut().enumerate() {
            *column = column_of(i);
        }
        own.move_each(label, before, columns, self.d, values);
        // Wrapping addition takes one away.
        let (cluster, one) = if lane() == 0 { (label, 1) } else { (before.unwrap_or(label), u64::MAX) };
        if lane() == 0 || (lane() == 1 && before.is_some()) {
            own.count(cluster, self.k, self.d, one);
        }
    }
}

/// Which of 16 rows a lane's row `r` of two is.
#[inline(always)]
fn row_of_lane(r: u32) -> u64 {
    (lane() / 4 + 8 * r) as u64
}

/// The label of score number `index` of a row, of lane `member` of its four.
#[inline(always)]
fn label_of(index: usize, member: u32) -> u32 {
    index as u32 / 2 * WIDTH + member * 2 + index as u32 % 2
}

/// The second half of round `slot`: centroids from sums, a block per cluster. `squares` has room for a row, `parts` for two numbers
/// of each warp.
#[inline(always)]
fn update<F: Integer>(
    log: Log<f32>,
    slot: u64,
    exponent: i32,
    (squares, parts): (Shared<f64>, Shared<f64>),
    rounded: Rounded,
) {
    let (k, d) = (log.k as u64, log.d as u64);
    let words = F::new(exponent, 0).words();
    let gains = log.gains(slot + 1, words);
    let mut cluster = block_index();
    while cluster < log.k {
        let (old, new) = (slot * k + cluster as u64, (slot + 1) * k + cluster as u64);
        // Wrapping: a difference may be negative.
        let gained = log.gained.get(gains + k * d * words as u64 + cluster as u64);
        let count = log.counts.get(old).wrapping_add(gained);
        let (mut column, mut sums) = (thread_index(), (0.0, 0.0));
        while column < rounded.width {
            let mut value = None;
            if column < log.d {
                let at = old * d + column as u64;
                let before = log.centroids.get(at);
                let total = sum::<F>(log.sums, 0, at, words as u64)
                    + sum::<F>(log.gained, gains, (cluster * log.d + column) as u64, words as u64);
                let mean = if count == 0 { before } else { quotient_by_count(total, exponent, count) };
                let at = new * d + column as u64;
                F::store(total, log.sums, at * words as u64);
                log.centroids.set(at, mean);
                squares.set(column, add_square(0.0, mean, before));
                value = Some(mean);
            }
            rounded.round(cluster, column, value, &mut sums);
            column += block_size();
        }
        rounded.finish(slot + 1, cluster, sums, parts);
        // Another warp than the one that finishes.
        if thread_index() == WARP {
            // In the order of the columns, as the definition has it.
            let moved = add_in_order(0.0, squares, 0, log.d);
            log.counts.set(new, count);
            log.moved.set(old, moved.to_bits());
            if count == 0 {
                log.found.add(slot * 2 + 1, 1);
            }
        }
        sync_block();
        cluster += grid_size();
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
