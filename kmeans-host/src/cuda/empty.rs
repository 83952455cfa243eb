//! Empty clusters take over the farthest points: [`kmeans_core::reference::fill_empty_clusters`], on the device.

use kmeans_core::launch;

use super::Number;
use super::driver::{Arg, Array, read, write};
use super::job::Data;
use super::sums::Sums;
use crate::Error;

/// The clusters without members, and how many.
pub struct Empty {
    list: Array<u32>,
}

impl Empty {
    /// Room for the list of k clusters.
    pub fn new<T: Number>(data: &Data<'_, T>, k: usize) -> Result<Self, Error> {
        Ok(Self { list: data.stream.array(k)? })
    }

    /// Lists the clusters without members and writes how many they are to `count`.
    pub fn find<T: Number>(&mut self, data: &Data<'_, T>, sums: &Sums, count: Arg<'_>) -> Result<(), Error> {
        let members = sums.members();
        let arguments = [read(members), write(&mut self.list), count, Arg::U32(members.len() as u32)];
        data.launch(&launch::EMPTY_LIST, launch::empty_list(), &arguments)
    }

    /// The first cluster of the list.
    pub fn first<T: Number>(&self, data: &Data<'_, T>) -> Result<usize, Error> {
        Ok(data.stream.download(&self.list, 1)?[0] as usize)
    }

    /// Gives each of the `count` clusters of the list the farthest point that its cluster can spare.
    pub fn fill<T: Number>(
        &self,
        data: &Data<'_, T>,
        count: u32,
        sums: &Sums,
        centroids: &Array<T>,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let (n, stream) = (data.n(), &data.stream);
        let mut distances = data.own_distances(centroids, labels)?;
        if data.facts.weights.is_some() {
            let arguments = [write(&mut distances), read(&data.weights), Arg::U64(n)];
            data.launch(&launch::EMPTY_MASK, launch::EMPTY_MASK.thread_each(n), &arguments)?;
        }
        let mut members = stream.array::<u64>(sums.members().len())?;
        stream.copy(sums.members(), 0..sums.members().len(), &mut members, 0)?;
        let geometry = launch::empty_farthest(n);
        let blocks = geometry.grid[0];
        let (mut best, mut rows) = (stream.array::<u64>(blocks as usize)?, stream.array::<u64>(blocks as usize)?);
        for index in 0..count {
            let arguments =
                [read(&distances), read(labels), read(&members), write(&mut best), write(&mut rows), Arg::U64(n)];
            data.launch(&launch::EMPTY_FARTHEST, geometry, &arguments)?;
            let arguments = [
                read(&best),
                read(&rows),
                read(&self.list),
                write(labels),
                write(&mut members),
                Arg::U32(blocks),
                Arg::U32(index),
            ];
            data.launch(&launch::EMPTY_MOVE, launch::empty_move(), &arguments)?;
        }
        Ok(())
    }
}
