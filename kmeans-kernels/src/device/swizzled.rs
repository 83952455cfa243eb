//! Tiles in the layout that four warps' tensor cores read from shared memory.

use super::{Half, In, Shared, SharedMemory};

/// A tile of rows of 64 elements, 128 bytes, in shared memory with the 128-byte swizzle.
///
/// Groups of 8 rows lie one after the other, 1,024 bytes each. Within a group, the 16-byte piece p of row r lies where
/// piece p xor r would, so that a column of pieces hits all banks:
///
/// ```text
/// row 0: 0 1 2 3 4 5 6 7
/// row 1: 1 0 3 2 5 4 7 6
/// row 2: 2 3 0 1 6 7 4 5 ...
/// ```
///
/// Whoever writes to it calls [`fence_tiles`](super::fence_tiles) before the barrier after which
/// [`multiply_group`](super::multiply_group) reads it. That computes sums += A·Bᵀ for A and B of 64 rows each, one warp
/// per 16 rows of A; a lane's share of the sums is, for each 8 rows of B, the C of [`Half`].
#[derive(Clone, Copy)]
pub struct Swizzled<'a, T> {
    tile: Shared<'a, T>,
}

impl<T: Half> Swizzled<'_, T> {
    /// Elements of a row.
    pub const ROW: u32 = 64;
    /// Elements of a piece.
    pub const PIECE: u32 = 8;

    /// The next `rows` rows, a multiple of 8, of a block's shared memory, from a multiple of 1,024 bytes on.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, rows: u32) -> Self {
        shared.align(1024);
        Self { tile: shared.array(rows * Self::ROW) }
    }

    /// Where piece `piece` of row `row` lies, in elements.
    #[inline(always)]
    fn place(row: u32, piece: u32) -> u32 {
        row * Self::ROW + (piece ^ (row % 8)) * Self::PIECE
    }

    /// Writes an element.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(self, row: u32, column: u32, value: T) {
        self.tile.set(Self::place(row, column / Self::PIECE) + column % Self::PIECE, value);
    }

    /// Begins to copy a piece from element `from` of `source` on, a multiple of 16 bytes.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn copy_async(self, row: u32, piece: u32, source: In<T>, from: u64) {
        self.tile.copy_async(Self::place(row, piece), source, from);
    }

    /// What names the 64 rows from `row` on, a multiple of 8, to the tensor cores: the address in units of 16 bytes, 1,024
    /// bytes from one group of 8 rows to the next, and the swizzle.
    #[inline(always)]
    pub fn descriptor(self, row: u32) -> u64 {
        let address = self.tile.address() + row * Self::ROW * T::SIZE;
        ((address & 0x3_ffff) >> 4) as u64 | 1 << 16 | (1024 >> 4) << 32 | 1 << 62
    }
}
