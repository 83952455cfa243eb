//! Lloyd on many groups of rows at once: a group is a run of consecutive rows with k centroids of its own, and each launch
//! works on all groups.
//!
//! Clusters are numbered through: cluster c of group g is number g·k + c, and that is what `labels` hold. So what is done
//! cluster by cluster (sums of sorted rows, counts, quotients) is done by the kernels for one group of g·k clusters, and
//! only what depends on the group has kernels here.
//!
//! | kernel | once per | what for |
//! |---|---|---|
//! | [`table`] | set of groups | which rows of which group a block takes |
//! | [`squares`] | set of groups | what the inertia owes to the points alone |
//! | [`begin`] | round | zeros in sums, counts and changes of the groups that still run |
//! | [`assign`], [`exact`] | round | labels |
//! | [`fused`] | round | labels and sums in one pass over the points, where few sums suffice |
//! | [`tensor`] | round | the same on tensor cores, for up to 128 columns |
//! | [`inertia`] | round | what centroids and sums contribute to each group's inertia |
//! | [`empty`] | round | empty clusters take over the farthest points of their group |
//! | [`update`] | round | new centroids, and how far each moved |
//! | [`decide`] | round | each group's record, and whether it goes on |
//! | [`partition`] | level of a tree | rows in the order of their labels |
//! | [`seeding`], [`labels`] | set of groups | k-means++ in each group; random labels |
//!
//! # Who does what
//! Tiles of at most `tile_rows` rows cover each group, and a block takes a tile, so that groups get blocks in proportion to
//! their rows. The table is made on the device from the groups' `ranges`; the host knows no more than that there are at most
//! ⌈n / `tile_rows`⌉ + g tiles. Blocks without a tile leave at once, as do those of groups whose state says that they
//! are done: `RUNNING`, `STOPPED` by a rule, `REPEATED` labels or `FAILED`, in this order (`kmeans_core::launch`).

pub mod assign;
pub mod begin;
pub mod decide;
pub mod empty;
pub mod exact;
pub mod fused;
pub mod inertia;
pub mod labels;
pub(crate) mod nearest;
pub mod partition;
pub mod runs;
pub(crate) mod scores;
pub mod seeding;
pub mod split;
pub mod squares;
pub mod table;
pub mod tensor;
pub mod update;

use kmeans_core::launch::NO_GROUP;

use crate::device::{In, block_index};

/// The rows that a block takes.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// The group they belong to.
    pub group: u32,
    /// The first of them.
    pub first: u64,
    /// The one after the last of them.
    pub end: u64,
}

/// Which block takes which rows: see [`table`].
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    /// The first row of each group, and the one after its last.
    pub ranges: In<'a, u64>,
    pub starts: In<'a, u32>,
    pub owners: In<'a, u32>,
    pub tile_rows: u32,
}

impl Table<'_> {
    /// The rows of this block, if it has any.
    #[inline(always)]
    pub fn tile(self) -> Option<Tile> {
        self.tile_number(block_index())
    }

    /// The rows of a tile, if it has any.
    #[inline(always)]
    pub fn tile_number(self, index: u32) -> Option<Tile> {
        let group = self.owners.get(index as u64);
        if group == NO_GROUP {
            return None;
        }
        let place = index - self.starts.get(group as u64);
        let first = self.ranges.get(2 * group as u64) + place as u64 * self.tile_rows as u64;
        let end = self.ranges.get(2 * group as u64 + 1);
        Some(Tile { group, first, end: end.min(first + self.tile_rows as u64) })
    }

    /// The same, if the group's state is `most` at most.
    #[inline(always)]
    pub fn tile_of_running(self, states: In<u32>, most: u32) -> Option<Tile> {
        let tile = self.tile()?;
        if states.get(tile.group as u64) <= most { Some(tile) } else { None }
    }
}
