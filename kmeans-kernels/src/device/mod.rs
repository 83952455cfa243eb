//! What a kernel can ask of the machine it runs on; the only module with `unsafe` code, inline assembly or intrinsics.
//!
//! Everything here exists twice behind the same names. On `nvptx64` each function is one or a few instructions and
//! nothing is checked. Everywhere else [`emulated`] stands in, so that `cargo test` runs every kernel, and every access
//! is checked. A kernel's body is safe code over these functions and types, the same source for both.
//!
//! | primitive | what it does | who takes part | not supported |
//! |---|---|---|---|
//! | [`thread_index`], [`block_size`] | position in the block, threads per block | each thread | blocks of more than one dimension; sizes that are not a multiple of 32 |
//! | [`block_index`], [`block_row`], [`grid_size`], [`grid_rows`] | position in the grid (x, y), blocks in x and y | each thread | grids of three dimensions |
//! | [`sync_block`] | waits for the block; memory written before it is seen after it | every thread of the block, from the same place in the code, none having returned | masks |
//! | [`GridBarrier`] | waits for all blocks; memory written before it is seen after it | every thread of a grid that was launched together, from the same place in the code | |
//! | [`is_last_block`] | whether all other blocks have come here; what they wrote before is seen after it | every thread of every block, from the same place in the code; all but the last block leave | |
//! | [`sync_warp`] | the same for 32 threads | all 32 lanes, from the same place | masks |
//! | [`shuffle_xor`], [`shuffle_down`], [`shuffle_from`] | reads another lane's value; orders no memory | all 32 lanes | masks, widths below 32 |
//! | [`ballot`] | one bit per lane | all 32 lanes | masks |
//! | [`In`], [`Out`] | arrays in global memory, 64-bit indices | each thread owns what it writes until the kernel ends, or until a barrier within its block | unaligned access |
//! | [`Out::add`], [`Out::fetch_add`], [`Out::raise`] | atomic addition, wrapping, and maximum, in no order | any thread of the grid | ordering other accesses by an atomic |
//! | [`Shared`], [`SharedMemory`] | arrays in the block's shared memory, 32-bit indices | each thread owns what it writes until the next barrier | static shared memory: all of it is sized at launch |
//! | [`Shared::add_each`] | several atomic additions of 64 bits under way at once | each thread | |
//! | [`Scratch`] | words of a thread's own, indexed at run time | each thread | |
//! | [`multiply_add`], [`multiply_add_double`] | a·b + c in `f32` and `f64`, rounded once | each thread | |
//! | [`square_root`], [`square_root_double`] | square root in `f32` and `f64`, rounded once | each thread | |
//! | [`to_integer`], [`pair_to_bf16`] | `f64` to `i64`, cut off; two `f32` to two `bf16`, rounded | each thread | values that do not fit |
//! | [`Shared::copy_async`], [`commit_copies`], [`wait_copies`] | 16 bytes from global to shared memory without waiting (tier ampere) | each thread waits for its own; a barrier shows them to others | other sizes |
//! | [`multiply_tiles`] | a product of tiles on tensor cores (tier ampere): see [`Half`] | all 32 lanes | other shapes, other types |
//! | [`Swizzled`], [`fence_tiles`], [`multiply_group`] | a product of tiles in shared memory on tensor cores (tier hopper) | all 128 threads of four warps that begin at a multiple of four | other shapes; products under way while the threads go on |
//! | [`Barriers`], [`publish_barriers`] | barriers in shared memory for some of the threads, and for copies (tier hopper) | threads arrive and wait one by one; phases alternate | barriers of other blocks |
//! | [`Shared::copy_bulk`] | many bytes from global to shared memory without waiting, which arrive at a barrier (tier hopper) | one thread begins it; who waits for the barrier sees it | tensor maps, other blocks of a cluster |
//! | [`begin_product`] and its like, [`commit_products`], [`wait_products`] | products of 64 rows by 128 that are under way while the threads go on (tier hopper): see [`Wide`] | all 128 threads of four warps; the sums belong to the hardware until they are waited for | other shapes |
//! | [`In::prefetch`] | brings many bytes to the cache of all blocks (tier hopper) | one thread | |
//! | [`warp_index`] | the warp in its block, known to be the same for its lanes | all 32 lanes | |
//! | [`Constants`] | the 64 KiB that are read through the constant cache, filled by the host | each thread reads; fast where a warp reads one address | writing |
//!
//! A barrier must stand where every thread of the block passes: not in a branch, not in a loop that threads leave at
//! different times. The emulator reports a breach; on a GPU it hangs or corrupts.

// The one place for it: see above.
#![allow(unsafe_code)]

use half::{bf16, f16};
use kmeans_core::Scalar;

#[cfg(not(target_arch = "nvptx64"))]
pub mod emulated;
#[cfg(target_arch = "nvptx64")]
mod nvptx;
mod scratch;
mod swizzled;

