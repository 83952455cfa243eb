//! Assignment: the label of each row in one pass, with no matrix of distances.
//!
//! | rung | what it adds |
//! |---|---|
//! | [`direct`] | one thread per row, centroids read from global memory |
//! | [`tiled`] | both operands staged in shared memory, 16 rows against 16 centroids at a time |
//! | [`narrow`] | `f32` arithmetic for up to four columns, kept in registers; the rows it cannot decide for sure are settled by D |
//! | [`filtered`] | the same for any number of columns, on tiles of 64 by 64 |
//! | [`mma`] | the same on tensor cores, for 16-bit points, with copies that run ahead (tier ampere) |
//! | [`wgmma`] | four warps multiply together, straight from shared memory (tier hopper) |
//! | [`stream`] | rows stay, tiles stream past them; scores are looked through while the next products are under way; also `f32` |
//! | [`stream_long`] | the same for more than 128 columns, slice by slice |
//! | [`stream_mma`] | rows in registers, slices of tiles stream past them (tier ampere); any number of columns |
//!
//! [`norms`] prepares what `mma` and `wgmma` need of the points and the centroids; [`halves`], [`order`] and [`tiles`] what the streams
//! need, whose open rows [`settle`] decides; [`prune`](crate::prune) has them for the rows of a list. `leading` and `leading_tiles` find candidates among scores, `bound` says how sure that is.
//!
//! Every label is the lowest one with the least D, bit for bit as the reference has it.

pub(crate) mod bound;
pub mod direct;
pub mod filtered;
pub mod halves;
pub(crate) mod leading;
pub(crate) mod leading_tiles;
pub mod mma;
pub mod narrow;
pub mod norms;
pub mod order;
pub mod plan;
mod score;
pub mod settle;
pub mod stream;
pub mod stream_long;
pub mod stream_mma;
pub mod tiled;
pub mod tiles;
pub(crate) mod two;
pub mod wgmma;

/// No label.
const NO_LABEL: u32 = u32::MAX;
