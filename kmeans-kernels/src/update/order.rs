//! The rows whose sums are to be made, in the order of their clusters: all of them, or where sums of the labels before are
//! there and few labels changed, those that changed, twice: for the cluster that each leaves, and for the one it enters.
//!
//! Two passes over the labels: [`tally`] counts, [`list`] writes. A block counts its rows in shared memory, where the clusters
//! that its labels name lie close enough together, as those of one group of many do, and brings each count to global memory
//! once. Where they do not, clusters are so many that rows seldom meet at one.

// Loops go over indices, so that arrays stay in registers.
#![allow(clippy::needless_range_loop)]

use kmeans_core::launch::{LEAVES, ORDER_BINS, ORDER_EACH, ORDER_MOST, ORDER_TALLY};

use crate::device::{
    self, In, Out, Shared, SharedMemory, WARP, block_index, block_size, grid_size, is_last_block, lane, shuffle_xor,
    sync_block, thread_index,
};
use crate::together::{sum_before, sum_lanes};

/// What happens to the sums by a row.
#[derive(Clone, Copy)]
struct Change {
    /// The cluster that it leaves, if it had a label before.
    from: u32,
    /// The cluster that it enters.
    to: u32,
    /// Whether the row is to be listed.
    listed: bool,
}

/// Rows of a thread.
const EACH: usize = ORDER_EACH as usize;

/// The changes of this thread's rows. With `whole` every row enters a cluster and leaves none.
#[inline(always)]
fn changes(before: In<u32>, labels: In<u32>, whole: bool, n: u64) -> [Change; EACH] {
    let mut changes = [Change { from: 0, to: 0, listed: false }; EACH];
    for i in 0..EACH {
        let row = own_row(i);
        if row < n {
            let to = labels.get(row);
            let from = if whole { to } else { before.get(row) };
            changes[i] = Change { from, to, listed: whole || from != to };
        }
    }
    changes
}

/// Row `i` of this thread.
#[inline(always)]
fn own_row(i: usize) -> u64 {
    let block = block_index() as u64 * EACH as u64 + i as u64;
    block * ORDER_TALLY.block as u64 + thread_index() as u64
}

/// The clusters that a block's changes name, from the lowest to the highest.
#[derive(Clone, Copy)]
struct Window {
    first: u32,
    len: u32,
}

impl Window {
    #[inline(always)]
    fn new(changes: [Change; EACH], per_warp: Shared<u64>) -> Self {
        let (mut low, mut high) = (u32::MAX, 0);
        for i in 0..EACH {
            let change = changes[i];
            if change.listed {
                low = low.min(change.from).min(change.to);
                high = high.max(change.from).max(change.to);
            }
        }
        let (low, high) = extremes(low, high);
        if lane() == 0 {
            per_warp.set(thread_index() / WARP, (low as u64) << 32 | high as u64);
        }
        sync_block();
        let of_warp = if lane() < block_size() / WARP { per_warp.get(lane()) } else { (u32::MAX as u64) << 32 };
        let (low, high) = extremes((of_warp >> 32) as u32, of_warp as u32);
        sync_block();
        Self { first: low, len: if low <= high { high - low + 1 } else { 0 } }
    }

    /// Whether it has a place in shared memory.
    #[inline(always)]
    fn fits(self) -> bool {
        self.len <= ORDER_BINS
    }

    /// Calls `f` with every bin of this thread's share.
    #[inline(always)]
    fn each(self, f: impl Fn(u32)) {
        let mut bin = thread_index();
        while bin < self.len && self.fits() {
            f(bin);
            bin += block_size();
        }
    }
}

/// The least of all lanes' `low`, and the largest of their `high`.
#[inline(always)]
fn extremes(mut low: u32, mut high: u32) -> (u32, u32) {
    let mut mask = WARP / 2;
    while mask > 0 {
        low = low.min(shuffle_xor(low, mask));
        high = high.max(shuffle_xor(high, mask));
        mask /= 2;
    }
    (low, high)
}

