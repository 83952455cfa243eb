//! Tiles in the layout that four warps' tensor cores read from shared memory.

use super::{Barriers, Half, In, Shared, SharedMemory};

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
    pub fn place(row: u32, piece: u32) -> u32 {
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

    /// This lane's words of the 16 rows from `row` on, a multiple of 8, and the 16 columns from 16·`step` on: as
    /// [`Half`] orders those of an A, or for rows of Bᵀ the two words of the first 8 rows at 0 and 2, of the other 8 at 1 and 3.
    /// All 32 lanes take part.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn square(self, row: u32, step: u32) -> [u32; 4] {
        self.tile.square(|y, half| Self::place(row + y, 2 * step + half))
    }

    /// Writes a piece of zeros.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn clear(self, row: u32, piece: u32) {
        self.tile.clear16(Self::place(row, piece));
    }

    /// Begins to copy `rows` rows, laid out as they are here, from element `from` of `source` to row `row` on; they arrive
    /// at a barrier.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn copy_bulk(self, row: u32, rows: u32, source: In<T>, from: u64, barriers: Barriers, index: u32) {
        self.tile.copy_bulk(row * Self::ROW, source, from, rows * Self::ROW, barriers, index);
    }

    /// What names the 64 rows from `row` on, a multiple of 8, to the tensor cores: the address in units of 16 bytes, 1,024
    /// bytes from one group of 8 rows to the next, and the swizzle.
    #[inline(always)]
    pub fn descriptor(self, row: u32) -> u64 {
        let address = self.tile.address() + row * Self::ROW * T::SIZE;
        ((address & 0x3_ffff) >> 4) as u64 | 1 << 16 | (1024 >> 4) << 32 | 1 << 62
    }

    /// What names the columns from 32·`half` on of those rows.
    #[inline(always)]
    pub fn half_descriptor(self, row: u32, half: u32) -> u64 {
        // Shared memory ends below 2¹⁸ bytes: the sum does not leave its bits, and what does not change is computed once.
        let first = (self.tile.address() & 0x3_ffff) >> 4 | 1 << 16;
        (first + row * (Self::ROW * T::SIZE / 16) + half * 4) as u64 | (1024 >> 4) << 32 | 1 << 62
    }
}

/// A tile of rows of 16 elements, 32 bytes, in shared memory with no swizzle.
///
/// Groups of 8 rows lie one after the other, 256 bytes each: first the first 8 elements of each row, then the others.
#[derive(Clone, Copy)]
pub struct Narrow<'a, T> {
    tile: Shared<'a, T>,
}

impl<T: Half> Narrow<'_, T> {
    /// Elements of a row.
    pub const ROW: u32 = 16;

    /// The next `rows` rows, a multiple of 8, of a block's shared memory.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, rows: u32) -> Self {
        Self { tile: shared.array(rows * Self::ROW) }
    }

    /// Where an element lies.
    #[inline(always)]
    pub fn place(row: u32, column: u32) -> u32 {
        row / 8 * (8 * Self::ROW) + column / 8 * 64 + row % 8 * 8 + column % 8
    }

    /// Writes an element.
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn set(self, row: u32, column: u32, value: T) {
        self.tile.set(Self::place(row, column), value);
    }

    /// As [`Swizzled::copy_bulk`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn copy_bulk(self, row: u32, rows: u32, source: In<T>, from: u64, barriers: Barriers, index: u32) {
        self.tile.copy_bulk(row * Self::ROW, source, from, rows * Self::ROW, barriers, index);
    }

    /// What names the rows from `row` on, a multiple of 8, to the tensor cores.
    #[inline(always)]
    pub fn descriptor(self, row: u32) -> u64 {
        self.first_eight(row) | (256 >> 4) << 32
    }

    /// What names the 8 rows from `row` on, again and again, to the tensor cores.
    #[inline(always)]
    pub fn repeated(self, row: u32) -> u64 {
        self.first_eight(row)
    }

    /// The address in units of 16 bytes, and 128 bytes from the first 8 columns to the others.
    #[inline(always)]
    fn first_eight(self, row: u32) -> u64 {
        let address = self.tile.address() + row * Self::ROW * T::SIZE;
        ((address & 0x3_ffff) >> 4) as u64 | (128 >> 4) << 16
    }
}

/// A tile of rows of 32 elements, 64 bytes, in shared memory with no swizzle.
///
/// Groups of 8 rows lie one after the other, 512 bytes each: first the first 8 elements of each row, then the next 8, and so on.
/// The tensor cores read 8 rows of 8 elements at a time, which lie in one piece: no swizzle is needed where copies lay it
/// out.
#[derive(Clone, Copy)]
pub struct Slim<'a, T> {
    tile: Shared<'a, T>,
}

impl<T: Half> Slim<'_, T> {
    /// Elements of a row.
    pub const ROW: u32 = 32;

    /// The next `rows` rows, a multiple of 8, of a block's shared memory.
    #[inline(always)]
    pub fn new(shared: &mut SharedMemory, rows: u32) -> Self {
        Self { tile: shared.array(rows * Self::ROW) }
    }

    /// Where an element lies.
    #[inline(always)]
    pub fn place(row: u32, column: u32) -> u32 {
        row / 8 * (8 * Self::ROW) + column / 8 * 64 + row % 8 * 8 + column % 8
    }

    /// As [`Swizzled::copy_bulk`].
    #[inline(always)]
    #[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
    pub fn copy_bulk(self, row: u32, rows: u32, source: In<T>, from: u64, barriers: Barriers, index: u32) {
        self.tile.copy_bulk(row * Self::ROW, source, from, rows * Self::ROW, barriers, index);
    }

    /// What names the rows from `row` on, a multiple of 8, to the tensor cores: the address in units of 16 bytes, 128 bytes from 8
    /// columns to the next and 512 bytes from one group of 8 rows to the next.
    #[inline(always)]
    pub fn descriptor(self, row: u32) -> u64 {
        let first = (self.tile.address() & 0x3_ffff) >> 4 | (128 >> 4) << 16;
        (first + row * (Self::ROW * T::SIZE / 16)) as u64 | (512 >> 4) << 32
    }
}
