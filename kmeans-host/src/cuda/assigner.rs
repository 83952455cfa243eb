//! Labels: which kernel finds them.

use std::cell::Cell;

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
    /// The points as tensor cores read them.
    streaming: Option<Streaming<T>>,
    /// Whether rounds prune, and the bounds of those that have.
    policy: Policy,
    bounds: Option<Bounds<T>>,
}

/// Which kernels find labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Many rounds in one launch, for points that have such a kernel; else as the table says.
    Rounds,
    /// Tensor cores, past which tiles of centroids stream.
    Stream,
    /// Rows of few columns in registers.
    Narrow,
    /// Multiplications in `f32`, settled by D.
    Filtered,
    /// D in tiles of shared memory.
    Shared,
    /// D, a thread per row.
    Direct,
}

thread_local! {
    static CHOSEN: Cell<Option<Method>> = const { Cell::new(None) };
}

/// The method that [`with_method`] chose for this thread.
pub fn chosen() -> Option<Method> {
    CHOSEN.get()
}

/// What `work` returns, whose fits on GPUs find labels by `method` where they are begun by this thread and there are kernels
/// for the points: for comparisons, which the table of methods comes from.
#[cfg(feature = "kernels")]
pub fn with_method<R>(method: Method, work: impl FnOnce() -> R) -> R {
    /// Puts back what was chosen before, also when `work` panics.
    struct Before(Option<Method>);
    impl Drop for Before {
        fn drop(&mut self) {
            CHOSEN.set(self.0);
        }
    }
    let _before = Before(CHOSEN.replace(Some(method)));
    work()
}

/// Fewer multiplications per row than this are not worth laying centroids out in tiles. Of 1 M rows that pays from 256 on, of 65,536 from 1,024
/// (docs/kernels.md, "Which way").
const STREAM_FROM: u64 = 512;
/// Fewer multiplications per row than this are not worth tiles in shared memory (the same).
const TILES_FROM: u64 = 128;
/// When streams prune. A round that prunes has three kernels and two copies more, some 20 µs, and its streaming kernel takes perhaps a third
/// longer per row. Tried from the third round on, whatever changed, a fit of points without clusters took a fourth longer than without
/// (docs/kernels.md); the numbers are guesses but for that.
const PRUNE: Thresholds = Thresholds { work: 1 << 34, rounds: 2, eighths: 5, patience: 32, calm: 32 };

/// The method for points of type `T` and k clusters. docs/kernels.md has times of each.
fn method<T: Number>(tier: &str, facts: &Facts, k: usize, aligned: bool) -> Method {
    let work = k as u64 * facts.d as u64;
    let single = launch::SINGLE_TYPES.contains(&T::STORED);
    let narrow = single && facts.d <= launch::NARROW_COLUMNS as usize;
    let streams = tier != "portable" && aligned && can_stream::<T>(facts, k);
    match chosen() {
        Some(Method::Stream) if streams => return Method::Stream,
        Some(Method::Narrow) if narrow => return Method::Narrow,
        Some(Method::Filtered) if single => return Method::Filtered,
        Some(method @ (Method::Shared | Method::Direct)) => return method,
        _ => {}
    }
    match tier {
        _ if narrow => Method::Narrow,
        "hopper" | "ampere" if streams && work >= STREAM_FROM => Method::Stream,
        _ if work < TILES_FROM => Method::Direct,
        _ if single => Method::Filtered,
        _ => Method::Shared,
    }
}

/// Whether labels of points of type `T` are found by tensor cores.
pub fn uses_tensor_cores<T: Number>(tier: &str, facts: &Facts, k: usize) -> bool {
    method::<T>(tier, facts, k, true) == Method::Stream
}

impl<T: Number> Assigner<T> {
    /// Bytes on the device for points with these facts and k clusters, on any tier.
    pub fn bytes(facts: &Facts, k: usize) -> u64 {
        if can_stream::<T>(facts, k) { stream::bytes::<T>(facts, k) + Bounds::<T>::bytes(facts, k) } else { 0 }
    }

    /// For points that nothing is known of yet.
    pub fn new() -> Self {
        Self { streaming: None, policy: Policy::new(PRUNE), bounds: None }
    }

    /// Notes how many of n labels changed in a round.
    pub fn note_changes(&mut self, changed: u64, n: u64) {
        self.policy.note_changes(changed, n);
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
            Method::Narrow => (&launch::ASSIGN_NARROW, launch::assign_narrow(n, k as u32, d)),
            Method::Filtered => (&launch::ASSIGN_FILTERED, launch::assign_filtered(n)),
            Method::Shared => (&launch::ASSIGN_TILED, launch::assign_tiled(n, Data::<T>::SIZE)),
            Method::Direct | Method::Rounds => (&launch::ASSIGN_DIRECT, launch::ASSIGN_DIRECT.thread_each(n)),
        };
        let sizes = [Arg::U64(n), Arg::U32(k as u32), Arg::U32(d)];
        let [n, k, d] = sizes;
        data.launch(kernel, geometry, &[data.points.arg(), read(centroids), write(labels), n, k, d])
    }

    /// The label of every point by tensor cores; on Hopper, of those that bounds leave open if the round prunes.
    fn stream(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        if data.stream.gpu().tier.name != "hopper" || !self.policy.begins(data.facts, k)? {
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
        self.streaming_about(data, None)
    }

    /// The same; those that have yet to be rounded are, about `centre`, or about their mean.
    pub fn streaming_about(&mut self, data: &Data<'_, T>, centre: Option<&[T]>) -> Result<&mut Streaming<T>, Error> {
        match &mut self.streaming {
            Some(streaming) => Ok(streaming),
            none => Ok(none.insert(Streaming::new(data, centre)?)),
        }
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
        assert_eq!(method::<f16>("ampere", &facts(128), 1024, true), Method::Stream);
        assert_eq!(method::<f32>("ampere", &facts(128), 1024, true), Method::Stream);
        assert_eq!(method::<f16>("ampere", &facts(128), 1024, false), Method::Filtered);
        assert_eq!(method::<f32>("portable", &facts(75), 80, true), Method::Filtered);
        assert_eq!(method::<f32>("hopper", &facts(3), 8, true), Method::Narrow);
        assert_eq!(method::<f32>("hopper", &facts(70_000), 8, true), Method::Filtered);
        assert_eq!(method::<f64>("hopper", &facts(128), 1024, true), Method::Shared);
        assert_eq!(method::<f64>("portable", &facts(3), 8, true), Method::Direct);
    }
}
