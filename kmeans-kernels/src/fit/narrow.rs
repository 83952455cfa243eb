//! Rounds on rows of up to four columns: a thread labels four neighbouring rows at a time, in registers, against centroids in
//! shared memory. Scores as in `scores.rs`, which says why the labels are exact; rows that they leave open are settled by D, one after
//! the other by a whole warp. Rungs: see [`super`].

use kmeans_core::exact::quotient_by_count;
use kmeans_core::launch::{FIT_QUEUE, FitEnd, fit_copies, fit_copy_words, fit_table_pitch};

use super::own::Own;
use super::scores::{Least, Margin};
use super::{Ending, Fours, Log, sum};
use crate::argmin::Nearest;
use crate::device::{
    self, GridBarrier, In, Load, Number, Out, Shared, SharedMemory, WARP, ballot, block_index, block_size, grid_size,
    lane, multiply_add, shuffle_from, shuffle_xor, sync_block, sync_warp, thread_index,
};
use crate::distance::add_square;
use crate::scale::divide::Integer;
use crate::together::{largest_lane, sum_lanes};
use crate::update::fixed::{Narrow, Wide};

/// Rows of a thread at a time.
const ROWS: usize = 4;
/// Lanes that make a centroid, a column each.
const COLUMNS: u32 = 4;

