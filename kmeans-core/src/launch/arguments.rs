//! Element types and arguments that several kernels share.

use super::{Argument, Type, input, output, value};

/// The element types that points may have.
pub const POINT_TYPES: &[&str] = &["f32", "f64", "f16", "bf16"];
/// The types that points may be stored in: those, and bytes, which widen to `f32`.
pub const STORED_TYPES: &[&str] = &["f32", "f64", "f16", "bf16", "u8"];
/// Those that `f32` arithmetic can filter.
pub const SINGLE_TYPES: &[&str] = &["f32", "f16", "bf16"];
/// The same, and bytes.
pub const NARROW_TYPES: &[&str] = &["f32", "f16", "bf16", "u8"];
/// Those that tensor cores multiply as they are.
pub const HALF_TYPES: &[&str] = &["f16", "bf16"];

pub(super) const POINTS: Argument = input("points", Type::P, "[n, d]");
pub(super) const CENTROIDS: Argument = input("centroids", Type::T, "[k, d]");
pub(super) const LABELS_IN: Argument = input("labels", Type::U32, "[n]");
pub(super) const LABELS_OUT: Argument = output("labels", Type::U32, "[n]");
pub(super) const SUMS_OUT: Argument = output("sums", Type::U64, "[k, d, words]");
pub(super) const COUNTS_OUT: Argument = output("counts", Type::U64, "[k]");
pub(super) const WEIGHTS: Argument = input("weights", Type::F64, "[n]");
pub(super) const N: Argument = value("n", Type::U64);
pub(super) const K: Argument = value("k", Type::U32);
pub(super) const D: Argument = value("d", Type::U32);
/// Rows of a chunk.
pub(super) const ROWS: Argument = value("rows", Type::U64);
/// The unit of a sum: see [`crate::fixed::FixedPoint`].
pub(super) const EXPONENT: Argument = value("exponent", Type::I32);
/// Words of a sum: 1 narrow, 2 wide, else limbs.
pub(super) const WORDS: Argument = value("words", Type::U32);

/// Whether rows have weights. 0: each weighs 1.0, and `weights` is not read, so it may be an array of any length.
pub(super) const WEIGHTED: Argument = value("weighted", Type::U32);
