//! Which rows a block of the streaming kernels takes, and what it is told of them.

use crate::device::In;
use crate::groups::Table;

/// How many slices of 64 columns a row has.
pub trait Columns {
    /// That many.
    const SLICES: u32;
}

/// Rows of up to 64·N columns.
pub struct Slices<const N: u32>;

impl<const N: u32> Columns for Slices<N> {
    const SLICES: u32 = N;
}

/// Some rows that are compared with the same centroids.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// The first of them.
    pub first: u64,
    /// After the last of them.
    pub end: u64,
    /// The group of centroids.
    pub group: u32,
}

/// Which rows blocks take: block b of g takes number b, b + g, b + 2g and so on.
pub(crate) trait Plan: Copy {
    /// Whether rows come from a list, and bounds are made for them.
    const IS_LISTED: bool = false;

    /// Number `index`, if there is one: at most as many rows as a block takes at a time.
    fn rows(self, index: u32) -> Option<Rows>;

    /// The number in the matrix of the row at `place`.
    #[inline(always)]
    fn number(self, place: u64) -> u64 {
        place
    }
}

/// n rows, compared with one group of centroids.
#[derive(Clone, Copy)]
pub(crate) struct All {
    pub n: u64,
    /// Rows of a block.
    pub rows: u32,
}

impl Plan for All {
    #[inline(always)]
    fn rows(self, index: u32) -> Option<Rows> {
        let first = index as u64 * self.rows as u64;
        if first < self.n { Some(Rows { first, end: self.n.min(first + self.rows as u64), group: 0 }) } else { None }
    }
}

/// Tiles of groups of rows, of as many rows at most.
#[derive(Clone, Copy)]
pub(crate) struct Tiles<'a> {
    pub table: Table<'a>,
    pub tiles: u32,
}

impl Plan for Tiles<'_> {
    #[inline(always)]
    fn rows(self, index: u32) -> Option<Rows> {
        if index >= self.tiles {
            return None;
        }
        let tile = self.table.tile_number(index)?;
        Some(Rows { first: tile.first, end: tile.end, group: tile.group })
    }
}

/// The points and what is known about them.
#[derive(Clone, Copy)]
pub(crate) struct Points<'a, T> {
    pub elements: In<'a, T>,
    /// |x'|² of each.
    pub norms: In<'a, f32>,
    /// |x' − x̃| of each, if rounded.
    pub errors: Option<In<'a, f32>>,
    pub d: u32,
}
