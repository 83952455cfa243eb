//! The launch contract: what host and GPU must agree on to run a kernel.
//!
//! Each [`Kernel`] names itself, its threads per block, the element types it is compiled for and its arguments in
//! order; a function beside it says how large a grid and how much shared memory a given problem takes ([`Geometry`]).
//! The kernels, their tests in the emulator, the check of the compiled PTX and the host all read this one table.
//!
//! Arrays are row-major. n counts points (64 bits, up to 3·10¹⁰: 2³¹ blocks of 16 rows), k clusters and d columns
//! (32 bits, below 2³¹).

mod arguments;
mod assign;
mod columns;
mod counts;
mod distance;
mod empty;
mod fit;
mod groups;
mod inertia;
mod means;
mod order;
mod pixels;
mod points;
mod prune;
mod seeding;
mod silhouette;
mod stream;
mod sums;
mod table;

pub use arguments::*;
pub use assign::*;
pub use columns::*;
pub use counts::*;
pub use distance::*;
pub use empty::*;
pub use fit::*;
pub use groups::*;
pub use inertia::*;
pub use means::*;
pub use order::*;
pub use pixels::*;
pub use points::*;
pub use prune::*;
pub use seeding::*;
pub use silhouette::*;
pub use stream::*;
pub use sums::*;
pub use table::*;

/// Most blocks of a grid, in x and y.
pub const MAX_GRID: [u32; 2] = [0x7fff_ffff, 0xffff];
/// Most threads of a block.
pub const MAX_THREADS: u32 = 1024;
/// Shared memory per block that every GPU has without being asked.
pub const SHARED_BYTES: u32 = 48 * 1024;
/// Most shared memory per block of any GPU known here (Hopper), which a launch must opt in to.
pub const MAX_SHARED_BYTES: u32 = 227 * 1024;
/// Bytes of constant memory, in the symbol [`CONSTANT_SYMBOL`].
pub const CONSTANT_BYTES: u32 = 64 * 1024;
/// The symbol of constant memory in the module.
pub const CONSTANT_SYMBOL: &str = "constants";

/// How a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks, x and y.
    pub grid: [u32; 2],
    /// Threads per block, in one dimension.
    pub block: u32,
    /// Bytes of dynamic shared memory per block.
    pub shared: u32,
}

/// What an argument is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pointer to an array that is read.
    In(Type),
    /// A pointer to an array that is written, or added to.
    Out(Type),
    /// A number passed by value.
    Value(Type),
}

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// The element type of points and centroids: `f32`, `f64`, `f16` or `bf16`.
    T,
    /// The type that points are stored in, which names the instance: `T`, or `u8`, whose `T` is `f32`.
    P,
    /// `u8`.
    U8,
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `u64`.
    U64,
    /// `i64`.
    I64,
    /// `f16`, whatever the points are.
    F16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
}

/// One argument of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name in the kernel's source.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The shape of an array; empty for a number.
    pub shape: &'static str,
}

const fn input(name: &'static str, of: Type, shape: &'static str) -> Argument {
    Argument { name, kind: Kind::In(of), shape }
}

const fn output(name: &'static str, of: Type, shape: &'static str) -> Argument {
    Argument { name, kind: Kind::Out(of), shape }
}

const fn value(name: &'static str, of: Type) -> Argument {
    Argument { name, kind: Kind::Value(of), shape: "" }
}

/// A kernel as host and GPU know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name. The entry point is `<name>_<type>` where there are element types, else `<name>`.
    pub name: &'static str,
    /// The types of stored points it is compiled for; none if it does not touch points.
    pub types: &'static [&'static str],
    /// Threads per block.
    pub block: u32,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
    /// Whether all its blocks must run at the same time, since they wait for each other.
    pub together: bool,
    /// Blocks that a multiprocessor should run at a time, for which a thread can do with fewer registers; 0: any number.
    pub resident: u32,
}

impl Kernel {
    /// A launch of `blocks` blocks in x that use `shared` bytes each.
    ///
    /// # Panics
    /// If that is more than a grid can have.
    pub const fn blocks(&self, blocks: u64, shared: u32) -> Geometry {
        assert!(blocks <= MAX_GRID[0] as u64, "more blocks than a grid can have");
        // A grid of no blocks is an error to the driver: one block finds nothing to do.
        let blocks = if blocks == 0 { 1 } else { blocks as u32 };
        Geometry { grid: [blocks, 1], block: self.block, shared }
    }

