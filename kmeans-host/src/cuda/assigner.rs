//! Labels: which kernel finds them.

use kmeans_core::launch;

use super::Number;
use super::driver::{Arg, Array, read, write};
use super::job::Data;
use super::pruned::{Bounds, Policy, Thresholds};
use super::stream::{self, Streaming, can_stream};
use crate::Error;
use crate::points::Facts;

/// How the labels of a set of points are found. What depends on the points alone is kept from call to call.
pub struct Assigner<T> {
    /// The squared norms of the points, for Ampere's tensor cores.
    norms: Option<Norms>,
    /// For Hopper's.
    streaming: Option<Streaming<T>>,
    /// Whether rounds prune, and the bounds of those that have.
    policy: Policy,
    bounds: Option<Bounds<T>>,
}

/// Which kernels find labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// Hopper's tensor cores.
    Stream,
    /// Ampere's tensor cores.
    Tiles,
    /// Rows of few columns in registers.
    Narrow,
    /// Multiplications in `f32`, settled by D.
    Filtered,
    /// D in tiles of shared memory.
    Shared,
    /// D, a thread per row.
    Direct,
}

/// Fewer multiplications per row than this are not worth laying centroids out in tiles: a guess, yet to be measured.
const STREAM_FROM: u64 = 512;
/// Fewer multiplications per row than this are not worth tiles in shared memory: a guess, yet to be measured.
const TILES_FROM: u64 = 256;
/// When streams prune. A round that prunes has three kernels and two copies more, some 20 µs, and its streaming kernel takes perhaps a third
/// longer per row: guesses, yet to be measured.
const PRUNE: Thresholds = Thresholds { work: 1 << 34, rounds: 2, eighths: 5, patience: 32 };

/// The method for points of type `T` and k clusters. docs/kernels.md has times of each.
fn method<T: Number>(tier: &str, facts: &Facts, k: usize, aligned: bool) -> Method {
    let work = k as u64 * facts.d as u64;
    let single = launch::SINGLE_TYPES.contains(&T::STORED);
    if single && facts.d <= launch::NARROW_COLUMNS as usize {
        return Method::Narrow;
    }
    match tier {
        "hopper" if aligned && work >= STREAM_FROM && can_stream::<T>(facts, k) => Method::Stream,
        "hopper" | "ampere" if aligned && work >= TILES_FROM && launch::HALF_TYPES.contains(&T::STORED) => {
            Method::Tiles
        }
        _ if work < TILES_FROM => Method::Direct,
        _ if single => Method::Filtered,
        _ => Method::Shared,
    }
}

/// Whether labels of points of type `T` are found by tensor cores.
pub fn uses_tensor_cores<T: Number>(tier: &str, facts: &Facts, k: usize) -> bool {
    matches!(method::<T>(tier, facts, k, true), Method::Stream | Method::Tiles)
}

/// Squared norms of the rows of a matrix, and the bits of the largest.
struct Norms {
    norms: Array<f32>,
    largest: Array<u32>,
}

impl Norms {
    /// Of the `rows` rows of `matrix`.
    fn of<T: Number>(data: &Data<'_, T>, matrix: Arg<'_>, rows: u64) -> Result<Self, Error> {
        let mut norms = data.stream.array(rows as usize)?;
        let mut largest = data.stream.zeros(1)?;
        let arguments = [matrix, write(&mut norms), write(&mut largest), Arg::U64(rows), Arg::U32(data.d())];
        data.launch(&launch::NORMS, launch::NORMS.thread_each(rows), &arguments)?;
        Ok(Self { norms, largest })
    }
}

impl<T: Number> Assigner<T> {
    /// Bytes on the device for points with these facts and k clusters, on any tier.
    pub fn bytes(facts: &Facts, k: usize) -> u64 {
        let norms = 4 * (facts.n as u64 + k as u64 + 2);
        if !can_stream::<T>(facts, k) {
            return norms;
        }
        norms.max(stream::bytes::<T>(facts, k) + Bounds::<T>::bytes(facts, k))
    }

