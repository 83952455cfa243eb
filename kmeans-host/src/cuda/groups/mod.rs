//! Many groups of rows at once: the levels of a k-means tree ([`Groups`]), the problems of a [`batch`].
//!
//! A [`level`] has the groups' clusters, numbered through, and a [`table`] of their rows; [`seeding`] starts it, [`rounds`] runs
//! it, [`inertia`] says how good it is, [`order`] brings rows together by label. The host learns how many groups go on, every
//! few rounds, and at the end what it has to return.

mod batch;
mod inertia;
mod level;
mod order;
mod rounds;
mod seeding;
mod table;

use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch::RUNNING;
use kmeans_core::settings::Stop;

pub use self::batch::CudaBatch;
use self::inertia::Inertias;
use self::level::{Level, Way};
use self::order::{Order, Places};
pub use self::table::Table;
use super::Number;
use super::driver::{Array, Stream};
use super::job::{Data, Known, Place, copy_widened};
use super::stream::groups_bytes;
use super::sums::Sums;
use crate::Error;
use crate::engine::{Group, Groups, OnGroups, Recipe, Splits};
use crate::points::{Facts, Points};
use crate::progress::Control;

/// What the driver takes for itself: kernels, their local memory, rounding of allocations.
const RESERVE: u64 = 64 << 20;

/// Points in device memory, in an order that changes.
pub struct CudaGroups<'a, T> {
    data: Data<'a, T>,
    order: Order<T>,
}

impl<'a, T: Number> CudaGroups<'a, T> {
    /// Copies `points` to the device.
    pub fn load(stream: Stream, points: &'a Points<'_, T>) -> Result<Self, Error> {
        let facts = points.facts();
        let (n, d) = (facts.n as u64, facts.d as u64);
        stream.require(RESERVE + n * d * size_of::<T>() as u64 + Order::<T>::bytes(n, d))?;
        let array = copy_widened(&stream, points)?;
        let order = Order::new(&stream, facts.n, facts.d)?;
        Ok(Self { data: unweighted(stream, facts, Place::Own(array))?, order })
    }
}

/// Points whose weights do not count.
fn unweighted<'a, T: Number>(stream: Stream, facts: &'a Facts, points: Place<'a, T>) -> Result<Data<'a, T>, Error> {
    let weights = stream.zeros(1)?;
    Ok(Data { stream, facts, points, weights, known: Known::default() })
}

/// Bytes on the device for a level of `groups` groups of k clusters, beyond the points and their order.
fn level_bytes<T: Number>(stream: &Stream, facts: &Facts, groups: u64, k: u64) -> u64 {
    let (n, d, size) = (facts.n as u64, facts.d as u64, size_of::<T>() as u64);
    let clusters = groups * k + 1;
    // Labels now and before; D to the nearest, while seeding, or to the own centroid of rows.
    let rows = 8 * n + 8 * n;
    // Centroids, twice while they are gathered; counts, movements, inertias, picks; trials.
    let own = clusters * (2 * d * size + 48) + groups * (128 + 16 * kmeans_core::seeding::trials(k as usize) as u64);
    let tables = Table::bytes(n, groups) + Table::bytes(n, clusters);
    let inertias = Inertias::bytes::<T>(facts, clusters) + Inertias::bytes::<f64>(facts, groups);
    let way = match Way::of::<T>(stream.gpu(), facts, k as u32) {
        Way::Stream => 4 * n + Table::bytes(n, groups) + groups_bytes::<T>(facts, groups as usize, k as usize),
        Way::Tensor(_) => Table::bytes(n, groups),
        Way::Fused | Way::Single | Way::Exact => 0,
    };
    way + rows + own + tables + inertias + Sums::bytes::<T>(facts, clusters as usize) + Places::bytes(n, groups, k)
}

/// Where groups begin and end, on the device.
fn table_of<T: Number>(data: &Data<'_, T>, groups: &[Group]) -> Result<Table, Error> {
    let ranges: Vec<u64> = groups.iter().flat_map(|g| [g.places.start as u64, g.places.end as u64]).collect();
    Table::new(data, data.stream.upload(&ranges)?, groups.len() as u32, data.n())
}

/// The means of each group's points, `[groups, d]`, rounded to `C`, and Σ |x − mean|² of each, the mean taken as rounded.
fn means<T: Number, C: Number>(data: &Data<'_, T>, groups: &[Group]) -> Result<(Array<C>, Vec<f64>), Error> {
    let mut level = Level::new(data, table_of(data, groups)?, 1)?;
    let stream = &data.stream;
    // With one cluster, the only label is that of the group.
    let seeds = stream.zeros(groups.len())?;
    level.label_randomly(&seeds, 0)?;
    let old = stream.zeros::<C>((groups.len() + 1) * data.facts.d)?;
    let mut means = stream.array::<C>((groups.len() + 1) * data.facts.d)?;
    level.sums.divide(data, &old, &mut means)?;
    let mut inertias = Inertias::new::<T, C>(data, &level.table, &level.sums, ExponentRange::ZERO)?;
    inertias.add(data, (&level.sums, &means, 1), &level.states, RUNNING)?;
    let mut rounded = stream.array(groups.len())?;
    inertias.round(data, &level.states, RUNNING, &mut rounded)?;
    Ok((means, stream.download(&rounded, groups.len())?))
}

