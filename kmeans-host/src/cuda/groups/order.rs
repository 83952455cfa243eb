//! Rows of each group in the order of their labels.

use std::mem::swap;

use kmeans_core::launch;

use super::super::Number;
use super::super::driver::{Arg, Array, Stream, read, write};
use super::super::job::Place;
use super::level::Level;
use crate::Error;

/// The row at each place of the points, and room for points and rows in another order.
pub struct Order<T> {
    pub rows: Array<u64>,
    spare_rows: Array<u64>,
    spare: Array<T>,
}

/// Where rows go, and what it makes of the groups.
pub struct Places {
    places: Array<u64>,
    /// The first place of each cluster and the one after its last, `[groups, k, 2]`.
    pub children: Array<u64>,
}

impl Places {
    /// Bytes on the device for up to `groups` groups of `n` points together, of k clusters.
    pub fn bytes(n: u64, groups: u64, k: u64) -> u64 {
        let tiles = n.div_ceil(launch::group_tile_rows(n) as u64) + groups;
        8 * n + 16 * groups * k + 4 * tiles * k
    }

    /// By the labels and counts of a level.
    pub fn new<T: Number>(level: &Level<'_, '_, T>) -> Result<Self, Error> {
        let (data, table, k) = (level.data, &level.table, Arg::U32(level.k));
        let (stream, n, clusters) = (&data.stream, data.n(), level.clusters());
        let [_, counts] = level.sums.read();
        let mut children = stream.array(2 * clusters)?;
        let kernel = &launch::GROUPS_CHILDREN;
        let arguments = [table.ranges(), counts, write(&mut children), k];
        data.launch(kernel, launch::groups_tiles(kernel, table.groups as u64), &arguments)?;
        let mut bins = stream.zeros::<u32>(table.tiles as usize * level.k as usize)?;
        let labels_and_table = || {
            let mut arguments = vec![read(&level.labels)];
            arguments.extend(table.arguments());
            arguments
        };
        let mut arguments = labels_and_table();
        arguments.extend([write(&mut bins), table.rows(), k]);
        let kernel = &launch::GROUPS_HISTOGRAM;
        data.launch(kernel, launch::groups_tiles(kernel, table.tiles), &arguments)?;
        let kernel = &launch::GROUPS_BASES;
        let arguments = [table.starts(), write(&mut bins), k];
        data.launch(kernel, launch::groups_tiles(kernel, clusters as u64), &arguments)?;
        let mut places = stream.array(n as usize)?;
        let kernel = &launch::GROUPS_STAY;
        data.launch(kernel, kernel.thread_each(n), &[write(&mut places), Arg::U64(n)])?;
        let mut arguments = labels_and_table();
        arguments.extend([read(&children), write(&mut bins), write(&mut places), table.rows(), k]);
        data.launch(&launch::GROUPS_PLACES, launch::groups_places(table.tiles), &arguments)?;
        Ok(Self { places, children })
    }
}

impl<T: Number> Order<T> {
    /// Bytes on the device for `n` points of `d` columns, the points in their present order aside.
    pub fn bytes(n: u64, d: u64) -> u64 {
        16 * n + n * d * size_of::<T>() as u64
    }

    /// Every row at its own place.
    pub fn new(stream: &Stream, n: usize, d: usize) -> Result<Self, Error> {
        let mut rows = stream.array(n)?;
        let kernel = &launch::GROUPS_STAY;
        let arguments = [write(&mut rows), Arg::U64(n as u64)];
        stream.launch(kernel, "", kernel.thread_each(n as u64), &arguments)?;
        Ok(Self { rows, spare_rows: stream.array(n)?, spare: stream.array(n * d)? })
    }

    /// Brings the points, which lie in `points`, to their places.
    pub fn carry(
        &mut self,
        stream: &Stream,
        points: &mut Place<'_, T>,
        places: &Places,
        (n, d): (usize, usize),
    ) -> Result<(), Error> {
        let arguments = [
            points.arg(),
            read(&self.rows),
            read(&places.places),
            write(&mut self.spare),
            write(&mut self.spare_rows),
            Arg::U64(n as u64),
            Arg::U32(d as u32),
        ];
        stream.launch(&launch::GROUPS_CARRY, T::NAME, launch::groups_carry(n as u64), &arguments)?;
        swap(&mut self.rows, &mut self.spare_rows);
        if let Place::Own(points) = points {
            swap(points, &mut self.spare);
        }
        Ok(())
    }
}
