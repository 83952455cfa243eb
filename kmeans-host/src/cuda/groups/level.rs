//! Labels, sums and means of many groups of rows, a launch per step for all of them.

use kmeans_core::launch;

use super::super::Number;
use super::super::driver::{Arg, Array, read, write};
use super::super::job::Data;
use super::super::stream::{Streaming, can_stream_groups, stream_rows};
use super::super::sums::Sums;
use super::table::Table;
use crate::Error;
use crate::points::Facts;

/// What a level has on the device: groups, each with k clusters, numbered through.
pub struct Level<'a, 'p, T> {
    pub data: &'a Data<'p, T>,
    pub table: Table,
    pub k: u32,
    /// `[groups, k, d]`.
    pub centroids: Array<T>,
    /// The number of each row's cluster; the one after the last for rows of no group.
    pub labels: Array<u32>,
    /// Those of the round before.
    pub before: Array<u32>,
    /// Of all clusters, and of the rows of no group.
    pub sums: Sums,
    /// Labels of each group that changed.
    pub changed: Array<u64>,
    /// What empty clusters add to that.
    pub moved_again: Array<u64>,
    /// Whether each group goes on: `kmeans_core::launch::RUNNING` and its like.
    pub states: Array<u32>,
    /// Where there are many centroids, Hopper's tensor cores.
    streams: Option<Streams<T>>,
    /// Whether the sums are those of labels that tensor cores found in the round before.
    followed: bool,
}

/// What streaming kernels take of the points, once they are used, and the labels that they find.
struct Streams<T> {
    streaming: Streaming<T>,
    table: Table,
    found: Array<u32>,
}

/// Fewer clusters per group are not worth laying centroids out in tiles of 128: a guess, yet to be measured.
const STREAM_FROM: u32 = 32;

/// Whether labels of groups of these points are found by streaming kernels.
pub fn streams<T: Number>(tier: &str, facts: &Facts, sum_words: u32, k: usize) -> bool {
    let (clusters, d) = (k as u32, facts.d as u32);
    tier != "portable"
        && clusters >= STREAM_FROM
        && !launch::groups_fuse(clusters, d, sum_words)
        && can_stream_groups::<T>(facts, k)
}

/// Whether labels and sums are found in one pass.
fn fuses<T: Number>(sums: &Sums, k: u32, d: u32) -> bool {
    launch::SINGLE_TYPES.contains(&T::STORED) && launch::groups_fuse(k, d, sums.format().1)
}

impl<'a, 'p, T: Number> Level<'a, 'p, T> {
    /// For groups with centroids that are yet to be chosen.
    pub fn new(data: &'a Data<'p, T>, table: Table, k: u32) -> Result<Self, Error> {
        let (stream, n) = (&data.stream, data.facts.n);
        let groups = table.groups as usize;
        let clusters = groups * k as usize;
        let (mut labels, mut before) = (stream.array(n)?, stream.array(n)?);
        for labels in [&mut labels, &mut before] {
            let arguments = [write(labels), Arg::U32(clusters as u32), Arg::U64(n as u64)];
            data.launch(&launch::GROUPS_OUTSIDE, launch::GROUPS_OUTSIDE.thread_each(n as u64), &arguments)?;
        }
        // Where sums are found beside the labels, nobody adds to those of the rows of no group.
        let mut sums = Sums::unweighted(data, clusters + 1)?;
        sums.clear(stream)?;
        Ok(Self {
            data,
            k,
            centroids: stream.array(clusters * data.facts.d)?,
            labels,
            before,
            sums,
            changed: stream.zeros(groups)?,
            moved_again: stream.zeros(groups)?,
            states: stream.zeros(groups)?,
            streams: None,
            followed: false,
            table,
        })
    }

    /// Clusters of all groups.
    pub fn clusters(&self) -> usize {
        self.table.groups as usize * self.k as usize
    }

    /// Labels for the centroids of groups of a state up to `most`, and sums and counts of all.
    pub fn label(&mut self, most: u32) -> Result<(), Error> {
        self.begin(most)?;
        self.find(most)
    }

    /// Zeros where a round adds, in groups of a state up to `most`.
    fn begin(&mut self, most: u32) -> Result<(), Error> {
        let (data, k, d) = (self.data, self.k, self.data.d());
        let words = self.sums.format().1;
        let sum_words = if fuses::<T>(&self.sums, k, d) { k as u64 * d as u64 * words as u64 } else { 0 };
        let parts = launch::group_parts(k, d, words);
        let [sums, counts] = self.sums.write();
        let arguments = [
            read(&self.states),
            write(&mut self.changed),
            write(&mut self.moved_again),
            sums,
            counts,
            Arg::U64(sum_words),
            Arg::U32(most),
            Arg::U32(parts),
            Arg::U32(k),
        ];
        let kernel = &launch::GROUPS_BEGIN;
        data.launch(kernel, launch::groups_parts(kernel, self.table.groups, parts), &arguments)
    }

