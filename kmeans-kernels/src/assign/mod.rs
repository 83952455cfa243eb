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
//!
//! [`norms`] prepares what `mma` and `wgmma` need of the points and the centroids.
//!
//! Every label is the lowest one with the least D, bit for bit as the reference has it.

pub mod direct;
pub mod filtered;
pub mod mma;
pub mod narrow;
pub mod norms;
mod score;
pub mod tiled;
mod two;
pub mod wgmma;