/// Up to slots − 2 rounds, and where they end and the flags say so, the labels of the last means. `state` gets the rounds
/// done, and how they ended; slot 0 of the log is what they begin with.
#[inline(always)]
pub fn narrow<P: Fours, F: Integer>(
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
    let empty = shared.array::<u32>(1);
    let queues = shared.array::<u64>(block_size() / WARP * FIT_QUEUE);
    let staged = Staged {
        exact: shared.array::<f32>(k * d),
        table: shared.array::<f32>(k * fit_table_pitch(d)),
        centre: shared.array::<f32>(COLUMNS),
        k,
        d,
    };
    let cells = shared.array::<u64>(copies * pitch);
    let own = Own { format, cells, start: thread_index() % copies * pitch, copies, pitch };
    let rows = Rows { points, labels, n: n as u32, k };
    // Cells are free while centroids are made.
    let movements = cells.cast::<f64>();
    let mut grid = GridBarrier::new(arrivals);
    let (mut slot, mut end) = (0, FitEnd::None);
    if thread_index() < COLUMNS {
        let first = || if thread_index() < d { centroids.get(thread_index() as u64).single() } else { 0.0 };
        staged.centre.set(thread_index(), P::CENTRE.unwrap_or_else(first));
    }
    sync_block();
    staged.begin(centroids);
    loop {
        own.clear();
        if thread_index() == 0 {
            empty.set(0, 0);
        }
        sync_block();
        let queue = Queue { entries: queues, first: thread_index() / WARP * FIT_QUEUE, len: 0 };
        let is_new = !ending.has_labels(slot);
        let changed = match d {
            1 => rows.label::<F, 1>(staged, queue, own, is_new),
            2 => rows.label::<F, 2>(staged, queue, own, is_new),
            3 => rows.label::<F, 3>(staged, queue, own, is_new),
            _ => rows.label::<F, 4>(staged, queue, own, is_new),
        };
        let changed = sum_lanes(changed as u64);
        if lane() == 0 && changed != 0 {
            found.add(slot * 2, changed);
        }
        sync_block();
        own.flush(gained, log.gains(slot + 1, format.words()), k, d);
        grid.sync();
        let changed = found.get(slot * 2);
        staged.update::<P::Value, F>(log, slot, exponent, movements, empty);
        sync_block();
        slot += 1;
        // That was the pass for the last means.
        if end != FitEnd::None {
            break;
        }
        end = ending.end(slot - 1, changed, empty.get(0) as u64, movements, k);
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

/// Centroids in shared memory.
#[derive(Clone, Copy)]
struct Staged<'a> {
    /// `[k, d]`, as they are.
    exact: Shared<'a, f32>,
    /// `[k, pitch]`: less the centre, and what a score begins with.
    table: Shared<'a, f32>,
    /// `[4]`: subtracted from rows and centroids, the same for a whole launch.
    centre: Shared<'a, f32>,
    k: u32,
    d: u32,
}

impl Staged<'_> {
    /// The first cluster of this thread's four lanes, its column, and how many clusters further the next one is.
    #[inline(always)]
    fn share() -> (u32, u32, u32) {
        (thread_index() / COLUMNS, lane() % COLUMNS, block_size() / COLUMNS)
    }

    /// Whether the warp has a cluster, this lane's being `cluster`.
    #[inline(always)]
    fn has_more(self, cluster: u32) -> bool {
        cluster - lane() / COLUMNS < self.k
    }

    /// Brings the centroids of slot 0.
    #[inline(always)]
    fn begin<T: Number>(self, centroids: Out<T>) {
        let (mut cluster, column, step) = Self::share();
        while self.has_more(cluster) {
            let mut value = 0.0;
            if cluster < self.k && column < self.d {
                value = centroids.get((cluster * self.d + column) as u64).single();
            }
            self.put(cluster, column, value);
            cluster += step;
        }
    }

    /// Takes one column of a centroid; all lanes take part.
    #[inline(always)]
    fn put(self, cluster: u32, column: u32, value: f32) {
        let exists = cluster < self.k && column < self.d;
        let centred = if exists { value - self.centre.get(column) } else { 0.0 };
        let mut square = centred as f64 * centred as f64;
        square += shuffle_xor(square, 1);
        square += shuffle_xor(square, 2);
        let row = cluster * fit_table_pitch(self.d);
        if cluster < self.k && column > self.d {
            // Loaded with the others.
            self.table.set(row + column, 0.0);
        }
        if exists {
            self.exact.set(cluster * self.d + column, value);
            self.table.set(row + column, centred);
            if column == 0 {
                self.table.set(row + self.d, (0.5 * square) as f32);
            }
        }
    }

    /// Centroid `cluster` less the centre, and what its score begins with.
    #[inline(always)]
    fn centred<const D: usize>(self, cluster: u32) -> ([f32; D], f32) {
        let row = cluster * fit_table_pitch(D as u32);
        let four = self.table.get4(row);
        let mut values = [0.0; D];
        for (value, &from) in values.iter_mut().zip(&four) {
            *value = from;
        }
        (values, if D < four.len() { four[D % four.len()] } else { self.table.get(row + D as u32) })
    }

    /// The largest |value| of the table, found by each warp for itself.
    #[inline(always)]
    fn largest(self) -> f32 {
        let (mut cluster, mut largest) = (lane() / COLUMNS, 0);
        while cluster < self.k {
            if lane() % COLUMNS < self.d {
                let value = self.table.get(cluster * fit_table_pitch(self.d) + lane() % COLUMNS);
                // By bits, among which what is no number is largest.
                largest = largest.max(value.to_bits() & i32::MAX as u32);
            }
            cluster += WARP / COLUMNS;
        }
        f32::from_bits(largest_lane(largest as u64) as u32)
    }

    /// The second half of round `slot`: centroids from sums. Every block makes all of them; the first writes the log.
    #[inline(always)]
    fn update<T: Number, F: Integer>(
        self,
        log: Log<T>,
        slot: u64,
        exponent: i32,
        movements: Shared<f64>,
        empty: Shared<u32>,
    ) {
        let (k, d, words) = (self.k as u64, self.d as u64, F::new(exponent, 0).words());
        let gains = log.gains(slot + 1, words);
        let (mut cluster, column, step) = Self::share();
        while self.has_more(cluster) {
            let exists = cluster < self.k && column < self.d;
            let (old, new) = (slot * k + cluster as u64, (slot + 1) * k + cluster as u64);
            let value = cluster * self.d + column;
            let (mut count, mut total, mut before) = (0_u64, 0, 0.0);
            if exists {
                // Wrapping: a difference may be negative.
                let gained = log.gained.get(gains + k * d * words as u64 + cluster as u64);
                count = log.counts.get(old).wrapping_add(gained);
                total = sum::<F>(log.sums, 0, old * d + column as u64, words as u64)
                    + sum::<F>(log.gained, gains, value as u64, words as u64);
                before = self.exact.get(value);
            }
            let mut mean = T::from_f64(before as f64);
            if count != 0 {
                mean = quotient_by_count(total, exponent, count);
            }
            let square = add_square(0.0, mean.single(), before);
            // In the order of the columns, as the definition has it.
            let mut moved = 0.0;
            for other in 0..COLUMNS {
                moved += shuffle_from(square, lane() / COLUMNS * COLUMNS + other);
            }
            self.put(cluster, column, mean.single());
            if exists && column == 0 {
                movements.set(cluster, moved);
                if count == 0 {
                    empty.add(0, 1);
                }
            }
            if exists && block_index() == 0 {
                F::store(total, log.sums, (new * d + column as u64) * words as u64);
                log.centroids.set(new * d + column as u64, mean);
                if column == 0 {
                    log.counts.set(new, count);
                    log.moved.set(old, moved.to_bits());
                    if count == 0 {
                        log.found.add(slot * 2 + 1, 1);
                    }
                }
            }
            cluster += step;
        }
    }
}

