//! A tile of rows in shared memory: read from global memory as it lies there, then each thread follows its own row, since D
//! is a sum in the order of the columns.

use kmeans_core::launch::{SEED_COLUMNS, SEED_NEAREST};

use crate::device::{In, Load, Number, Shared, SharedMemory, block_size, thread_index};

/// Rows of a tile: one per thread.
pub const ROWS: u32 = SEED_NEAREST.block;
/// Elements that a thread has under way at a time.
const BATCH: usize = 8;

/// Columns `column..column + width` of rows `start..start + ROWS`.
#[derive(Clone, Copy)]
pub struct Tile<'a, T> {
    elements: Shared<'a, T>,
    width: u32,
    /// Odd, so that neighbouring threads' rows lie in different banks.
    stride: u32,
}

/// Shared memory for a tile.
#[inline(always)]
pub fn memory<'a, T: Number>(shared: &mut SharedMemory) -> Shared<'a, T> {
    shared.array::<T>(ROWS * (SEED_COLUMNS + 1))
}

impl<'a, T: Number> Tile<'a, T> {
    /// Loads at most `SEED_COLUMNS` columns of the rows below n. A barrier must follow.
    #[inline(always)]
    pub fn load(
        elements: Shared<'a, T>,
        points: In<impl Load<Value = T>>,
        start: u64,
        column: u32,
        n: u64,
        d: u32,
    ) -> Self {
        let width = if d - column < SEED_COLUMNS { d - column } else { SEED_COLUMNS };
        let tile = Self { elements, width, stride: width | 1 };
        // Row and column go along, since a division per element would cost more than the rest.
        let divide = |x: u32| (x.checked_div(width).unwrap_or(0), x.checked_rem(width).unwrap_or(0));
        let ((rows, columns), (mut row, mut at)) = (divide(block_size()), divide(thread_index()));
        let rows_left = n - start;
        let end = if rows_left < ROWS as u64 { rows_left as u32 } else { ROWS };
        while row < end {
            // All loads of a batch before the first store, so that they wait together.
            let (mut values, mut places) = ([T::ZERO; BATCH], [u32::MAX; BATCH]);
            for i in 0..BATCH {
                if row < end {
                    places[i] = row * tile.stride + at;
                    values[i] = points.get((start + row as u64) * d as u64 + (column + at) as u64).load();
                }
                (row, at) = (row + rows, at + columns);
                if at >= width {
                    (row, at) = (row + 1, at - width);
                }
            }
            for i in 0..BATCH {
                if places[i] != u32::MAX {
                    elements.set(places[i], values[i]);
                }
            }
        }
        tile
    }

    /// Columns in the tile.
    #[inline(always)]
    pub fn width(self) -> u32 {
        self.width
    }

    /// The element of this thread's row in the tile's column `column`.
    #[inline(always)]
    pub fn get(self, column: u32) -> f64 {
        self.elements.get(thread_index() * self.stride + column).double()
    }
}

/// One step of D.
#[inline(always)]
pub fn add_square(sum: f64, x: f64, c: f64) -> f64 {
    let difference = x - c;
    sum + difference * difference
}
