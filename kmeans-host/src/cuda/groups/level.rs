//! Labels, sums and means of many groups of rows, a launch per step for all of them.

use kmeans_core::launch::{self, Geometry, Kernel};

use super::super::Number;
use super::super::driver::{Arg, Array, Gpu, read, write};
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
    way: Way,
    /// For [`Way::Tensor`], the groups in tiles of its own.
    tensor_table: Option<Table>,
    /// For [`Way::Stream`].
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

/// How labels of groups are found, and their sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Together, by Ampere's tensor cores.
    Tensor(&'static Kernel),
    /// Together, by multiplications in `f32`.
    Fused,
    /// Labels by Hopper's tensor cores, then sums.
    Stream,
    /// Labels by multiplications in `f32`, then sums.
    Single,
    /// Labels by D, then sums.
    Exact,
}

/// Fewer clusters per group are not worth laying centroids out in tiles of 128: a guess, yet to be measured.
const STREAM_FROM: u32 = 32;

impl Way {
    /// For k clusters per group of points of type `T`. Few columns and clusters, whose sums a block has room for, go to the kernels that
    /// find sums beside labels, if the sums fit the integers that those have.
    pub fn of<T: Number>(gpu: &Gpu, facts: &Facts, k: u32) -> Self {
        let (d, words) = (facts.d as u32, Sums::words(facts));
        if !launch::SINGLE_TYPES.contains(&T::STORED) {
            return Self::Exact;
        }
        if gpu.tier.name != "portable" && tensor_geometry::<T>(gpu, 1, k, d).is_some() {
            let kernel = launch::group_tensor_kernel(facts.range.span(), launch::group_tensor_rows(facts.n as u64));
            if let Some(kernel) = kernel {
                return Self::Tensor(kernel);
            }
        }
        if launch::groups_fuse(k, d, words) {
            Self::Fused
        } else if gpu.tier.name != "portable" && k >= STREAM_FROM && can_stream_groups::<T>(facts, k as usize) {
            Self::Stream
        } else {
            Self::Single
        }
    }

    /// Whether sums are found beside the labels.
    fn fuses(self) -> bool {
        matches!(self, Self::Tensor(_) | Self::Fused)
    }
}

/// The grid of the kernels on Ampere's tensor cores; `None` if the shape is not for them.
fn tensor_geometry<T: Number>(gpu: &Gpu, tiles: u64, k: u32, d: u32) -> Option<Geometry> {
    launch::groups_tensor(tiles, k, d, T::STORED == "f32", gpu.shared_bytes)
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
        let way = Way::of::<T>(stream.gpu(), data.facts, k);
        let tensor_table = match way {
            Way::Tensor(_) => Some(table.cut(data, data.n(), launch::group_tensor_rows(data.n()))?),
            _ => None,
        };
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
            way,
            tensor_table,
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
        let sum_words = if self.way.fuses() { k as u64 * d as u64 * words as u64 } else { 0 };
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
        if self.way == Way::Stream {
            self.stream(most)?;
            let follows = std::mem::replace(&mut self.followed, true);
            return if follows {
                self.sums.follow(data, &self.before, &self.labels, None)
            } else {
                self.sums.add_up(data, &self.labels)
            };
        }
        let (exponent, words) = self.sums.format();
        let table = self.tensor_table.as_ref().unwrap_or(&self.table);
        let tiles = table.tiles;
        let mut arguments = vec![data.points.arg(), read(&self.centroids)];
        arguments.extend(table.arguments());
        arguments.extend([read(&self.states), write(&mut self.labels), write(&mut self.before)]);
        arguments.push(write(&mut self.changed));
        if self.way.fuses() {
            arguments.extend(self.sums.write());
            arguments.push(Arg::I32(exponent));
        }
        let (kernel, geometry) = match self.way {
            Way::Tensor(kernel) => {
                arguments.push(Arg::U32(words));
                let geometry = tensor_geometry::<T>(data.stream.gpu(), tiles, k, d);
                (kernel, geometry.expect("the way was chosen for this shape"))
            }
            Way::Fused if words == 1 => (&launch::GROUPS_FUSED_NARROW, launch::groups_fused(tiles, k, d, words)),
            Way::Fused => (&launch::GROUPS_FUSED_WIDE, launch::groups_fused(tiles, k, d, words)),
            Way::Single => (&launch::GROUPS_ASSIGN, launch::groups_assign(tiles, k, d)),
            Way::Exact | Way::Stream => (&launch::GROUPS_EXACT, launch::groups_exact(tiles)),
        };
        arguments.extend([table.rows(), Arg::U32(most), Arg::U32(k), Arg::U32(d)]);
        data.launch(kernel, geometry, &arguments)?;
        if self.way.fuses() { Ok(()) } else { self.sums.add_up(data, &self.labels) }
    }

    /// Labels by tensor cores.
    fn stream(&mut self, most: u32) -> Result<(), Error> {
        let (data, k) = (self.data, self.k);
        let streams = match &mut self.streams {
            Some(streams) => streams,
            none => {
                let mut streaming = Streaming::new(data, None)?;
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
