//! The primitives as NVIDIA GPU instructions.
//!
//! Barriers, shuffles and votes go through LLVM's intrinsics and never through bare `asm!`: LLVM knows that the
//! intrinsics are convergent and must not be copied into branches. (The crate is also compiled without rustc's jump
//! threading, which does not know it; `cargo xtask check-ptx` counts the results.)

mod barrier;
mod grid;
mod matrix;
mod memory;
mod shared;
mod wide;

use core::arch::asm;
use core::arch::nvptx as arch;

pub use barrier::{Barriers, publish_barriers};
pub use grid::{GridBarrier, is_last_block};
pub use matrix::{fence_tiles, multiply_group, multiply_tiles};
pub use memory::{Constants, In, Out};
pub use shared::{Shared, SharedMemory, commit_copies, wait_copies};
pub use wide::{
    begin_first_slim_product, begin_narrow_product, begin_product, begin_slim_product, commit_products,
    wait_earlier_products, wait_products,
};

use super::{Argument, Element};

unsafe extern "C" {
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: i32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_sync_bfly(mask: i32, value: i32, lane_mask: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.down.i32"]
    fn shfl_sync_down(mask: i32, value: i32, delta: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx(mask: i32, value: i32, lane: i32, clamp: i32) -> i32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot_sync(mask: i32, predicate: bool) -> i32;
    #[link_name = "llvm.fma.f32"]
    fn fma(a: f32, b: f32, c: f32) -> f32;
    #[link_name = "llvm.fma.f64"]
    fn fma_double(a: f64, b: f64, c: f64) -> f64;
}

/// All lanes of the warp.
const ALL: i32 = -1;
/// Shuffles reach over the whole warp.
const CLAMP: i32 = 31;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    // Only reached if a check was compiled in, which `check-ptx` rules out (no `.extern .func` may remain).
    loop {}
}

/// The thread's position in its block.
#[inline(always)]
pub fn thread_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_thread_idx_x() as u32 }
}

/// Threads per block.
#[inline(always)]
pub fn block_size() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_block_dim_x() as u32 }
}

/// The block's position in the grid's first dimension.
#[inline(always)]
pub fn block_index() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_block_idx_x() as u32 }
}

/// The block's position in the grid's second dimension.
#[inline(always)]
pub fn block_row() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_block_idx_y() as u32 }
}

/// Blocks in the grid's first dimension.
#[inline(always)]
pub fn grid_size() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_grid_dim_x() as u32 }
}

/// Blocks in the grid's second dimension.
#[inline(always)]
pub fn grid_rows() -> u32 {
    // SAFETY: reads a special register.
    unsafe { arch::_grid_dim_y() as u32 }
}

/// The warp of this thread in its block. Taken from a shuffle, so that the assembler knows it to be the same for all
/// lanes; all of them take part.
#[inline(always)]
pub fn warp_index() -> u32 {
    // SAFETY: as for `sync_warp`.
    unsafe { shfl_sync_idx(ALL, (thread_index() / super::WARP) as i32, 0, CLAMP) as u32 }
}

/// Waits until every thread of the block is here; what they wrote before is visible after.
#[inline(always)]
pub fn sync_block() {
    // SAFETY: every thread of the block comes here, as the module's documentation asks of kernels and the emulator checks.
    unsafe { arch::_syncthreads() }
}

/// Waits until every lane of the warp is here; what they wrote before is visible after.
#[inline(always)]
pub fn sync_warp() {
    // SAFETY: every lane comes here, as the module's documentation asks of kernels and the emulator checks.
    unsafe { bar_warp_sync(ALL) }
}

/// The value of the lane whose number differs in the bits of `mask`.
#[inline(always)]
pub fn shuffle_xor<T: Element>(value: T, mask: u32) -> T {
    // SAFETY: as for `sync_warp`; `mask` only picks the lane read.
    halves(value, |half| unsafe { shfl_sync_bfly(ALL, half, mask as i32, CLAMP) })
}

/// The value of the lane `delta` above, or the thread's own where there is none.
#[inline(always)]
pub fn shuffle_down<T: Element>(value: T, delta: u32) -> T {
    // SAFETY: as for `sync_warp`; `delta` only picks the lane read.
    halves(value, |half| unsafe { shfl_sync_down(ALL, half, delta as i32, CLAMP) })
}