/// The rows and their labels.
#[derive(Clone, Copy)]
struct Rows<'a, P> {
    points: In<'a, P>,
    labels: Out<'a, u32>,
    n: u32,
    k: u32,
}

/// No cluster.
const NOWHERE: u32 = 0xffff;

/// Four rows as they lie in memory, and the clusters that they are in.
#[derive(Clone, Copy)]
struct Loaded<P: Fours, const D: usize> {
    packed: [P::Packed; D],
    before: [u32; ROWS],
}

impl<P: Fours, const D: usize> Loaded<P, D> {
    /// The rows less `centre`, which is centre and bias.
    // Loops over indices of constant length keep the arrays in registers.
    #[allow(clippy::needless_range_loop)]
    #[inline(always)]
    fn centred(self, centre: [f32; D]) -> [[f32; D]; ROWS] {
        let mut values = [[0.0; 4]; D];
        for (values, &packed) in values.iter_mut().zip(&self.packed) {
            *values = P::unpack(packed);
        }
        let mut rows = [[0.0; D]; ROWS];
        for r in 0..ROWS {
            for j in 0..D {
                let element = r * D + j;
                rows[r][j] = values[element / 4][element % 4] - centre[j];
            }
        }
        rows
    }
}

impl<P: Fours> Rows<'_, P> {
    /// Labels this thread's rows, `D` columns each; returns how many labels changed. All do if they are new.
    ///
    /// Rows are on their way while those before them are labelled.
    #[inline(always)]
    fn label<F: Integer, const D: usize>(self, staged: Staged, mut queue: Queue, own: Own<F>, is_new: bool) -> u32 {
        let mut changed = 0;
        let margin = Margin::new(staged.largest(), D as u32);
        let mut centre = [0.0; D];
        for (j, value) in centre.iter_mut().enumerate() {
            *value = staged.centre.get(j as u32) + P::BIAS;
        }
        // Of four rows each; neighbouring warps' in different blocks.
        let full = self.n / ROWS as u32;
        let mut first = (block_index() + thread_index() / WARP * grid_size()) * WARP;
        let step = grid_size() * (block_size() / WARP) * WARP;
        let mut next = self.load::<D>(first + lane(), full, is_new);
        while first < full {
            let (four, loaded) = (first + lane(), next);
            first += step;
            next = self.load(first + lane(), full, is_new);
            let (mut labels, mut open) = self.score(loaded.centred(centre), staged, margin);
            if four >= full {
                (labels, open) = (loaded.before, 0);
            }
            let mut lanes = ballot(open != 0);
            while lanes != 0 {
                let leader = lanes.trailing_zeros();
                let row = shuffle_from(four * ROWS as u32 + open.trailing_zeros(), leader);
                let label = self.settle::<D>(row, staged);
                for (i, to) in labels.iter_mut().enumerate() {
                    *to = if lane() == leader && i as u32 == row % ROWS as u32 { label } else { *to };
                }
                if lane() == leader {
                    open &= open - 1;
                }
                lanes = ballot(open != 0);
            }
            if ballot(labels != loaded.before) != 0 {
                if labels != loaded.before {
                    self.labels.set16((four * ROWS as u32) as u64, labels);
                }
                for (r, (&to, &from)) in labels.iter().zip(&loaded.before).enumerate() {
                    changed += u32::from(to != from);
                    queue.push(Move { row: four * ROWS as u32 + r as u32, from, to });
                }
                while queue.len >= WARP {
                    self.move_row::<F, D>(queue.pop(), own);
                }
            }
        }
        // Up to three rows are left, a lane of the first warp's each.
        let mut entry = Move { row: full * ROWS as u32 + lane(), from: NOWHERE, to: NOWHERE };
        if block_index() == 0 && thread_index() < WARP {
            for row in full * ROWS as u32..self.n {
                let label = self.settle::<D>(row, staged);
                if row == entry.row {
                    entry.to = label;
                }
            }
            if entry.row < self.n {
                entry.from = if is_new { NOWHERE } else { self.labels.get(entry.row as u64) };
            }
            if entry.to != entry.from {
                self.labels.set(entry.row as u64, entry.to);
                changed += 1;
            }
        }
        queue.push(entry);
        while queue.len > 0 {
            self.move_row::<F, D>(queue.pop(), own);
        }
        changed
    }

    /// Four rows and their labels, if there are such; `is_new`: they have none.
    #[inline(always)]
    fn load<const D: usize>(self, four: u32, full: u32, is_new: bool) -> Loaded<P, D> {
        let (mut packed, mut before) = ([P::NONE; D], [NOWHERE; ROWS]);
        if four < full {
            for (piece, packed) in packed.iter_mut().enumerate() {
                *packed = P::load_four(self.points, (four as u64 * D as u64 + piece as u64) * 4);
            }
            if !is_new {
                before = self.labels.get16((four * ROWS as u32) as u64);
            }
        }
        Loaded { packed, before }
    }

    /// Labels of four rows by scores, and a bit for each row that they leave open.
    #[inline(always)]
    fn score<const D: usize>(self, x: [[f32; D]; ROWS], staged: Staged, margin: Margin) -> ([u32; ROWS], u32) {
        let mut least = [Least::NONE; ROWS];
        for cluster in 0..self.k {
            let (c, start) = staged.centred::<D>(cluster);
            for (least, x) in least.iter_mut().zip(&x) {
                let mut score = start;
                for (&x, &c) in x.iter().zip(&c) {
                    score = multiply_add(-x, c, score);
                }
                least.offer(cluster, score);
            }
        }
        let mut open = 0;
        for (r, (least, x)) in least.iter().zip(&x).enumerate() {
            let mut size = 0.0;
            for &value in x {
                size += value.abs();
            }
            open |= u32::from(!least.is_certain(margin.of(size))) << r;
        }
        (least.map(|least| least.label), open)
    }

    /// The label of a row that scores leave open, by D; all lanes of a warp share its centroids.
    #[inline(always)]
    fn settle<const D: usize>(self, row: u32, staged: Staged) -> u32 {
        let mut x = [0.0; D];
        for (j, value) in x.iter_mut().enumerate() {
            *value = self.points.get(row as u64 * D as u64 + j as u64).load().single();
        }
        let (mut nearest, mut candidate) = (Nearest::NONE, lane());
        while candidate < self.k {
            let mut distance = 0.0;
            for (j, &value) in x.iter().enumerate() {
                distance = add_square(distance, value, staged.exact.get(candidate * D as u32 + j as u32));
            }
            nearest = nearest.offer(candidate, distance);
            candidate += WARP;
        }
        nearest.merge_lanes(WARP).label()
    }

    /// Adds a row to a cluster and takes it from another.
    #[inline(always)]
    fn move_row<F: Integer, const D: usize>(self, Move { row, from, to }: Move, own: Own<F>) {
        if to == from {
            return;
        }
        let (mut x, mut columns) = ([0.0; D], [0; D]);
        for (j, (value, column)) in x.iter_mut().zip(&mut columns).enumerate() {
            *value = self.points.get(row as u64 * D as u64 + j as u64).load().single();
            *column = j as u32;
        }
        let d = D as u32;
        own.move_each(to, (from != NOWHERE).then_some(from), columns, d, x);
        own.count(to, self.k, d, 1);
        if from != NOWHERE {
            // Wrapping addition takes one away.
            own.count(from, self.k, d, u64::MAX);
        }
    }
}

