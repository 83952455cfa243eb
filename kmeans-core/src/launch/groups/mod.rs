//! The kernels that work on many groups of rows at once, and the grids they take.
//!
//! A group is a range of rows with k clusters of its own; cluster c of group g has number g·k + c. A table says which rows of
//! which group a block takes: `ranges` are the first row of each group and the one after its last, [`GROUPS_STARTS`] and
//! [`GROUPS_OWNERS`] make `starts` and `owners` of them. There are at most [`group_tiles`] tiles, a block each.
//!
//! | when | kernel |
//! |---|---|
//! | a round | [`GROUPS_BEGIN`] |
//! | | [`GROUPS_TENSOR_SHORT`] or [`GROUPS_TENSOR_LONG`] where [`groups_tensor`] and [`group_tensor_kernel`] have an answer, or [`GROUPS_FUSED_NARROW`] or [`GROUPS_FUSED_WIDE`] where [`groups_fuse`]; else [`GROUPS_ASSIGN`] or [`GROUPS_EXACT`], and the kernels for the sums of g·k clusters |
//! | where the inertia is asked for | [`GROUPS_INERTIA`] |
//! | where empty clusters take over points | [`GROUPS_VACANT`], [`GROUPS_DISTANCES`], then [`GROUPS_FILL_NARROW`] or its like |
//! | | [`GROUPS_UPDATE_NARROW`] or its like |
//! | | [`GROUPS_DECIDE`] |
//! | a row of k-means++ | [`GROUPS_SEED_AMOUNTS`], [`GROUPS_SEED_DRAW`], [`GROUPS_SEED_POTENTIALS`], [`GROUPS_SEED_CHOOSE`], [`GROUPS_SEED_NEAREST`] |
//! | a level of a tree | [`GROUPS_CHILDREN`], [`GROUPS_HISTOGRAM`], [`GROUPS_BASES`], [`GROUPS_STAY`], [`GROUPS_PLACES`], [`GROUPS_CARRY`] |
//!
//! Arrays of points and centroids begin at multiples of 16 bytes.

mod empty;
mod inertia;
mod labels;
mod order;
mod round;
mod seeding;
mod tiles;

pub use empty::*;
pub use inertia::*;
pub use labels::*;
pub use order::*;
pub use round::*;
pub use seeding::*;
pub use tiles::*;

use super::{Argument, Type, input, output, value};

/// A group's state: its rounds go on.
pub const RUNNING: u32 = 0;
/// A stop rule other than repeated labels ended its rounds: labels are those of the centroids before.
pub const STOPPED: u32 = 1;
/// Its labels repeated, so they belong to its centroids.
pub const REPEATED: u32 = 2;
/// A cluster of it lost its points, and the policy is an error.
pub const FAILED: u32 = 3;

const RANGES: Argument = input("ranges", Type::U64, "[groups, 2]");
const STARTS: Argument = input("starts", Type::U32, "[groups+1]");
const OWNERS: Argument = input("owners", Type::U32, "[blocks]");
const STATES: Argument = input("states", Type::U32, "[groups]");
const CHANGED: Argument = input("changed", Type::U64, "[groups]");
const CHANGED_OUT: Argument = output("changed", Type::U64, "[groups]");
/// What the policy for empty clusters adds to the changes, wrapping.
const MOVED_AGAIN: Argument = output("moved_again", Type::U64, "[groups]");
const SUMS_OUT: Argument = output("sums", Type::U64, "[groups, k, d, words]");
const COUNTS: Argument = input("counts", Type::U64, "[groups, k]");
const COUNTS_OUT: Argument = output("counts", Type::U64, "[groups, k]");
const VACANT_OUT: Argument = output("vacant", Type::U32, "[groups]");
const LIMBS: Argument = input("limbs", Type::U64, "[groups, words]");
/// Rows of a tile at most.
const TILE_ROWS: Argument = value("tile_rows", Type::U32);
/// The highest state of groups that the kernel works on.
const MOST: Argument = value("most", Type::U32);
/// Blocks per group.
const PARTS: Argument = value("parts", Type::U32);
/// Whether it is the first round, which has no labels before.
const FIRST: Argument = value("first", Type::U32);
const GROUPS: Argument = value("groups", Type::U32);