/// Brings `counts`, `[k]`, from the labels in `before` to those in `labels`; with `whole` not 0 they are zero before, and `before`
/// is not read. Adds to `changed[0]` the number of labels that differ. `places`: where each cluster's list begins, and
/// `order`: whether lists are of changes, and how many rows they have in all.
///
/// `touched`, `[k]`, `order[2]` and `arrivals[0]` are zero before and after.
#[inline(always)]
pub fn tally(
    before: In<u32>,
    labels: In<u32>,
    changed: Out<u64>,
    counts: Out<u64>,
    touched: Out<u32>,
    places: Out<u32>,
    order: Out<u64>,
    arrivals: Out<u32>,
    whole: u32,
    n: u64,
    k: u32,
) {
    let mut shared = SharedMemory::new();
    let (net, hits) = (shared.array::<u32>(ORDER_BINS), shared.array::<u32>(ORDER_BINS));
    let per_warp = shared.array::<u64>(WARP);
    let (differ, told) = (shared.array::<u32>(1), shared.array::<u32>(1));
    let whole = whole != 0;
    let changes = changes(before, labels, whole, n);
    let window = Window::new(changes, per_warp);
    window.each(|bin| {
        net.set(bin, 0);
        hits.set(bin, 0);
    });
    if thread_index() == 0 {
        differ.set(0, 0);
    }
    sync_block();
    let mut own = 0;
    for i in 0..EACH {
        let change = changes[i];
        if change.listed {
            own += 1;
            let (from, to) = (change.from, change.to);
            if window.fits() {
                net.add(to - window.first, 1);
                if !whole {
                    net.add(from - window.first, u32::MAX);
                    hits.add(to - window.first, 1);
                    hits.add(from - window.first, 1);
                }
            } else {
                counts.add(to as u64, 1);
                if !whole {
                    counts.add(from as u64, u64::MAX);
                    touched.add(to as u64, 1);
                    touched.add(from as u64, 1);
                }
            }
        }
    }
    let own = sum_lanes(own);
    if lane() == 0 && !whole {
        differ.add(0, own as u32);
    }
    sync_block();
    window.each(|bin| {
        let cluster = (window.first + bin) as u64;
        let (net, hits) = (net.get(bin), hits.get(bin));
        if net != 0 {
            // Taken away where it is negative.
            counts.add(cluster, net as i32 as u64);
        }
        if hits > 0 {
            touched.add(cluster, hits);
        }
    });
    if thread_index() == 0 && differ.get(0) > 0 {
        order.add(2, differ.get(0) as u64);
    }
    if is_last_block(arrivals, told) {
        let total = order.get(2);
        let moves = !whole && total.saturating_mul(ORDER_MOST.1) < n.saturating_mul(ORDER_MOST.0);
        begin_lists(counts, touched, places, order, per_warp, moves, k);
        if thread_index() == 0 {
            order.set(2, 0);
            changed.add(0, total);
        }
    }
}

/// Where each cluster's list begins.
#[inline(always)]
fn begin_lists(
    counts: Out<u64>,
    touched: Out<u32>,
    places: Out<u32>,
    order: Out<u64>,
    per_warp: Shared<u64>,
    moves: bool,
    k: u32,
) {
    let len = |cluster: u32| {
        let cluster = cluster as u64;
        if moves { touched.get(cluster) as u64 } else { counts.get(cluster) }
    };
    let each = k.div_ceil(block_size());
    let first = thread_index() * each;
    let end = if first + each < k { first + each } else { k };
    let (mut own, mut cluster) = (0, first);
    while cluster < end {
        own += len(cluster);
        cluster += 1;
    }
    let (mut place, total) = sum_before(own, per_warp);
    cluster = first;
    while cluster < end {
        places.set(cluster as u64, place as u32);
        place += len(cluster);
        touched.set(cluster as u64, 0);
        cluster += 1;
    }
    if thread_index() == 0 {
        order.set(0, moves as u64);
        order.set(1, total);
    }
}

/// Lists the rows that `order` says, cluster by cluster, those with [`LEAVES`] that leave it, and moves `places` on to where each
/// cluster's list ends. Within a cluster rows come in any order, which integers do not show. Where all rows are listed, sets
/// `sums` to zero.
#[inline(always)]
pub fn list(
    before: In<u32>,
    labels: In<u32>,
    order: In<u64>,
    places: Out<u32>,
    rows: Out<u32>,
    sums: Out<u64>,
    sum_words: u64,
    n: u64,
) {
    let mut shared = SharedMemory::new();
    let bins = shared.array::<u32>(ORDER_BINS);
    let per_warp = shared.array::<u64>(WARP);
    let whole = order.get(0) == 0;
    let mut word = block_index() as u64 * block_size() as u64 + thread_index() as u64;
    while whole && word < sum_words {
        sums.set(word, 0);
        word += grid_size() as u64 * block_size() as u64;
    }
    let changes = changes(before, labels, whole, n);
    let window = Window::new(changes, per_warp);
    window.each(|bin| bins.set(bin, 0));
    sync_block();
    for i in 0..EACH {
        let change = changes[i];
        if change.listed && window.fits() {
            bins.add(change.to - window.first, 1);
            if !whole {
                bins.add(change.from - window.first, 1);
            }
        }
    }
    sync_block();
    window.each(|bin| {
        let hits = bins.get(bin);
        if hits > 0 {
            bins.set(bin, places.fetch_add((window.first + bin) as u64, hits));
        }
    });
    sync_block();
    let place = |cluster: u32| {
        if window.fits() { bins.fetch_add(cluster - window.first, 1) } else { places.fetch_add(cluster as u64, 1) }
    };
    for i in 0..EACH {
        let (change, row) = (changes[i], own_row(i) as u32);
        if change.listed {
            rows.set(place(change.to) as u64, row);
            if !whole {
                rows.set(place(change.from) as u64, row | LEAVES);
            }
        }
    }
}

device::entries! {
    tally(before: In<u32>, labels: In<u32>, changed: Out<u64>, counts: Out<u64>, touched: Out<u32>, places: Out<u32>,
        order: Out<u64>, arrivals: Out<u32>, whole: u32, n: u64, k: u32);
    order_tally: (),
}

device::entries! {
    list(before: In<u32>, labels: In<u32>, order: In<u64>, places: Out<u32>, rows: Out<u32>, sums: Out<u64>, sum_words: u64,
        n: u64);
    order_list: (),
}
