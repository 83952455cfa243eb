//! Products of 64 rows by 128 that are under way while the threads go on.

use core::arch::asm;

use super::super::{Half, Wide};

/// The names of the accumulators in an instruction.
macro_rules! registers {
    () => {
        concat!(
            "{{{d0}, {d1}, {d2}, {d3}, {d4}, {d5}, {d6}, {d7}, {d8}, {d9}, {d10}, {d11}, {d12}, {d13}, {d14}, {d15}, ",
            "{d16}, {d17}, {d18}, {d19}, {d20}, {d21}, {d22}, {d23}, {d24}, {d25}, {d26}, {d27}, {d28}, {d29}, {d30}, {d31}, ",
            "{d32}, {d33}, {d34}, {d35}, {d36}, {d37}, {d38}, {d39}, {d40}, {d41}, {d42}, {d43}, {d44}, {d45}, {d46}, {d47}, ",
            "{d48}, {d49}, {d50}, {d51}, {d52}, {d53}, {d54}, {d55}, {d56}, {d57}, {d58}, {d59}, {d60}, {d61}, {d62}, {d63}}}"
        )
    };
}

/// One instruction: 16 columns, which begin `$step` 16-byte units into a row, of b `$further` units on if it has no swizzle.
macro_rules! step {
    ($kind:literal, $step:literal) => {
        step!($kind, $step, $step)
    };
    ($kind:literal, $step:literal, $further:literal) => {
        concat!(
            "add.s64 ta, {a}, ",
            $step,
            "; add.s64 tb, {b}, ",
            $further,
            "; ",
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.",
            $kind,
            ".",
            $kind,
            " ",
            registers!(),
            ", ta, tb, p, 1, 1, 0, 0;"
        )
    };
}

/// The first instruction of sums that begin anew.
macro_rules! first_step {
    ($kind:literal) => {
        concat!(
            "{{ .reg .pred none; setp.ne.b32 none, 0, 0; wgmma.mma_async.sync.aligned.m64n128k16.f32.",
            $kind,
            ".",
            $kind,
            " ",
            registers!(),
            ", {a}, {b}, none, 1, 1, 0, 0; }}"
        )
    };
}

/// Assembly whose operands are all accumulators and `$more`.
#[rustfmt::skip]
macro_rules! with_sums {
    ($s:ident, ($($text:expr),*), $($more:tt)*) => {
        asm!(
            $($text,)*
            $($more)*
            d0 = inout(reg32) $s[0][0], d1 = inout(reg32) $s[0][1], d2 = inout(reg32) $s[0][2], d3 = inout(reg32) $s[0][3],
            d4 = inout(reg32) $s[1][0], d5 = inout(reg32) $s[1][1], d6 = inout(reg32) $s[1][2], d7 = inout(reg32) $s[1][3],
            d8 = inout(reg32) $s[2][0], d9 = inout(reg32) $s[2][1], d10 = inout(reg32) $s[2][2], d11 = inout(reg32) $s[2][3],
            d12 = inout(reg32) $s[3][0], d13 = inout(reg32) $s[3][1], d14 = inout(reg32) $s[3][2], d15 = inout(reg32) $s[3][3],
            d16 = inout(reg32) $s[4][0], d17 = inout(reg32) $s[4][1], d18 = inout(reg32) $s[4][2], d19 = inout(reg32) $s[4][3],
            d20 = inout(reg32) $s[5][0], d21 = inout(reg32) $s[5][1], d22 = inout(reg32) $s[5][2], d23 = inout(reg32) $s[5][3],
            d24 = inout(reg32) $s[6][0], d25 = inout(reg32) $s[6][1], d26 = inout(reg32) $s[6][2], d27 = inout(reg32) $s[6][3],
            d28 = inout(reg32) $s[7][0], d29 = inout(reg32) $s[7][1], d30 = inout(reg32) $s[7][2], d31 = inout(reg32) $s[7][3],
            d32 = inout(reg32) $s[8][0], d33 = inout(reg32) $s[8][1], d34 = inout(reg32) $s[8][2], d35 = inout(reg32) $s[8][3],
            d36 = inout(reg32) $s[9][0], d37 = inout(reg32) $s[9][1], d38 = inout(reg32) $s[9][2], d39 = inout(reg32) $s[9][3],
            d40 = inout(reg32) $s[10][0], d41 = inout(reg32) $s[10][1], d42 = inout(reg32) $s[10][2], d43 = inout(reg32) $s[10][3],
            d44 = inout(reg32) $s[11][0], d45 = inout(reg32) $s[11][1], d46 = inout(reg32) $s[11][2], d47 = inout(reg32) $s[11][3],
            d48 = inout(reg32) $s[12][0], d49 = inout(reg32) $s[12][1], d50 = inout(reg32) $s[12][2], d51 = inout(reg32) $s[12][3],
            d52 = inout(reg32) $s[13][0], d53 = inout(reg32) $s[13][1], d54 = inout(reg32) $s[13][2], d55 = inout(reg32) $s[13][3],
            d56 = inout(reg32) $s[14][0], d57 = inout(reg32) $s[14][1], d58 = inout(reg32) $s[14][2], d59 = inout(reg32) $s[14][3],
            d60 = inout(reg32) $s[15][0], d61 = inout(reg32) $s[15][1], d62 = inout(reg32) $s[15][2], d63 = inout(reg32) $s[15][3],
            options(nostack)
        )
    };
}

