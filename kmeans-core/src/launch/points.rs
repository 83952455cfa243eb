//! The kernels that look over points before a fit and pick rows out of them, and the grids they take.

use super::arguments::{D, N, POINT_TYPES, POINTS, STORED_TYPES};
use super::{Geometry, Kernel, MAX_GRID, Type, at_most, input, kernel, output, value};

/// What exponents are counted from in the results of [`RANGE_EXPONENTS`].
pub const EXPONENT_BIAS: i32 = 4096;

/// The range of exponents of `len` values, and the first that is not finite; the host has set the results to zero. Launch:
/// [`range_exponents`].
pub const RANGE_EXPONENTS: Kernel = kernel(
    "range_exponents",
    POINT_TYPES,
    256,
    &[
        input("values", Type::T, "[len]"),
        output("range", Type::U32, "[2]"),
        output("faulty", Type::U64, "[1]"),
        value("len", Type::U64),
    ],
);

/// Blocks share the values.
pub const fn range_exponents(len: u64) -> Geometry {
    RANGE_EXPONENTS.blocks(at_most(len.div_ceil(1024), 2048) as u64, 0)
}

/// Rows, one after the other. Launch: [`rows_gather`].
pub const ROWS_GATHER: Kernel = kernel(
    "rows_gather",
    STORED_TYPES,
    256,
    &[
        POINTS,
        input("rows", Type::U64, "[count]"),
        output("gathered", Type::T, "[count, d]"),
        N,
        value("count", Type::U64),
        D,
    ],
);

/// A warp per row; warps go round beyond what a grid can have.
pub const fn rows_gather(count: u64) -> Geometry {
    ROWS_GATHER.blocks(at_most(count.div_ceil(8), MAX_GRID[0]) as u64, 0)
}
