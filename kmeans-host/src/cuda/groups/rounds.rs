//! Lloyd's iterations of a level: the host queues a few rounds, and a few more before it reads how many groups went on after
//! the first of them, so that the device does not wait for it.

use std::collections::VecDeque;
use std::ops::Range;

use kmeans_core::launch::{self, FAILED, RUNNING, STOPPED};
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};

use super::super::Number;
use super::super::driver::{Arg, Array, read, write, write_parts};
use super::inertia::Inertias;
use super::level::Level;
use crate::Error;

/// Rounds of a record. Two records are queued before the host looks whether any group goes on: rounds after the last group is
/// done are for nothing.
const TOGETHER: usize = 2;

/// What the rounds leave for each group.
pub struct Rounds {
    /// Rounds.
    pub iterations: Vec<u32>,
    /// `kmeans_core::launch::RUNNING` and its like.
    pub states: Vec<u32>,
    /// One entry per round and group, `[rounds][groups]`, if it was asked for. Those of groups that were done are of no use.
    pub history: Vec<Vec<Iteration>>,
    /// The empty cluster of each group that failed.
    pub vacant: Vec<u32>,
}

impl Rounds {
    /// An error if a cluster is empty: of the earliest round, in the first group where that happened.
    pub fn check(&self) -> Result<(), Error> {
        let failed = (0..self.states.len()).filter(|&group| self.states[group] == FAILED);
        // The first of equals.
        match failed.min_by_key(|&group| self.iterations[group]) {
            None => Ok(()),
            Some(group) => Err(Error::EmptyCluster {
                cluster: self.vacant[group] as usize,
                iteration: self.iterations[group] as usize,
            }),
        }
    }

    /// Whether a stop rule ended the rounds of a group.
    pub fn converged(&self, group: usize) -> bool {
        self.states[group] != RUNNING
    }
}

/// Where words of a record lie, of up to [`TOGETHER`] rounds: how many groups go on after each, in 32 bits, then inertias,
/// movements and changes, `[TOGETHER, groups]` each.
#[derive(Clone, Copy)]
struct Layout {
    groups: usize,
}

impl Layout {
    fn inertias(self, slot: usize) -> Range<usize> {
        self.part(0, slot)
    }

    fn movements(self, slot: usize) -> Range<usize> {
        self.part(1, slot)
    }

    fn changes(self, slot: usize) -> Range<usize> {
        self.part(2, slot)
    }

    fn part(self, part: usize, slot: usize) -> Range<usize> {
        let first = TOGETHER + (part * TOGETHER + slot) * self.groups;
        first..first + self.groups
    }

    fn len(self) -> usize {
        TOGETHER + 3 * TOGETHER * self.groups
    }

    /// The record of each group of a round.
    fn round(self, words: &[u64], slot: usize) -> Vec<Iteration> {
        let (inertias, movements) = (&words[self.inertias(slot)], &words[self.movements(slot)]);
        let records = inertias.iter().zip(movements).zip(&words[self.changes(slot)]);
        let record = |((&inertia, &movement), &labels_changed)| Iteration {
            inertia: f64::from_bits(inertia),
            movement: f64::from_bits(movement),
            labels_changed,
        };
        records.map(record).collect()
    }
}

/// What rounds write beside the level's own arrays.
struct Records {
    moved: Array<f64>,
    limits: Array<f64>,
    iterations: Array<u32>,
    vacant: Array<u32>,
    /// For the host, of rounds that are queued: [`Layout`]. They take turns.
    records: [Array<u64>; 2],
    layout: Layout,
    /// Limbs where there are none.
    none: Array<u64>,
    /// D of rows, once there is a use for it.
    distances: Option<Array<f64>>,
}

/// [`kmeans_core::reference::lloyd`] for every group of a level, but for the labels of the last centroids. `limits`: what each
/// group's rule compares with, the threshold of the tolerance, the limit on movement or on labels changed. `inertias`: whether
/// records are to have them. `observe` is told the rounds that are done; an error ends the work.
pub fn run<T: Number>(
    level: &mut Level<'_, '_, T>,
    settings: &Settings,
    limits: &[f64],
    mut inertias: Option<&mut Inertias>,
    observe: &mut dyn FnMut(usize) -> Result<(), Error>,
) -> Result<Rounds, Error> {
    let (stream, groups) = (&level.data.stream, level.table.groups as usize);
    let layout = Layout { groups };
    let mut records = Records {
        moved: stream.array(level.clusters())?,
        limits: stream.upload(limits)?,
        iterations: stream.zeros(groups)?,
        vacant: stream.zeros(groups)?,
        records: [stream.array(layout.len())?, stream.array(layout.len())?],
        layout,
        none: stream.array(1)?,
        distances: None,
    };
    let mut history = Vec::new();
    let (mut queued, mut done, mut turn) = (0, 0, 0);
    let mut incoming = VecDeque::new();
    loop {
        while incoming.len() < 2 && queued < settings.max_iter {
            let rounds = TOGETHER.min(settings.max_iter - queued);
            stream.clear(&mut records.records[turn])?;
            for slot in 0..rounds {
                records.round(level, settings, inertias.as_deref_mut(), queued + slot == 0, (turn, slot))?;
            }
            incoming.push_back((rounds, stream.fetch(&records.records[turn])?));
            queued += rounds;
            turn = 1 - turn;
        }
        let Some((rounds, record)) = incoming.pop_front() else { break };
        let words = record.wait()?;
        if inertias.is_some() {
            history.extend((0..rounds).map(|slot| layout.round(&words, slot)));
        }
        done += rounds;
        observe(done)?;
        if words[..rounds].contains(&0) {
            break;
        }
    }
    let (iterations, states) = (stream.fetch(&records.iterations)?, stream.fetch(&level.states)?);
    let vacant = stream.fetch(&records.vacant)?;
    Ok(Rounds { iterations: iterations.wait()?, states: states.wait()?, history, vacant: vacant.wait()? })
}

