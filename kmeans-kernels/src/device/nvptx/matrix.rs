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