/// A row that moves from a cluster to another; if they are the same, none.
#[derive(Clone, Copy)]
struct Move {
    row: u32,
    from: u32,
    to: u32,
}

/// Rows that move and wait until there is one for every lane: where few rows change, a warp would spend most of its time on moving one
/// or two of its 32.
#[derive(Clone, Copy)]
struct Queue<'a> {
    entries: Shared<'a, u64>,
    /// The warp's first entry.
    first: u32,
    len: u32,
}

impl Queue<'_> {
    /// Takes a row of every lane that has one.
    #[inline(always)]
    fn push(&mut self, Move { row, from, to }: Move) {
        let movers = ballot(to != from);
        let place = self.len + (movers & ((1 << lane()) - 1)).count_ones();
        if to != from {
            self.entries.set(self.first + place, row as u64 | (from as u64) << 32 | (to as u64) << 48);
        }
        self.len += movers.count_ones();
    }

    /// Takes off a row for every lane, or as many as there are.
    #[inline(always)]
    fn pop(&mut self) -> Move {
        sync_warp();
        let taken = if self.len < WARP { self.len } else { WARP };
        self.len -= taken;
        let mut next = Move { row: 0, from: NOWHERE, to: NOWHERE };
        if lane() < taken {
            let entry = self.entries.get(self.first + self.len + lane());
            next = Move { row: entry as u32, from: (entry >> 32) as u32 & NOWHERE, to: (entry >> 48) as u32 };
        }
        // Others may write there now.
        sync_warp();
        next
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