pub use scratch::{Scratch, ScratchMemory, ScratchWords};
pub use swizzled::{Narrow, Slim, Swizzled};

#[cfg(not(target_arch = "nvptx64"))]
pub use emulated::barrier::{Barriers, publish_barriers};
#[cfg(not(target_arch = "nvptx64"))]
pub use emulated::primitives::{
    Constants, GridBarrier, In, Out, Shared, SharedMemory, at_least, ballot, block_index, block_row, block_size,
    commit_copies, fence_tiles, grid_rows, grid_size, half_to_single, is_last_block, multiply_add, multiply_add_double,
    multiply_group, multiply_tiles, pair_to_bf16, shuffle_down, shuffle_from, shuffle_xor, single_to_half, square_root,
    square_root_double, sync_block, sync_warp, thread_index, to_integer, wait_copies, warp_index,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use emulated::wide::{
    begin_first_slim_product, begin_narrow_product, begin_product, begin_slim_product, commit_products,
    wait_earlier_products, wait_products,
};
#[cfg(target_arch = "nvptx64")]
pub use nvptx::{
    Barriers, Constants, GridBarrier, In, Out, Shared, SharedMemory, at_least, ballot, begin_first_slim_product,
    begin_narrow_product, begin_product, begin_slim_product, block_index, block_row, block_size, commit_copies,
    commit_products, fence_tiles, grid_rows, grid_size, half_to_single, is_last_block, multiply_add,
    multiply_add_double, multiply_group, multiply_tiles, pair_to_bf16, publish_barriers, shuffle_down, shuffle_from,
    shuffle_xor, single_to_half, square_root, square_root_double, sync_block, sync_warp, thread_index, to_integer,
    wait_copies, wait_earlier_products, wait_products, warp_index,
};

/// Lanes of a warp.
pub const WARP: u32 = 32;

/// The lane of this thread in its warp.
#[inline(always)]
pub fn lane() -> u32 {
    thread_index() % WARP
}

/// A type that memory can hold: 1, 2, 4 or 8 bytes, every bit pattern valid.
pub trait Element: Copy + 'static {
    /// Its size in bytes.
    const SIZE: u32;
    /// Its bits, in the low end.
    fn to_raw(self) -> u64;
    /// The value with these bits.
    fn from_raw(raw: u64) -> Self;
}

/// An [`Element`] that the memory system can add to: an integer of 4 or 8 bytes.
pub trait Atomic: Element {}

/// An unsigned [`Atomic`], whose order is that of its bits.
pub trait Unsigned: Atomic {}

impl Unsigned for u32 {}
impl Unsigned for u64 {}

/// An element type of points and centroids that kernels are compiled for.
pub trait Number: Scalar + Element {
    /// The value as `f32`; never rounds but for `f64`.
    fn single(self) -> f32;

    /// The value as `f64`, which is how the definition reads it.
    #[inline(always)]
    fn double(self) -> f64 {
        self.single() as f64
    }
}

/// A type that points are stored in: an element type, or a narrower one that widens to it, so that a kernel reads points
/// as they lie in memory. Centroids have the element type.
pub trait Load: Element {
    /// The element type it widens to.
    type Value: Number;

    /// The value, never rounded.
    fn load(self) -> Self::Value;
}

impl<T: Number> Load for T {
    type Value = T;
    #[inline(always)]
    fn load(self) -> T {
        self
    }
}

/// The samples of an image.
impl Load for u8 {
    type Value = f32;
    #[inline(always)]
    fn load(self) -> f32 {
        self as f32
    }
}

macro_rules! elements {
    ($($type:ty: $to:expr, $from:expr;)*) => { $(
        impl Element for $type {
            const SIZE: u32 = size_of::<$type>() as u32;
            #[inline(always)]
            fn to_raw(self) -> u64 {
                $to(self)
            }
            #[inline(always)]
            fn from_raw(raw: u64) -> Self {
                $from(raw)
            }
        }
    )* };
}

elements! {
    u8: |v| v as u64, |raw| raw as u8;
    u32: |v| v as u64, |raw| raw as u32;
    i32: |v| v as u32 as u64, |raw| raw as u32 as i32;
    u64: |v| v, |raw| raw;
    i64: |v| v as u64, |raw| raw as i64;
    f32: |v: f32| v.to_bits() as u64, |raw| f32::from_bits(raw as u32);
    f64: |v: f64| v.to_bits(), f64::from_bits;
    f16: |v: f16| v.to_bits() as u64, |raw| f16::from_bits(raw as u16);
    bf16: |v: bf16| v.to_bits() as u64, |raw| bf16::from_bits(raw as u16);
}

impl Atomic for u32 {}
impl Atomic for u64 {}
impl Atomic for i64 {}

impl Number for f32 {
    #[inline(always)]
    fn single(self) -> f32 {
        self
    }
}