/// The value of lane `from`.
#[inline(always)]
pub fn shuffle_from<T: Element>(value: T, from: u32) -> T {
    // SAFETY: as for `sync_warp`; `from` only picks the lane read.
    halves(value, |half| unsafe { shfl_sync_idx(ALL, half, from as i32, CLAMP) })
}

/// Applies a 32-bit exchange to a value of up to 64 bits.
#[inline(always)]
fn halves<T: Element>(value: T, exchange: impl Fn(i32) -> i32) -> T {
    let raw = value.to_raw();
    let low = exchange(raw as i32) as u32 as u64;
    T::from_raw(if T::SIZE == 8 { (exchange((raw >> 32) as i32) as u32 as u64) << 32 | low } else { low })
}

/// One bit per lane, in lane order: whether its `predicate` holds.
#[inline(always)]
pub fn ballot(predicate: bool) -> u32 {
    // SAFETY: as for `sync_warp`.
    unsafe { vote_ballot_sync(ALL, predicate) as u32 }
}

/// a·b + c, rounded once.
#[inline(always)]
pub fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    // SAFETY: plain arithmetic.
    unsafe { fma(a, b, c) }
}

/// a·b + c, rounded once.
#[inline(always)]
pub fn multiply_add_double(a: f64, b: f64, c: f64) -> f64 {
    // SAFETY: plain arithmetic.
    unsafe { fma_double(a, b, c) }
}

/// 1 where a ≥ b, else 0.
#[inline(always)]
pub fn at_least(a: f32, b: f32) -> f32 {
    let one: f32;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("set.ge.f32.f32 {}, {}, {};", out(reg32) one, in(reg32) a, in(reg32) b, options(pure, nomem, nostack));
    }
    one
}

/// The square root, rounded.
#[inline(always)]
pub fn square_root(value: f32) -> f32 {
    let root: f32;
    // SAFETY: plain arithmetic.
    unsafe { asm!("sqrt.rn.f32 {}, {};", out(reg32) root, in(reg32) value, options(pure, nomem, nostack)) };
    root
}

/// The square root, rounded.
#[inline(always)]
pub fn square_root_double(value: f64) -> f64 {
    let root: u64;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("sqrt.rn.f64 {}, {};", out(reg64) root, in(reg64) value.to_bits(), options(pure, nomem, nostack));
    }
    f64::from_bits(root)
}

/// `value` without what follows the point; an `i64` must hold it. A cast would check that for every value.
#[inline(always)]
pub fn to_integer(value: f64) -> i64 {
    let integer: i64;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("cvt.rzi.s64.f64 {}, {};", out(reg64) integer, in(reg64) value.to_bits(), options(pure, nomem, nostack))
    };
    integer
}

/// The nearest `bf16` of two numbers, the first in the lower half of the word (tier ampere).
#[inline(always)]
pub fn pair_to_bf16(low: f32, high: f32) -> u32 {
    let pair: u32;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("cvt.rn.bf16x2.f32 {}, {}, {};", out(reg32) pair, in(reg32) high, in(reg32) low, options(pure, nomem, nostack));
    }
    pair
}

/// The nearest `f16`.
#[inline(always)]
pub fn single_to_half(value: f32) -> half::f16 {
    let bits: u16;
    // SAFETY: plain arithmetic.
    unsafe { asm!("cvt.rn.f16.f32 {}, {};", out(reg16) bits, in(reg32) value, options(pure, nomem, nostack)) };
    half::f16::from_bits(bits)
}

/// The value of an `f16`, by the GPU's own conversion.
#[inline(always)]
pub fn half_to_single(value: half::f16) -> f32 {
    let single: f32;
    // SAFETY: plain arithmetic.
    unsafe {
        asm!("cvt.f32.f16 {}, {};", out(reg32) single, in(reg16) value.to_bits(), options(pure, nomem, nostack));
    }
    single
}

macro_rules! scalars {
    ($($type:ty),*) => { $(
        impl Argument for $type {
            type Raw = Self;
            #[inline(always)]
            unsafe fn from_raw(raw: Self) -> Self {
                raw
            }
        }
    )* };
}
scalars!(u32, u64, i32, f32);

/// The address of the block's shared memory, as sized at launch.
#[inline(always)]
fn shared_base() -> u32 {
    let address: u32;
    // SAFETY: takes the address of a symbol that this module declares.
    unsafe { asm!("mov.u32 {}, dynamic_shared;", out(reg32) address, options(pure, nomem, nostack)) };
    address
}

core::arch::global_asm!(".extern .shared .align 1024 .b8 dynamic_shared[];");
