//! Starting centroids of many groups.

use kmeans_core::launch;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{self, trials, vacancy_row};
use kmeans_core::tree::Start;

use super::super::Number;
use super::super::driver::{Arg, Array, read, write};
use super::level::Level;
use crate::Error;
use crate::engine::Group;

/// Instead of a row: there was nothing to draw from.
const NO_ROW: u64 = u64::MAX;
/// Steps of k-means++ between two looks at whether to go on.
const STEPS_AHEAD: usize = 16;

/// Chooses the centroids of every group, drawn by its seed and `restart`. An error of `observe` ends the work.
pub fn start<T: Number>(
    level: &mut Level<'_, '_, T>,
    groups: &[Group],
    start: Start,
    restart: u32,
    observe: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<(), Error> {
    let k = level.k as usize;
    let rows = match start {
        Start::FirstK => rows_of(groups, |_, _| (0..k).collect()),
        Start::EvenlySpaced => rows_of(groups, |n, _| seeding::evenly_spaced(n, k)),
        Start::RandomPoints => rows_of(groups, |n, seed| seeding::random_rows(n, k, &Random::new(seed, restart))),
        Start::KMeansPlusPlus => plus_plus(level, groups, restart, observe)?,
        // The only one that is not of rows: means of random labels, and rows where no row has a label.
        _ => rows_of(groups, |n, seed| (0..k).map(|c| vacancy_row(c, n, &Random::new(seed, restart))).collect()),
    };
    let rows = level.data.stream.upload(&rows)?;
    level.start_at(&rows)?;
    if start == Start::RandomLabels {
        let seeds: Vec<u64> = groups.iter().map(|group| group.seed).collect();
        let seeds = level.data.stream.upload(&seeds)?;
        level.label_randomly(&seeds, restart)?;
        let mut moved = level.data.stream.array(level.clusters())?;
        level.update(&mut moved, true)?;
    }
    Ok(())
}

/// k rows of each group, chosen by its size and its seed, as rows of the whole.
fn rows_of(groups: &[Group], choose: impl Fn(usize, u64) -> Vec<usize>) -> Vec<u64> {
    let of = |group: &Group| {
        let first = group.places.start;
        choose(group.places.len(), group.seed).into_iter().map(move |row| (first + row) as u64)
    };
    groups.iter().flat_map(of).collect()
}

/// What steps of k-means++ work with.
struct Steps {
    trials: u32,
    restart: u32,
    seeds: Array<u64>,
    /// D of each row to the nearest row picked in its group.
    nearest: Array<f64>,
    /// The bits of each group's largest.
    largest: Array<u64>,
    amounts: Array<u64>,
    trial_rows: Array<u64>,
    potentials: Array<u64>,
    picked: Array<u64>,
    /// The row picked last in each group.
    rows: Array<u64>,
}

/// [`seeding::plus_plus`] in every group, with the usual trials.
fn plus_plus<T: Number>(
    level: &Level<'_, '_, T>,
    groups: &[Group],
    restart: u32,
    observe: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Vec<u64>, Error> {
    let (stream, k) = (&level.data.stream, level.k as usize);
    let trials = trials(k);
    let purpose = Purpose::PlusPlus;
    let firsts = rows_of(groups, |n, seed| vec![seeding::first_row(n, None, &Random::new(seed, restart), purpose)]);
    let seeds: Vec<u64> = groups.iter().map(|group| group.seed).collect();
    let mut steps = Steps {
        trials: trials as u32,
        restart,
        seeds: stream.upload(&seeds)?,
        nearest: stream.array(level.data.facts.n)?,
        largest: stream.zeros(groups.len())?,
        amounts: stream.array(level.table.tiles as usize)?,
        trial_rows: stream.array(groups.len() * trials)?,
        potentials: stream.zeros(groups.len() * trials)?,
        picked: stream.zeros(groups.len() * k)?,
        rows: stream.upload(&firsts)?,
    };
    if k > 1 {
        steps.near(level, true)?;
    }
    for step in 1..k {
        steps.pick(level, step as u32)?;
        if step + 1 < k {
            steps.near(level, false)?;
        }
        if step % STEPS_AHEAD == 0 {
            stream.synchronize()?;
            observe()?;
        }
    }
    let mut picked = stream.download(&steps.picked, groups.len() * k)?;
    for ((group, own), &first) in groups.iter().zip(picked.chunks_exact_mut(k)).zip(&firsts) {
        own[0] = first;
        replace_missing(group, own, restart);
    }
    Ok(picked)
}

/// With nothing left to draw from, which then stays so, rows not yet picked are drawn uniformly.
fn replace_missing(group: &Group, picked: &mut [u64], restart: u32) {
    let Some(missing) = picked.iter().position(|&row| row == NO_ROW) else { return };
    let (first, random) = (group.places.start, Random::new(group.seed, restart));
    let mut taken: Vec<usize> = picked[..missing].iter().map(|&row| row as usize - first).collect();
    for row in &mut picked[missing..] {
        let left = (group.places.len() - taken.len()) as u64;
        let draw = random.below(left, Purpose::PlusPlus, taken.len() as u32, 0);
        taken.push(seeding::untaken_row(draw as usize, &taken));
        *row = (first + taken[taken.len() - 1]) as u64;
    }
}

impl Steps {
    /// Takes the last picks into account.
    fn near<T: Number>(&mut self, level: &Level<'_, '_, T>, first: bool) -> Result<(), Error> {
        let (data, table) = (level.data, &level.table);
        let mut arguments = vec![data.points.arg()];
        arguments.extend(table.arguments());
        arguments.extend([read(&self.rows), write(&mut self.nearest), write(&mut self.largest), table.rows()]);
        arguments.extend([Arg::U32(first as u32), Arg::U32(data.d())]);
        let geometry = launch::groups_seed_nearest(table.tiles, size_of::<T>() as u32);
        data.launch(&launch::GROUPS_SEED_NEAREST, geometry, &arguments)
    }

    /// Picks row number `step` of each group.
    fn pick<T: Number>(&mut self, level: &Level<'_, '_, T>, step: u32) -> Result<(), Error> {
        let (data, table) = (level.data, &level.table);
        let trials = Arg::U32(self.trials);
        let mut arguments = vec![read(&self.nearest)];
        arguments.extend(table.arguments());
        arguments.extend([read(&self.largest), write(&mut self.amounts), table.rows()]);
        let kernel = &launch::GROUPS_SEED_AMOUNTS;
        data.launch(kernel, launch::groups_tiles(kernel, table.tiles), &arguments)?;
        let arguments = [
            read(&self.nearest),
            table.ranges(),
            table.starts(),
            read(&self.seeds),
            read(&self.largest),
            read(&self.amounts),
            write(&mut self.trial_rows),
            table.rows(),
            Arg::U32(self.restart),
            Arg::U32(Purpose::PlusPlus as u32),
            Arg::U32(step),
            trials,
        ];
        data.launch(&launch::GROUPS_SEED_DRAW, launch::groups_seed_draw(table.groups, self.trials), &arguments)?;
        let mut arguments = vec![data.points.arg()];
        arguments.extend(table.arguments());
        arguments.extend([read(&self.trial_rows), read(&self.nearest), read(&self.largest)]);
        arguments.extend([write(&mut self.potentials), table.rows(), trials, Arg::U32(data.d())]);
        let geometry = launch::groups_seed_potentials(table.tiles, size_of::<T>() as u32);
        data.launch(&launch::GROUPS_SEED_POTENTIALS, geometry, &arguments)?;
        let arguments = [
            read(&self.trial_rows),
            write(&mut self.potentials),
            write(&mut self.largest),
            write(&mut self.picked),
            write(&mut self.rows),
            trials,
            Arg::U32(step),
            Arg::U32(level.k),
            Arg::U32(table.groups),
        ];
        let kernel = &launch::GROUPS_SEED_CHOOSE;
        data.launch(kernel, kernel.thread_each(table.groups as u64), &arguments)
    }
}
