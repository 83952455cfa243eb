//! Which rows of which group a block takes, made on the device (`kmeans_core::launch::GROUPS_STARTS`).

use kmeans_core::launch;

use super::super::Number;
use super::super::driver::{Arg, Array, read, write};
use super::super::job::Data;
use crate::Error;

/// Groups of rows of the points, cut into tiles.
pub struct Table {
    /// The first row of each group, and the one after its last.
    ranges: Array<u64>,
    starts: Array<u32>,
    owners: Array<u32>,
    pub groups: u32,
    /// Tiles at most: a block each.
    pub tiles: u64,
    pub tile_rows: u32,
}

impl Table {
    /// Bytes on the device for up to `groups` groups of `n` points together.
    pub fn bytes(n: u64, groups: u64) -> u64 {
        let tiles = n.div_ceil(launch::group_tile_rows(n) as u64) + groups;
        24 * groups + 4 * tiles
    }

    /// For `groups` groups of at most `n` rows together.
    pub fn new<T: Number>(data: &Data<'_, T>, ranges: Array<u64>, groups: u32, n: u64) -> Result<Self, Error> {
        Self::with_rows(data, ranges, groups, n, launch::group_tile_rows(n))
    }

    /// The same groups in tiles of `tile_rows` rows.
    pub fn cut<T: Number>(&self, data: &Data<'_, T>, n: u64, tile_rows: u32) -> Result<Self, Error> {
        let mut ranges = data.stream.array(self.ranges.len())?;
        data.stream.copy(&self.ranges, 0..self.ranges.len(), &mut ranges, 0)?;
        Self::with_rows(data, ranges, self.groups, n, tile_rows)
    }

    fn with_rows<T: Number>(
        data: &Data<'_, T>,
        ranges: Array<u64>,
        groups: u32,
        n: u64,
        tile_rows: u32,
    ) -> Result<Self, Error> {
        let stream = &data.stream;
        let tiles = launch::group_tiles(n, groups, tile_rows);
        let (mut starts, mut owners) = (stream.array(groups as usize + 1)?, stream.array(tiles as usize)?);
        let arguments = [read(&ranges), write(&mut starts), Arg::U32(tile_rows), Arg::U32(groups)];
        data.launch(&launch::GROUPS_STARTS, launch::groups_starts(), &arguments)?;
        let arguments = [read(&starts), write(&mut owners), Arg::U32(tiles as u32), Arg::U32(groups)];
        data.launch(&launch::GROUPS_OWNERS, launch::GROUPS_OWNERS.thread_each(tiles), &arguments)?;
        Ok(Self { ranges, starts, owners, groups, tiles, tile_rows })
    }

    /// The first row of each group and the one after its last.
    pub fn ranges(&self) -> Arg<'_> {
        read(&self.ranges)
    }

    /// Where each group's tiles begin.
    pub fn starts(&self) -> Arg<'_> {
        read(&self.starts)
    }

    /// What kernels are told of the table: ranges, starts, owners.
    pub fn arguments(&self) -> [Arg<'_>; 3] {
        [read(&self.ranges), read(&self.starts), read(&self.owners)]
    }

    /// Rows of a tile.
    pub fn rows(&self) -> Arg<'static> {
        Arg::U32(self.tile_rows)
    }
}