/// What each group's stop rule compares with.
fn limits<T: Number>(data: &Data<'_, T>, groups: &[Group], stop: Stop) -> Result<Vec<f64>, Error> {
    let size = |group: &Group| group.places.len() as f64;
    Ok(match stop {
        Stop::RelativeTolerance(tolerance) => {
            // `kmeans_core::reference::mean_variance` is the inertia of means rounded to f64, over n·d.
            let scatters = means::<T, f64>(data, groups)?.1;
            let d = data.facts.d as f64;
            groups.iter().zip(scatters).map(|(group, scatter)| tolerance * (scatter / (size(group) * d))).collect()
        }
        Stop::Movement(limit) => vec![limit; groups.len()],
        Stop::LabelsChanged(share) => groups.iter().map(|group| share * size(group)).collect(),
        _ => vec![0.0; groups.len()],
    })
}

/// Anything but going on ends the work.
fn go_on(answer: Control) -> Result<(), Error> {
    if answer == Control::Continue { Ok(()) } else { Err(Error::Cancelled { iterations: 0 }) }
}

impl<T: Number> Groups<T> for CudaGroups<'_, T> {
    fn mean(&mut self) -> Result<(Vec<T>, f64), Error> {
        let all = [Group { places: 0..self.data.facts.n, seed: 0 }];
        self.data.stream.require(level_bytes::<T>(&self.data.stream, self.data.facts, 1, 1))?;
        let (means, inertias) = means::<T, T>(&self.data, &all)?;
        Ok((self.data.stream.download(&means, self.data.facts.d)?, inertias[0]))
    }

    fn split(&mut self, groups: &[Group], recipe: &Recipe, observe: OnGroups<'_>) -> Result<Splits<T>, Error> {
        let (data, k) = (&self.data, recipe.k);
        if groups.is_empty() {
            let (centroids, counts, inertias) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Splits { centroids, counts, inertias, iterations: Vec::new(), converged: Vec::new() });
        }
        // Numbers of clusters are labels.
        if groups.len().saturating_mul(k) >= u32::MAX as usize {
            return Err(Error::TooManyClusters { k: groups.len().saturating_mul(k) });
        }
        let (stream, settings) = (&data.stream, &recipe.settings);
        stream.require(level_bytes::<T>(stream, data.facts, groups.len() as u64, k as u64))?;
        let total = settings.max_iter.saturating_add(2);
        let limits = limits(data, groups, settings.stop)?;
        let mut level = Level::new(data, table_of(data, groups)?, k as u32)?;
        seeding::start(&mut level, groups, recipe.start, 0, &mut || go_on(observe(0, total)))?;
        let rounds = rounds::run(&mut level, settings, &limits, None, &mut |round| go_on(observe(round + 1, total)))?;
        rounds.check()?;
        rounds::finish(&mut level)?;
        let places = Places::new(&level)?;
        let (clusters, d) = (level.clusters(), data.facts.d);
        go_on(observe(total, total))?;
        let Level { sums, centroids, .. } = level;
        // From here on nothing is left to go wrong but the device.
        let stream = data.stream.clone();
        // These copies end long before what follows, so that the host takes them over meanwhile.
        let (own_centroids, own_counts) = (stream.fetch(&centroids)?, sums.fetch_counts(&stream)?);
        self.order.carry(&stream, &mut self.data.points, &places, (self.data.facts.n, d))?;
        let data = &self.data;
        // Each cluster is a group of one cluster now.
        let table = Table::new(data, places.children, clusters as u32, data.n())?;
        let states = stream.zeros(clusters)?;
        let mut inertias = Inertias::new::<T, T>(data, &table, &sums, ExponentRange::ZERO)?;
        inertias.add(data, (&sums, &centroids, 1), &states, RUNNING)?;
        let mut rounded = stream.array(clusters)?;
        inertias.round(data, &states, RUNNING, &mut rounded)?;
        let inertias = stream.fetch(&rounded)?;
        let (centroids, mut counts) = (own_centroids.wait()?, own_counts.wait()?);
        counts.truncate(clusters);
        Ok(Splits {
            centroids,
            counts,
            inertias: inertias.wait()?,
            converged: (0..groups.len()).map(|group| rounds.converged(group)).collect(),
            iterations: rounds.iterations,
        })
    }

    fn order(&mut self) -> Result<Vec<usize>, Error> {
        let rows = self.data.stream.download(&self.order.rows, self.data.facts.n)?;
        Ok(rows.into_iter().map(|row| row as usize).collect())
    }
}
