//! Products of tiles on tensor cores.

use core::arch::asm;

use super::super::Half;

macro_rules! mma {
    ($kind:literal, $a:ident, $b:ident, $c:ident) => {
        asm!(
            concat!(
                "mma.sync.aligned.m16n8k16.row.col.f32.", $kind, ".", $kind, ".f32 ",
                "{{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};"
            ),
            a0 = in(reg32) $a[0], a1 = in(reg32) $a[1], a2 = in(reg32) $a[2], a3 = in(reg32) $a[3],
            b0 = in(reg32) $b[0], b1 = in(reg32) $b[1],
            c0 = inout(reg32) $c[0], c1 = inout(reg32) $c[1], c2 = inout(reg32) $c[2], c3 = inout(reg32) $c[3],
            options(nomem, nostack)
        )
    };
}

/// a·b + c for a warp's tiles, 16 by 16 and 16 by 8: see [`Half`].
///
/// There is no intrinsic for it that Rust's types can express, so this is inline assembly, which LLVM may copy into
/// branches: call it only where the whole warp passes. `cargo xtask check-ptx` counts the copies.
#[inline(always)]
pub fn multiply_tiles<T: Half>(a: [u32; 4], b: [u32; 2], mut c: [f32; 4]) -> [f32; 4] {
    // SAFETY: plain arithmetic on registers; the whole warp takes part, as the emulator checks.
    unsafe {
        if T::IS_BF16 {
            mma!("bf16", a, b, c);
        } else {
            mma!("f16", a, b, c);
        }
    }
    c
}

/// The names of the accumulators in an instruction.
macro_rules! registers {
    () => {
        concat!(
            "{{{d0}, {d1}, {d2}, {d3}, {d4}, {d5}, {d6}, {d7}, {d8}, {d9}, {d10}, {d11}, {d12}, {d13}, {d14}, {d15}, ",
            "{d16}, {d17}, {d18}, {d19}, {d20}, {d21}, {d22}, {d23}, {d24}, {d25}, {d26}, {d27}, {d28}, {d29}, {d30}, {d31}}}"
        )
    };
}

/// One instruction: 16 columns, which begin `$step` 16-byte units into a row.
macro_rules! wgmma_step {
    ($kind:literal, $step:literal) => {
        concat!(
            "add.s64 ta, {a}, ",
            $step,
            "; add.s64 tb, {b}, ",
            $step,
            "; ",
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.",
            $kind,
            ".",
            $kind,
            " ",
            registers!(),
            ", ta, tb, p, 1, 1, 0, 0;"
        )
    };
}

/// All 64 columns, with fence, commit and wait: the accumulators are the hardware's from the first to the last of these,
/// and nothing may come between.
macro_rules! wgmma {
    ($kind:literal, $a:ident, $b:ident, $s:ident) => {
        asm!(
            "{{ .reg .pred p; .reg .b64 ta, tb; setp.eq.b32 p, 0, 0; wgmma.fence.sync.aligned;",
            wgmma_step!($kind, 0), wgmma_step!($kind, 2), wgmma_step!($kind, 4), wgmma_step!($kind, 6),
            "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; }}",
            a = in(reg64) $a, b = in(reg64) $b,
            d0 = inout(reg32) $s[0][0], d1 = inout(reg32) $s[0][1], d2 = inout(reg32) $s[0][2], d3 = inout(reg32) $s[0][3],
            d4 = inout(reg32) $s[1][0], d5 = inout(reg32) $s[1][1], d6 = inout(reg32) $s[1][2], d7 = inout(reg32) $s[1][3],
            d8 = inout(reg32) $s[2][0], d9 = inout(reg32) $s[2][1], d10 = inout(reg32) $s[2][2], d11 = inout(reg32) $s[2][3],
            d12 = inout(reg32) $s[3][0], d13 = inout(reg32) $s[3][1], d14 = inout(reg32) $s[3][2], d15 = inout(reg32) $s[3][3],
            d16 = inout(reg32) $s[4][0], d17 = inout(reg32) $s[4][1], d18 = inout(reg32) $s[4][2], d19 = inout(reg32) $s[4][3],
            d20 = inout(reg32) $s[5][0], d21 = inout(reg32) $s[5][1], d22 = inout(reg32) $s[5][2], d23 = inout(reg32) $s[5][3],
            d24 = inout(reg32) $s[6][0], d25 = inout(reg32) $s[6][1], d26 = inout(reg32) $s[6][2], d27 = inout(reg32) $s[6][3],
            d28 = inout(reg32) $s[7][0], d29 = inout(reg32) $s[7][1], d30 = inout(reg32) $s[7][2], d31 = inout(reg32) $s[7][3],
            options(nostack)
        )
    };
}

/// a·bᵀ + `sums` for four warps, tiles of 64 by 64 in shared memory: see [`Swizzled`](super::super::Swizzled).
///
/// Inline assembly for the same reason as [`multiply_tiles`]: call it only where all four warps pass.
#[inline(always)]
pub fn multiply_group<T: Half>(a: u64, b: u64, sums: &mut [[f32; 4]; 8]) {
    // SAFETY: reads tiles that lie whole in shared memory and were fenced, as the emulator checks.
    unsafe {
        if T::IS_BF16 {
            wgmma!("bf16", a, b, sums);
        } else {
            wgmma!("f16", a, b, sums);
        }
    }
}

/// Lets tensor cores see, after the next barrier, what this thread has written to shared memory.
#[inline(always)]
pub fn fence_tiles() {
    // SAFETY: orders memory, touches none.
    unsafe { asm!("fence.proxy.async.shared::cta;", options(nostack)) }
}