    /// The same with as many blocks in y as share `items` by `each` per block, or as a grid can have: kernels that use y
    /// go round until all items are done.
    const fn rows(&self, blocks: u64, items: u64, each: u32, shared: u32) -> Geometry {
        let mut geometry = self.blocks(blocks, shared);
        geometry.grid[1] = at_most(items.div_ceil(each as u64), MAX_GRID[1]);
        geometry
    }

    /// A launch with a thread for each of `items`.
    pub const fn thread_each(&self, items: u64) -> Geometry {
        self.blocks(items.div_ceil(self.block as u64), 0)
    }
}

/// `value` within 1 and `limit`.
const fn at_most(value: u64, limit: u32) -> u32 {
    match value {
        0 => 1,
        _ if value > limit as u64 => limit,
        _ => value as u32,
    }
}

/// Blocks that share n points where each block brings its part of a result together at the end: enough to fill a GPU,
/// few enough that bringing together stays cheap, and so many that none has 2^`bits` points or more.
const fn sharing_blocks(n: u64, each: u32, bits: u32) -> u64 {
    let blocks = at_most(n.div_ceil(each as u64), 1024) as u64;
    if n >> (bits - 1) > blocks { n >> (bits - 1) } else { blocks }
}

/// Shared memory for `items` of `size` bytes, as far as `SHARED_BYTES` goes.
const fn window_bytes(items: u64, size: u32) -> u32 {
    at_most(items.saturating_mul(size as u64), SHARED_BYTES)
}

const fn kernel(
    name: &'static str,
    types: &'static [&'static str],
    block: u32,
    arguments: &'static [Argument],
) -> Kernel {
    Kernel { name, types, block, arguments, together: false, resident: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_stay_within_what_a_gpu_can_launch() {
        for (n, k, d) in [(0, 1, 1), (1, 1, 1), (1 << 34, 1 << 20, 1 << 16), (1000, 1 << 30, 1 << 20)] {
            for geometry in [
                ASSIGN_DIRECT.thread_each(n),
                assign_tiled(n, 8),
                distance(n, k, 8),
                sum_per_element(n, d),
                sum_per_block(n, k, d, 2),
                count_histogram(n, k),
                order_tally(n.min(LEAVES as u64)),
                order_list(n.min(LEAVES as u64)),
                sum_sorted(n, d),
                scale_means(k as u64),
                transposed_transpose(n, d, 8),
                transposed_sums(n, k, d, 2),
                rows_gather(n),
                square_sum(n, d),
                inertia_sums(k, d, 1),
                empty_farthest(n),
                seed_nearest(n, 8),
                seed_amounts(n),
                prune_moved(k),
                seed_draw(20),
                seed_potentials(n, 8),
                parallel_count(n),
                parallel_write(n),
                parallel_merge(n),
                pixel_assign(n, k),
                pixel_sums(n, k),
                silhouette(n),
                groups_carry(n),
            ] {
                assert!((1..=MAX_GRID[0]).contains(&geometry.grid[0]), "{geometry:?}");
                assert!((1..=MAX_GRID[1]).contains(&geometry.grid[1]), "{geometry:?}");
                assert!(geometry.shared <= SHARED_BYTES, "{geometry:?}");
            }
            // Those that ask for more than every launch has, but no more than every GPU gives.
            let tiles = group_tiles(n, 1, group_tile_rows(n));
            for geometry in [groups_fused(tiles, k, d, 2), groups_fused(tiles, 8, 128, 2), groups_assign(tiles, k, d)] {
                assert!((1..=MAX_GRID[0]).contains(&geometry.grid[0]), "{geometry:?}");
                assert!(geometry.shared <= 64 * 1024, "{geometry:?}");
            }
        }
        // 2^32 points or more in one block would overflow a bin.
        assert!((1_u64 << 45) / (count_histogram(1 << 45, 1).grid[0] as u64) < 1 << 32);
    }
}
