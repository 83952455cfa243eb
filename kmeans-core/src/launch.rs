//! The launch contract: what host and GPU must agree on to run a kernel.
//!
//! Each [`Kernel`] names itself, its threads per block, the element types it is compiled for and its arguments in
//! order; a function beside it says how large a grid and how much shared memory a given problem takes ([`Geometry`]).
//! The kernels, their tests in the emulator, the check of the compiled PTX and the host all read this one table.
//!
//! Arrays are row-major. n counts points (64 bits), k clusters and d columns (32 bits each).

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
    /// The element type of the points, which names the instance: `f32`, `f64`, `f16` or `bf16`.
    T,
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
    /// The element types it is compiled for; none if it does not touch points.
    pub types: &'static [&'static str],
    /// Threads per block.
    pub block: u32,
    /// Its arguments, in order.
    pub arguments: &'static [Argument],
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

    /// A launch with a thread for each of `items`.
    pub const fn thread_each(&self, items: u64) -> Geometry {
        self.blocks(items.div_ceil(self.block as u64), 0)
    }
}

/// The element types that points may have.
pub const POINT_TYPES: &[&str] = &["f32", "f64", "f16", "bf16"];

const POINTS: Argument = input("points", Type::T, "[n, d]");
const CENTROIDS: Argument = input("centroids", Type::T, "[k, d]");
const LABELS_IN: Argument = input("labels", Type::U32, "[n]");
const LABELS_OUT: Argument = output("labels", Type::U32, "[n]");
const N: Argument = value("n", Type::U64);
const K: Argument = value("k", Type::U32);
const D: Argument = value("d", Type::U32);

/// Labels, one thread per row, centroids read from global memory. Launch: `thread_each(n)`.
pub const ASSIGN_DIRECT: Kernel = Kernel {
    name: "assign_direct",
    types: POINT_TYPES,
    block: 256,
    arguments: &[POINTS, CENTROIDS, LABELS_OUT, N, K, D],
};

/// Words of a sum and the unit they count: see [`crate::fixed::FixedPoint`].
const EXPONENT: Argument = value("exponent", Type::I32);
const WORDS: Argument = value("words", Type::U32);
const SUMS_OUT: Argument = output("sums", Type::U64, "[k, d, words]");

/// How sums are held: one word, two, or limbs, in the order of [`crate::fixed::Width`].
pub const FORMATS: [&str; 3] = ["narrow", "wide", "limbs"];

const SUM_PER_ELEMENT: Kernel = Kernel {
    name: "",
    types: POINT_TYPES,
    block: 256,
    arguments: &[POINTS, LABELS_IN, SUMS_OUT, EXPONENT, WORDS, N, D],
};

/// Sums, one thread per element, a kernel per format. Launch: [`sum_per_element`].
pub const SUMS_PER_ELEMENT: [Kernel; 3] = [
    Kernel { name: "sum_per_element_narrow", ..SUM_PER_ELEMENT },
    Kernel { name: "sum_per_element_wide", ..SUM_PER_ELEMENT },
    Kernel { name: "sum_per_element_limbs", ..SUM_PER_ELEMENT },
];

/// Blocks of 16 rows and 16 columns.
pub const fn sum_per_element(n: u64, d: u32) -> Geometry {
    let mut geometry = SUM_PER_ELEMENT.blocks(n.div_ceil(16), 0);
    let across = d.div_ceil(16);
    geometry.grid[1] = if across > MAX_GRID[1] { MAX_GRID[1] } else { across };
    geometry
}

/// All kernels.
pub const KERNELS: &[&[Kernel]] = &[&[ASSIGN_DIRECT], &SUMS_PER_ELEMENT];