    /// For points that nothing is known of yet.
    pub fn new() -> Self {
        Self { norms: None, streaming: None, policy: Policy::new(PRUNE), bounds: None }
    }

    /// The label of every point for `centroids`, `[k, d]`.
    pub fn assign(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let (n, d) = (data.n(), data.d());
        let (kernel, geometry) = match method::<T>(data.stream.gpu().tier.name, data.facts, k, data.points.is_aligned())
        {
            Method::Stream => return self.stream(data, centroids, k, labels),
            Method::Tiles => return self.assign_tiles(data, centroids, k, labels),
            Method::Narrow => (&launch::ASSIGN_NARROW, launch::assign_narrow(n, k as u32, d)),
            Method::Filtered => (&launch::ASSIGN_FILTERED, launch::assign_filtered(n)),
            Method::Shared => (&launch::ASSIGN_TILED, launch::assign_tiled(n, Data::<T>::SIZE)),
            Method::Direct => (&launch::ASSIGN_DIRECT, launch::ASSIGN_DIRECT.thread_each(n)),
        };
        let sizes = [Arg::U64(n), Arg::U32(k as u32), Arg::U32(d)];
        let [n, k, d] = sizes;
        data.launch(kernel, geometry, &[data.points.arg(), read(centroids), write(labels), n, k, d])
    }

    /// The label of every point by Hopper's tensor cores, of those that bounds leave open if the round prunes.
    fn stream(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        if !self.policy.begins(data.facts, k)? {
            return self.streaming(data)?.assign(data, centroids, k, labels);
        }
        let mut bounds = match self.bounds.take() {
            Some(bounds) if bounds.k() == k => bounds,
            _ => Bounds::new(data, centroids, k)?,
        };
        self.streaming(data)?.assign_open(data, centroids, &mut bounds, labels)?;
        self.policy.began(&data.stream, &bounds)?;
        self.bounds = Some(bounds);
        Ok(())
    }

    /// The points as streaming takes them, rounded where need be.
    pub fn streaming(&mut self, data: &Data<'_, T>) -> Result<&mut Streaming<T>, Error> {
        match &mut self.streaming {
            Some(streaming) => Ok(streaming),
            none => Ok(none.insert(Streaming::new(data)?)),
        }
    }

    /// The same by Ampere's tensor cores.
    fn assign_tiles(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let norms = match &self.norms {
            Some(norms) => norms,
            None => self.norms.insert(Norms::of(data, data.points.arg(), data.n())?),
        };
        let c_norms = Norms::of(data, read(centroids), k as u64)?;
        let arguments = [
            data.points.arg(),
            read(centroids),
            read(&norms.norms),
            read(&c_norms.norms),
            read(&c_norms.largest),
            write(labels),
            Arg::U64(data.n()),
            Arg::U32(k as u32),
            Arg::U32(data.d()),
        ];
        data.launch(&launch::ASSIGN_MMA, launch::assign_mma(data.n()), &arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bf16, f16};

    #[test]
    fn each_tier_has_a_method_for_everything() {
        let facts = |d| Facts::new((1000, d), None).unwrap();
        assert_eq!(method::<f32>("hopper", &facts(128), 1024, true), Method::Stream);
        assert_eq!(method::<bf16>("hopper", &facts(128), 1024, true), Method::Stream);
        assert_eq!(method::<f16>("ampere", &facts(128), 1024, true), Method::Tiles);
        assert_eq!(method::<f16>("ampere", &facts(128), 1024, false), Method::Filtered);
        assert_eq!(method::<f32>("portable", &facts(75), 80, true), Method::Filtered);
        assert_eq!(method::<f32>("hopper", &facts(3), 8, true), Method::Narrow);
        assert_eq!(method::<f32>("hopper", &facts(70_000), 8, true), Method::Filtered);
        assert_eq!(method::<f64>("hopper", &facts(128), 1024, true), Method::Shared);
        assert_eq!(method::<f64>("portable", &facts(3), 8, true), Method::Direct);
    }
}
