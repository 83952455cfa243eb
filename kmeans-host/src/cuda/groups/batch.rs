//! Problems of equal size: groups of one level, which keep their order.

use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch::{FAILED, REPEATED, STOPPED};
use kmeans_core::reference::EmptyClusterFound;
use kmeans_core::settings::Settings;
use ndarray::Array2;

use super::super::Number;
use super::super::assigner::uses_tensor_cores;
use super::super::driver::Stream;
use super::super::inertia::start_range;
use super::super::job::{Data, Place, copy_widened};
use super::inertia::Inertias;
use super::level::{Level, Way};
use super::{RESERVE, level_bytes, limits, rounds, seeding, table_of, unweighted};
use crate::Error;
use crate::engine::{Batch, BatchFit, BatchStart, Group, Outcome};
use crate::points::{Facts, Points};

/// So many multiplications a round keep a GPU busy with one problem: a guess, yet to be measured.
const ONE_BY_ONE_FROM: u64 = 1 << 31;

/// Problems whose points are in device memory.
pub struct CudaBatch<'a, T> {
    data: Data<'a, T>,
    problems: usize,
    k: usize,
}

impl<'a, T: Number> CudaBatch<'a, T> {
    /// Copies `points`, those of `problems` problems, to the device.
    pub fn load(stream: Stream, points: &'a Points<'_, T>, problems: usize, k: usize) -> Result<Self, Error> {
        let facts = points.facts();
        let bytes = facts.n as u64 * facts.d as u64 * size_of::<T>() as u64;
        stream.require(RESERVE + bytes + level_bytes::<T>(&stream, facts, problems as u64, k as u64))?;
        let array = copy_widened(&stream, points)?;
        Ok(Self { data: unweighted(stream, facts, Place::Own(array))?, problems, k })
    }

    /// Whether problems are better fitted together than one by one: not where they are large and tensor cores would find the
    /// labels of one of them, but not of groups.
    pub fn pays(stream: &Stream, facts: &Facts, problems: usize, k: usize) -> bool {
        let (tier, each) = (stream.gpu().tier.name, Facts { n: facts.n / problems, ..facts.clone() });
        let work = each.n as u64 * k as u64 * each.d as u64;
        let together = matches!(Way::of::<T>(stream.gpu(), facts, k as u32), Way::Tensor(_) | Way::Stream);
        work < ONE_BY_ONE_FROM || !uses_tensor_cores::<T>(tier, &each, k) || together
    }

    /// The problems as groups, whose draws are those of `seed`.
    fn groups(&self, seed: u64) -> Vec<Group> {
        let n = self.data.facts.n / self.problems;
        (0..self.problems).map(|problem| Group { places: problem * n..(problem + 1) * n, seed }).collect()
    }
}

impl<T: Number> Batch<T> for CudaBatch<'_, T> {
    fn lloyd(&mut self, start: &BatchStart<T>, settings: &Settings) -> Result<Vec<BatchFit<T>>, Error> {
        let (data, stream, k, d) = (&self.data, &self.data.stream, self.k, self.data.facts.d);
        let seed = if let BatchStart::Drawn { seed, .. } = start { *seed } else { 0 };
        let groups = self.groups(seed);
        let limits = limits(data, &groups, settings.stop)?;
        let mut level = Level::new(data, table_of(data, &groups)?, k as u32)?;
        let range = match start {
            BatchStart::Drawn { start, restart, .. } => {
                seeding::start(&mut level, &groups, *start, *restart, &mut || Ok(()))?;
                ExponentRange::ZERO
            }
            BatchStart::Given(centroids) => {
                let all: Vec<T> = groups.iter().flat_map(|_| centroids.iter().copied()).collect();
                level.centroids = stream.upload(&all)?;
                start_range(data.facts, centroids.view())
            }
        };
        let mut inertias = Inertias::new::<T, T>(data, &level.table, &level.sums, range)?;
        let rounds = rounds::run(&mut level, settings, &limits, Some(&mut inertias), &mut |_| Ok(()))?;
        rounds::finish(&mut level)?;
        inertias.add(data, (&level.sums, &level.centroids, k as u32), &level.states, STOPPED)?;
        let mut last = stream.array(groups.len())?;
        // Where labels repeated, the last record has it.
        inertias.round(data, &level.states, u32::MAX, &mut last)?;
        let last = stream.download(&last, groups.len())?;
        let centroids = stream.download(&level.centroids, level.clusters() * d)?;
        let counts = level.sums.counts(data)?;
        let labels = stream.download(&level.labels, data.facts.n)?;
        let n = data.facts.n / self.problems;
        let fits = groups.iter().enumerate().map(|(i, group)| {
            let iterations = rounds.iterations[i] as usize;
            if rounds.states[i] == FAILED {
                return Err(EmptyClusterFound { cluster: rounds.vacant[i] as usize, iteration: iterations });
            }
            let history: Vec<_> = rounds.history[..iterations].iter().map(|round| round[i]).collect();
            let inertia = match history.last() {
                Some(record) if rounds.states[i] == REPEATED => record.inertia,
                _ => last[i],
            };
            let own = centroids[i * k * d..(i + 1) * k * d].to_vec();
            let outcome = Outcome {
                centroids: Array2::from_shape_vec((k, d), own).expect("k·d values"),
                counts: counts[i * k..(i + 1) * k].to_vec(),
                inertia,
                converged: rounds.converged(i),
                finished: false,
                history,
            };
            debug_assert_eq!(group.places.len(), n);
            let first = (i * k) as u32;
            Ok((outcome, labels[group.places.clone()].iter().map(|label| label - first).collect()))
        });
        Ok(fits.collect())
    }
}
