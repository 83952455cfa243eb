//! Products of tiles in shared memory by four warps, as Hopper's `wgmma` computes them.
//!
//! The tiles are named by descriptors, which are read here as the hardware reads them: the start address, the bytes from
//! one group of 8 rows to the next, and the swizzle. Only none and the 128-byte swizzle are modelled: bits 4 to 6 of an address are
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
    let a = read(operands.a, (SIDE, SIDE), operands.decode, block, first)?;
    let b = read(operands.b, (SIDE, SIDE), operands.decode, block, first)?;
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

/// The tile of so many rows and columns that a descriptor names, row by row, as thread `reader` sees it.
pub(super) fn read(
    descriptor: u64,
    (rows, columns): (usize, usize),
    decode: fn(u16) -> f32,
    block: &Block,
    reader: usize,
) -> Result<Vec<f64>, FaultKind> {
    let is_swizzled = match descriptor >> 62 {
        0 => false,
        1 => true,
        _ => panic!("of the swizzles, only the one of 128 bytes is modelled"),
    };
    let field = |shift: u32| ((descriptor >> shift) & 0x3fff) << 4;
    let (start, across, down) = (field(0), field(16), field(32));
    // A swizzled tile may begin at any step of 16 columns of its first row.
    let (offset, alignment) = if is_swizzled { (start % 128 / 32 * 32, 1024) } else { (0, 128) };
    if !(start - offset).is_multiple_of(alignment) {
        return Err(FaultKind::Misaligned { memory: "shared memory", address: start, size: alignment as u32 });
    }
    let shared = &block.shared;
    let interval = block.warp_intervals[reader / WARP as usize].get();
    let access = Access::new(block.clock.now.get(), interval, reader as u32, block.order.epoch(reader));
    let known = block.order.known(reader);
    let mut tile = Vec::with_capacity(rows * columns);
    for row in 0..rows as u64 {
        for column in 0..columns as u64 {
            let address = if is_swizzled {
                let linear = start + row / 8 * down + row % 8 * 128 + column * 2;
                linear ^ ((linear >> 7) & 7) << 4
            } else {
                start + row / 8 * down + column / 8 * across + row % 8 * 16 + column % 8 * 2
            };
            shared.check(address, 2, u64::MAX, Action::Read, access, &known)?;
            if let Some(writer) = shared.unfenced(address, 2, &block.fenced) {
                return Err(FaultKind::Unfenced { address, writer });
            }
            tile.push(decode(shared.load(address, 2) as u16) as f64);
        }
    }
    Ok(tile)
}