impl Records {
    /// One round, without a look at what came out; its record is a slot of one of the two.
    fn round<T: Number>(
        &mut self,
        level: &mut Level<'_, '_, T>,
        settings: &Settings,
        mut inertias: Option<&mut Inertias>,
        first: bool,
        place: (usize, usize),
    ) -> Result<(), Error> {
        level.label(RUNNING)?;
        if let Some(inertias) = &mut inertias {
            inertias.add(level.data, (&level.sums, &level.centroids, level.k), &level.states, RUNNING)?;
        }
        if settings.empty == EmptyCluster::Farthest {
            self.fill(level, first)?;
        }
        level.update(&mut self.moved, first)?;
        self.decide(level, settings, inertias.as_deref(), first, place)
    }

    /// Gives empty clusters the farthest points of their groups.
    fn fill<T: Number>(&mut self, level: &mut Level<'_, '_, T>, first: bool) -> Result<(), Error> {
        let (data, k, d) = (level.data, Arg::U32(level.k), Arg::U32(level.data.d()));
        let (groups, tiles) = (level.table.groups, level.table.tiles);
        let distances = match &mut self.distances {
            Some(distances) => distances,
            none => none.insert(data.stream.array(data.facts.n)?),
        };
        let [_, counts] = level.sums.read();
        let arguments =
            [counts, read(&level.states), read(&level.changed), write(&mut self.vacant), Arg::U32(first as u32), k];
        let kernel = &launch::GROUPS_VACANT;
        data.launch(kernel, launch::groups_tiles(kernel, groups as u64), &arguments)?;
        let mut arguments = vec![data.points.arg(), read(&level.centroids), read(&level.labels)];
        arguments.extend(level.table.arguments());
        arguments.extend([read(&self.vacant), write(distances), level.table.rows(), d]);
        let kernel = &launch::GROUPS_DISTANCES;
        data.launch(kernel, launch::groups_tiles(kernel, tiles), &arguments)?;
        let (exponent, words) = level.sums.format();
        let mut arguments = vec![data.points.arg(), read(distances), level.table.ranges(), read(&self.vacant)];
        arguments.extend([read(&level.before), write(&mut level.labels)]);
        arguments.extend(level.sums.write());
        arguments.extend([write(&mut level.moved_again), Arg::I32(exponent), Arg::U32(words), k, d]);
        let kernel = match words {
            1 => &launch::GROUPS_FILL_NARROW,
            2 => &launch::GROUPS_FILL_WIDE,
            _ => &launch::GROUPS_FILL_LIMBS,
        };
        data.launch(kernel, launch::groups_fill(groups), &arguments)
    }

    /// Writes each group's record and decides whether it goes on.
    fn decide<T: Number>(
        &mut self,
        level: &mut Level<'_, '_, T>,
        settings: &Settings,
        inertias: Option<&Inertias>,
        first: bool,
        (turn, slot): (usize, usize),
    ) -> Result<(), Error> {
        let groups = level.table.groups as usize;
        let rule = match settings.stop {
            Stop::RelativeTolerance(_) => launch::BY_TOLERANCE,
            Stop::Movement(_) => launch::BY_MOVEMENT,
            Stop::LabelsChanged(_) => launch::BY_CHANGES,
            _ => launch::BY_NOTHING,
        };
        let (limbs, exponent, words) = match inertias {
            Some(inertias) => (read(&inertias.sums), inertias.limbs.exponent, inertias.limbs.words as u32),
            None => (read(&self.none), 0, 0),
        };
        let layout = self.layout;
        let parts = [slot..slot + 1, layout.inertias(slot), layout.movements(slot), layout.changes(slot)];
        let [running, found, movements, changes] = write_parts(&mut self.records[turn], parts);
        let [_, counts] = level.sums.read();
        let arguments = [
            level.table.ranges(),
            read(&level.changed),
            read(&level.moved_again),
            counts,
            read(&self.moved),
            limbs,
            read(&self.limits),
            write(&mut level.states),
            write(&mut self.iterations),
            write(&mut self.vacant),
            found.cast::<f64>(),
            movements.cast::<f64>(),
            changes,
            running.cast::<u32>(),
            Arg::U32(rule),
            Arg::U32((settings.empty == EmptyCluster::Error) as u32),
            Arg::I32(exponent),
            Arg::U32(words),
            Arg::U32(first as u32),
            Arg::U32(level.k),
        ];
        level.data.launch(&launch::GROUPS_DECIDE, launch::groups_decide(groups as u32), &arguments)
    }
}

/// Labels, sums and counts of the groups whose labels are not those of their centroids: all but the groups whose labels
/// repeated.
pub fn finish<T: Number>(level: &mut Level<'_, '_, T>) -> Result<(), Error> {
    level.label(STOPPED)
}