macro_rules! begin {
    ($kind:literal, $a:ident, $b:ident, $s:ident, $adds:literal, $($steps:expr),*) => {
        with_sums!(
            $s,
            (
                "{{ .reg .pred p; .reg .b64 ta, tb; ",
                concat!("setp.ne.b32 p, 0, ", $adds, "; wgmma.fence.sync.aligned;"),
                $($steps,)*
                " }}"
            ),
            a = in(reg64) $a, b = in(reg64) $b,
        )
    };
}

/// Begins `sums` += a·bᵀ for four warps, tiles of 64 and 128 rows in shared memory: see [`Wide`].
///
/// Inline assembly for the same reason as [`multiply_tiles`](super::multiply_tiles): call it only where all four warps
/// pass.
#[inline(always)]
pub fn begin_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    // SAFETY: reads tiles that lie whole in shared memory and stay until they are waited for, as the emulator checks.
    unsafe {
        if T::IS_BF16 {
            begin!("bf16", a, b, sums, 1, step!("bf16", 0), step!("bf16", 2), step!("bf16", 4), step!("bf16", 6));
        } else {
            begin!("f16", a, b, sums, 1, step!("f16", 0), step!("f16", 2), step!("f16", 4), step!("f16", 6));
        }
    }
}

/// Begins `sums` = a·bᵀ, whatever they were, for tiles of 16 columns: see [`Narrow`](super::super::Narrow).
///
/// The sums are operands all the same, so that they stay in the same registers from one product to the next: a copy of them
/// would have to wait for the product.
#[inline(always)]
pub fn begin_narrow_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    // SAFETY: as for `begin_product`.
    unsafe {
        if T::IS_BF16 {
            begin!("bf16", a, b, sums, 0, step!("bf16", 0));
        } else {
            begin!("f16", a, b, sums, 0, step!("f16", 0));
        }
    }
}

/// Makes a group of the products begun since the last one.
#[inline(always)]
pub fn commit_products() {
    // SAFETY: touches no memory by itself.
    unsafe { asm!("wgmma.commit_group.sync.aligned;", options(nostack)) }
}

/// Waits until at most `PENDING` groups of products are under way; `sums` are then those of a group that is done.
#[inline(always)]
pub fn wait_products<const PENDING: usize>(sums: &mut Wide) {
    // SAFETY: touches no memory by itself.
    unsafe {
        // The comment names the operands, as the compiler wants it.
        with_sums!(sums, ("wgmma.wait_group.sync.aligned {pending};", concat!("/* ", registers!(), " */")), pending = const PENDING,);
    }
}

/// Waits until at most `PENDING` groups of products are under way, and leaves their sums alone.
#[inline(always)]
pub fn wait_earlier_products<const PENDING: usize>() {
    // SAFETY: touches no memory by itself.
    unsafe { asm!("wgmma.wait_group.sync.aligned {};", const PENDING, options(nostack)) }
}

/// Begins `sums` += a·bᵀ for 32 columns, half of those of a [`Swizzled`](super::super::Swizzled) and a
/// [`Slim`](super::super::Slim): see [`begin_product`].
#[inline(always)]
pub fn begin_slim_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    // SAFETY: as for `begin_product`.
    unsafe {
        if T::IS_BF16 {
            begin!("bf16", a, b, sums, 1, step!("bf16", 0), step!("bf16", 2, 16));
        } else {
            begin!("f16", a, b, sums, 1, step!("f16", 0), step!("f16", 2, 16));
        }
    }
}

/// Begins `sums` = a·bᵀ, whatever they were, for such tiles: see [`begin_narrow_product`].
#[inline(always)]
pub fn begin_first_slim_product<T: Half>(a: u64, b: u64, sums: &mut Wide) {
    // SAFETY: as for `begin_product`.
    unsafe {
        if T::IS_BF16 {
            begin!("bf16", a, b, sums, 1, first_step!("bf16"), step!("bf16", 2, 16));
        } else {
            begin!("f16", a, b, sums, 1, first_step!("f16"), step!("f16", 2, 16));
        }
    }
}