    fn find(&mut self, most: u32) -> Result<(), Error> {
        let (data, k, d) = (self.data, self.k, self.data.d());
        let (exponent, words) = self.sums.format();
        let fuses = fuses::<T>(&self.sums, k, d);
        let tiles = self.table.tiles;
        let mut arguments = vec![data.points.arg(), read(&self.centroids)];
        arguments.extend(self.table.arguments());
        arguments.extend([read(&self.states), write(&mut self.labels), write(&mut self.before)]);
        arguments.push(write(&mut self.changed));
        let sizes = [self.table.rows(), Arg::U32(most), Arg::U32(k), Arg::U32(d)];
        if fuses {
            arguments.extend(self.sums.write());
            arguments.push(Arg::I32(exponent));
            arguments.extend(sizes);
            let kernel = if words == 1 { &launch::GROUPS_FUSED_NARROW } else { &launch::GROUPS_FUSED_WIDE };
            return data.launch(kernel, launch::groups_fused(tiles, k, d, words), &arguments);
        }
        if streams::<T>(data.stream.gpu().tier.name, data.facts, words, k as usize) {
            drop(arguments);
            self.stream(most)?;
            let follows = std::mem::replace(&mut self.followed, true);
            return if follows {
                self.sums.follow(data, &self.before, &self.labels, None)
            } else {
                self.sums.add_up(data, &self.labels)
            };
        }
        arguments.extend(sizes);
        let (kernel, geometry) = if launch::SINGLE_TYPES.contains(&T::STORED) {
            (&launch::GROUPS_ASSIGN, launch::groups_assign(tiles, k, d))
        } else {
            (&launch::GROUPS_EXACT, launch::groups_exact(tiles))
        };
        data.launch(kernel, geometry, &arguments)?;
        self.sums.add_up(data, &self.labels)
    }

    /// Labels by tensor cores.
    fn stream(&mut self, most: u32) -> Result<(), Error> {
        let (data, k) = (self.data, self.k);
        let streams = match &mut self.streams {
            Some(streams) => streams,
            none => {
                let mut streaming = Streaming::new(data)?;
                streaming.close_all(data)?;
                let table = self.table.cut(data, data.n(), stream_rows(data.stream.gpu().tier.name))?;
                none.insert(Streams { streaming, table, found: data.stream.array(data.facts.n)? })
            }
        };
        let Streams { streaming, table, found } = streams;
        streaming.assign_groups(data, &self.centroids, table, k as usize, found)?;
        let mut arguments = vec![read(found)];
        arguments.extend(self.table.arguments());
        arguments.extend([read(&self.states), write(&mut self.labels), write(&mut self.before)]);
        arguments.extend([write(&mut self.changed), self.table.rows(), Arg::U32(most), Arg::U32(k)]);
        let kernel = &launch::GROUPS_ADOPT;
        data.launch(kernel, launch::groups_tiles(kernel, self.table.tiles), &arguments)
    }

    /// New centroids of the groups that run, and how far each cluster's `moved`.
    pub fn update(&mut self, moved: &mut Array<f64>, first: bool) -> Result<(), Error> {
        let data = self.data;
        let (exponent, words) = self.sums.format();
        let [sums, counts] = self.sums.read();
        let arguments = [
            sums,
            counts,
            read(&self.states),
            read(&self.changed),
            write(&mut self.centroids),
            write(moved),
            Arg::I32(exponent),
            Arg::U32(words),
            Arg::U32(first as u32),
            Arg::U32(self.table.groups),
            Arg::U32(self.k),
            Arg::U32(data.d()),
        ];
        let kernel = match words {
            1 => &launch::GROUPS_UPDATE_NARROW,
            2 => &launch::GROUPS_UPDATE_WIDE,
            _ => &launch::GROUPS_UPDATE_LIMBS,
        };
        let clusters = self.table.groups as u64 * self.k as u64;
        data.launch(kernel, launch::groups_update(clusters), &arguments)
    }

    /// Some rows of the points as centroids.
    pub fn start_at(&mut self, rows: &Array<u64>) -> Result<(), Error> {
        self.centroids = self.data.gather(rows, self.clusters())?;
        Ok(())
    }

    /// Random labels of every group, by its seed.
    pub fn label_randomly(&mut self, seeds: &Array<u64>, restart: u32) -> Result<(), Error> {
        let mut arguments = self.table.arguments().to_vec();
        arguments.extend([
            read(seeds),
            write(&mut self.labels),
            Arg::U32(restart),
            self.table.rows(),
            Arg::U32(self.k),
        ]);
        let kernel = &launch::GROUPS_RANDOM_LABELS;
        self.data.launch(kernel, launch::groups_tiles(kernel, self.table.tiles), &arguments)?;
        self.sums.add_up(self.data, &self.labels)
    }
}
