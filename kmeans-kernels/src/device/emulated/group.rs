//! Products of tiles in shared memory by four warps, as Hopper's `wgmma` computes them.
//!
//! The tiles are named by descriptors, which are read here as the hardware reads them: the start address, the bytes from
//! one group of 8 rows to the next, and the swizzle. Only the 128-byte swizzle is modelled: bits 4 to 6 of an address are
//! exchanged with their exclusive or with bits 7 to 9. The tiles must have been fenced by whoever wrote them.

use super::super::WARP;
use super::fault::FaultKind;
use super::matrix;
use super::memory::{Access, Action};
use super::schedule::Random;
use super::thread::Block;

/// A thread's share of the sums: for each 8 columns, two of row g and two of row g + 8, as for a warp's product.
pub(super) type Sums = [[f32; 4]; 8];

/// The tiles of a product: A and B, 64 rows by 64 columns each.
#[derive(Clone, Copy)]
pub(super) struct GroupOperands {
    pub(super) a: u64,
    pub(super) b: u64,
    /// What 16 bits of a tile mean.
    pub(super) decode: fn(u16) -> f32,
}

/// Rows, and columns, of a tile.
const SIDE: usize = 64;
/// Columns of one instruction.
const DEPTH: usize = 16;

/// Adds A·Bᵀ to the sums of the four warps from thread `first` on.
pub(super) fn multiply(operands: GroupOperands, block: &Block, first: usize, random: &Random) -> Result<(), FaultKind> {
    let a = read(operands.a, operands.decode, block, first)?;
    let b = read(operands.b, operands.decode, block, first)?;
    let mut sums = block.sums.borrow_mut();
    for row in 0..SIDE {
        for column in 0..SIDE {
            let thread = first + row / 16 * WARP as usize + row % 8 * 4 + column % 8 / 2;
            let sum = &mut sums[thread][column / 8][row % 16 / 8 * 2 + column % 2];
            for step in (0..SIDE).step_by(DEPTH) {
                let products = (step..step + DEPTH).map(|k| a[row * SIDE + k] * b[column * SIDE + k]);
                let terms: Vec<f64> = products.chain([*sum as f64]).collect();
                *sum = matrix::add(&terms, 24 + random.below(4) as i32);
            }
        }
    }
    Ok(())
}

/// The tile that a descriptor names, row by row.
fn read(descriptor: u64, decode: fn(u16) -> f32, block: &Block, first: usize) -> Result<Vec<f64>, FaultKind> {
    assert_eq!(descriptor >> 62, 1, "only the 128-byte swizzle is modelled");
    let field = |shift: u32| ((descriptor >> shift) & 0x3fff) << 4;
    let (start, stride) = (field(0), field(32));
    if !start.is_multiple_of(1024) {
        return Err(FaultKind::Misaligned { memory: "shared memory", address: start, size: 1024 });
    }
    let shared = block.shared;
    let access = Access::new(block.clock.now.get(), block.warp_intervals[first / WARP as usize].get(), first as u32);
    let mut tile = Vec::with_capacity(SIDE * SIDE);
    for row in 0..SIDE as u64 {
        for column in 0..SIDE as u64 {
            let linear = start + row / 8 * stride + row % 8 * 128 + column * 2;
            let address = linear ^ ((linear >> 7) & 7) << 4;
            shared.check(address, 2, u64::MAX, Action::Read, access)?;
            if let Some(writer) = shared.unfenced(address, 2, &block.fenced) {
                return Err(FaultKind::Unfenced { address, writer });
            }
            tile.push(decode(shared.load(address, 2) as u16) as f64);
        }
    }
    Ok(tile)
}