impl Number for f64 {
    #[inline(always)]
    fn single(self) -> f32 {
        self as f32
    }
    #[inline(always)]
    fn double(self) -> f64 {
        self
    }
}

impl Number for f16 {
    #[inline(always)]
    fn single(self) -> f32 {
        half_to_single(self)
    }
}

impl Number for bf16 {
    #[inline(always)]
    fn single(self) -> f32 {
        // A bf16 is the upper half of an f32.
        f32::from_bits((self.to_bits() as u32) << 16)
    }
}

/// A 16-bit element type that tensor cores multiply.
///
/// [`multiply_tiles`] computes A·B + C for a warp: A is 16 by 16, B 16 by 8, C and the result 16 by 8 in `f32`. With g =
/// lane / 4 and t = lane % 4, the lane holds, the lower column or row in the lower half of a word:
///
/// ```text
/// a[0] A[g][2t, 2t+1]      a[1] A[g+8][2t, 2t+1]      a[2] A[g][2t+8, 2t+9]   a[3] A[g+8][2t+8, 2t+9]
/// b[0] B[2t, 2t+1][g]      b[1] B[2t+8, 2t+9][g]
/// c[0, 1] C[g][2t, 2t+1]   c[2, 3] C[g+8][2t, 2t+1]
/// ```
pub trait Half: Number {
    /// Whether it is bf16, else f16.
    const IS_BF16: bool;

    /// The nearest value.
    fn nearest(value: f32) -> Self;
}

/// A thread's share of the products of 64 rows with 128: for each 8 of the 128, the C of [`Half`].
pub type Wide = [[f32; 4]; 16];

impl Half for f16 {
    const IS_BF16: bool = false;

    #[inline(always)]
    fn nearest(value: f32) -> Self {
        single_to_half(value)
    }
}

impl Half for bf16 {
    const IS_BF16: bool = true;

    #[inline(always)]
    fn nearest(value: f32) -> Self {
        let bits = value.to_bits();
        // To nearest, ties to even; what is no number stays so, as do infinities.
        let rounded = bits + 0x7fff + (bits >> 16 & 1);
        Self::from_bits((if value.is_finite() { rounded } else { bits } >> 16) as u16)
    }
}

/// Declares the GPU entry points of a kernel's body: `body(arguments); name: (types), ...`.
///
/// Each entry instantiates the body for its list of types, the first of which is called `T` in the arguments. On the
/// host it only checks that body and arguments agree: tests call the body through the emulator.
///
/// The entries belong to the tier `portable`, or to the one named first: `in ampere: body(...); ...`, `in hopper: ...`.
macro_rules! entries {
    (in hopper: $($rest:tt)*) => {
        $crate::device::entries! { @all (feature = "hopper") $($rest)* }
    };
    (in ampere: $($rest:tt)*) => {
        $crate::device::entries! { @all (feature = "ampere") $($rest)* }
    };
    (@all $tier:tt $body:ident $arguments:tt; $($name:ident: $types:tt),* $(,)?) => {
        $( $crate::device::entries! { @one $tier $body $arguments $name $types } )*
    };
    (@one ($($tier:tt)*) $body:ident ($($argument:ident: $type:ty),* $(,)?) $name:ident
        ($($first:ty $(, $more:ty)*)?)) => {
        #[cfg(all(target_arch = "nvptx64", $($tier)*))]
        const _: () = {
            $( #[allow(dead_code)] type T = $first; )?
            #[allow(unsafe_code)]
            #[unsafe(no_mangle)]
            unsafe extern "ptx-kernel" fn $name($($argument: <$type as $crate::device::Argument>::Raw),*) {
                // SAFETY: the launch contract (`kmeans_core::launch`) obliges whoever launches to pass, for each
                // array, a pointer to device memory that is as long as the contract says and aligned.
                $( let $argument = unsafe { <$type as $crate::device::Argument>::from_raw($argument) }; )*
                self::$body::<$($first $(, $more)*)?>($($argument),*);
            }
        };
        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            $( #[allow(dead_code)] type T = $first; )?
            fn _agree($($argument: $type),*) {
                self::$body::<$($first $(, $more)*)?>($($argument),*);
            }
        };
    };
    ($($rest:tt)*) => {
        $crate::device::entries! { @all (not(any(feature = "ampere", feature = "hopper"))) $($rest)* }
    };
}
pub(crate) use entries;

/// How a kernel's argument crosses from the host.
#[cfg(target_arch = "nvptx64")]
pub trait Argument {
    /// What the driver passes.
    type Raw;
    /// The argument as the kernel's body takes it.
    ///
    /// # Safety
    /// A pointer must be as the launch contract says: device memory, long enough, aligned, and not written by others
    /// while the kernel runs.
    unsafe fn from_raw(raw: Self::Raw) -> Self;
}
