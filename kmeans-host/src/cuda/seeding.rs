//! k-means++ and k-means|| on the device: the rows that [`kmeans_core::seeding`] picks.
//!
//! A step of k-means++ is five kernels that leave the next pick in device memory; the host queues steps ahead and reads
//! the picks now and then.

use kmeans_core::launch;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding::{self, trials};

use super::Number;
use super::assigner::Assigner;
use super::driver::{Arg, Array, read, write};
use super::job::{Data, Place};
use super::sums::masses;
use crate::Error;
use crate::engine::OnSeeding;
use crate::points::Facts;
use crate::progress::Control;

/// Steps that are queued before the host looks how far they are, and asks whether to go on.
const STEPS_AHEAD: usize = 16;

/// The cost of every row: its weight times D to the nearest pick so far.
struct Costs<'a, 'p, T> {
    data: &'a Data<'p, T>,
    nearest: Array<f64>,
    /// The bits of the largest cost.
    largest: Array<u64>,
    /// Sums of amounts per range of rows.
    amounts: Array<u64>,
}

impl<'a, 'p, T: Number> Costs<'a, 'p, T> {
    /// After the first pick.
    fn new(data: &'a Data<'p, T>, first: &Array<u64>) -> Result<Self, Error> {
        let stream = &data.stream;
        let mut costs = Self {
            data,
            nearest: stream.array(data.facts.n)?,
            largest: stream.zeros(1)?,
            amounts: stream.array(launch::seed_blocks(data.n()) as usize)?,
        };
        costs.add(first, true)?;
        Ok(costs)
    }

    /// Takes the pick in `row` into account.
    fn add(&mut self, row: &Array<u64>, first: bool) -> Result<(), Error> {
        let data = self.data;
        let arguments = [
            data.points.arg(),
            read(row),
            write(&mut self.nearest),
            read(&data.weights),
            write(&mut self.largest),
            data.weighted(),
            Arg::U32(first as u32),
            Arg::U64(data.n()),
            Arg::U32(data.d()),
        ];
        data.launch(&launch::SEED_NEAREST, launch::seed_nearest(data.n(), Data::<T>::SIZE), &arguments)
    }

    /// Sums the amounts that draws are made from.
    fn add_up(&mut self) -> Result<(), Error> {
        let data = self.data;
        let arguments = [
            read(&self.nearest),
            read(&data.weights),
            read(&self.largest),
            write(&mut self.amounts),
            data.weighted(),
            Arg::U64(data.n()),
        ];
        data.launch(&launch::SEED_AMOUNTS, launch::seed_amounts(data.n()), &arguments)
    }

    /// Whether there is nothing left to draw from.
    fn are_zero(&self) -> Result<bool, Error> {
        let largest = f64::from_bits(self.data.stream.download(&self.largest, 1)?[0]);
        Ok(!(largest > 0.0 && largest.is_finite()))
    }
}

/// What a step of k-means++ works with.
struct Step<'a> {
    trials: u32,
    random: &'a Random,
    purpose: Purpose,
    rows: Array<u64>,
    potentials: Array<u64>,
    picked: Array<u64>,
    row: Array<u64>,
}

impl Step<'_> {
    /// Picks row number `step`; with `last`, nobody will ask for another.
    fn run<T: Number>(&mut self, costs: &mut Costs<'_, '_, T>, step: u32, last: bool) -> Result<(), Error> {
        let data = costs.data;
        let (n, d, weighted) = (Arg::U64(data.n()), Arg::U32(data.d()), data.weighted());
        costs.add_up()?;
        let (seed, restart) = self.random.parts();
        let arguments = [
            read(&costs.nearest),
            read(&data.weights),
            read(&costs.largest),
            read(&costs.amounts),
            write(&mut self.rows),
            weighted,
            Arg::U64(launch::seed_blocks(data.n())),
            Arg::U64(seed),
            Arg::U32(restart),
            Arg::U32(self.purpose as u32),
            Arg::U32(step),
            n,
        ];
        data.launch(&launch::SEED_DRAW, launch::seed_draw(self.trials), &arguments)?;
        let arguments = [
            data.points.arg(),
            read(&self.rows),
            read(&costs.nearest),
            read(&data.weights),
            read(&costs.largest),
            write(&mut self.potentials),
            weighted,
            Arg::U32(self.trials),
            n,
            d,
        ];
        data.launch(&launch::SEED_POTENTIALS, launch::seed_potentials(data.n(), Data::<T>::SIZE), &arguments)?;
        let arguments = [
            read(&self.rows),
            write(&mut self.potentials),
            write(&mut costs.largest),
            write(&mut self.picked),
            write(&mut self.row),
            Arg::U32(self.trials),
            Arg::U32(step),
        ];
        data.launch(&launch::SEED_CHOOSE, launch::SEED_CHOOSE.blocks(1, 0), &arguments)?;
        if last { Ok(()) } else { costs.add(&self.row, false) }
    }
}

/// [`seeding::plus_plus`] with the usual trials.
pub fn plus_plus<T: Number>(
    data: &Data<'_, T>,
    k: usize,
    random: &Random,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    greedy(data, k, trials(k), random, Purpose::PlusPlus, observe)
}

fn greedy<T: Number>(
    data: &Data<'_, T>,
    k: usize,
    trials: usize,
    random: &Random,
    purpose: Purpose,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    let (n, stream) = (data.facts.n, &data.stream);
    let first = seeding::first_row(n, data.facts.weights.as_deref(), random, purpose);
    let row = stream.upload(&[first as u64])?;
    let mut costs = Costs::new(data, &row)?;
    let mut step = Step {
        trials: trials as u32,
        random,
        purpose,
        rows: stream.array(trials)?,
        potentials: stream.zeros(trials)?,
        picked: stream.zeros(k)?,
        row,
    };
    let mut picked = vec![first];
    report(observe, 1, k)?;
    while picked.len() < k {
        let steps = picked.len()..k.min(picked.len() + STEPS_AHEAD);
        for number in steps.clone() {
            step.run(&mut costs, number as u32, number + 1 == k)?;
        }
        let mut rows = vec![0; steps.len()];
        stream.download_into(&step.picked, steps.start, &mut rows)?;
        for row in rows {
            // With nothing left to draw from, which then stays so, a row not yet picked is drawn uniformly.
            let row = if row == u64::MAX {
                let draw = random.below((n - picked.len()) as u64, purpose, picked.len() as u32, 0);
                seeding::untaken_row(draw as usize, &picked)
            } else {
                row as usize
            };
            picked.push(row);
            report(observe, picked.len(), k)?;
        }
    }
    Ok(picked)
}

/// [`seeding::parallel`].
pub fn parallel<T: Number>(
    data: &Data<'_, T>,
    assigner: &mut Assigner<T>,
    k: usize,
    random: &Random,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    let (facts, stream) = (data.facts, &data.stream);
    let (n, blocks) = (facts.n, launch::seed_blocks(data.n()));
    let first = seeding::first_row(n, facts.weights.as_deref(), random, Purpose::Parallel);
    let mut candidates = vec![first];
    let mut costs = Costs::new(data, &stream.upload(&[first as u64])?)?;
    let mut owner = stream.zeros::<u32>(n)?;
    let (mut counts, mut offsets) = (stream.array::<u64>(blocks as usize)?, stream.array::<u64>(blocks as usize)?);
    let mut total = stream.array::<u64>(1)?;
    for round in 1..=seeding::PARALLEL_ROUNDS {
        report(observe, round as usize - 1, seeding::PARALLEL_ROUNDS as usize)?;
        if costs.are_zero()? {
            break;
        }
        costs.add_up()?;
        let (seed, restart) = random.parts();
        let inputs = [read(&costs.nearest), read(&data.weights), read(&costs.largest), read(&costs.amounts)];
        let draws = [Arg::U32(k as u32), Arg::U32(round), Arg::U64(seed), Arg::U32(restart), Arg::U64(n as u64)];
        let mut arguments = inputs.to_vec();
        arguments.extend([write(&mut counts), data.weighted()]);
        arguments.extend(draws);
        data.launch(&launch::PARALLEL_COUNT, launch::parallel_count(data.n()), &arguments)?;
        let arguments = [read(&counts), write(&mut offsets), write(&mut total), Arg::U64(blocks)];
        data.launch(&launch::PARALLEL_OFFSETS, launch::parallel_offsets(), &arguments)?;
        let selected = stream.download(&total, 1)?[0] as usize;
        if selected == 0 {
            continue;
        }
        let mut rows = stream.array::<u64>(selected)?;
        let mut arguments = inputs.to_vec();
        arguments.extend([read(&offsets), write(&mut rows), data.weighted()]);
        arguments.extend(draws);
        data.launch(&launch::PARALLEL_WRITE, launch::parallel_write(data.n()), &arguments)?;
        // The nearest of the new candidates, the lowest among equals, then whether it is nearer than those before.
        let new = data.gather(&rows, selected)?;
        let mut labels = stream.array(n)?;
        assigner.assign(data, &new, selected, &mut labels)?;
        let distances = data.own_distances(&new, &labels)?;
        stream.clear(&mut costs.largest)?;
        let arguments = [
            read(&distances),
            read(&labels),
            write(&mut costs.nearest),
            write(&mut owner),
            read(&data.weights),
            write(&mut costs.largest),
            data.weighted(),
            Arg::U32(candidates.len() as u32),
            Arg::U32(0),
            Arg::U64(n as u64),
        ];
        data.launch(&launch::PARALLEL_MERGE, launch::parallel_merge(data.n()), &arguments)?;
        candidates.extend(stream.download(&rows, selected)?.into_iter().map(|row| row as usize));
    }
    // Reducing the candidates is the end of the last round.
    let rounds = seeding::PARALLEL_ROUNDS as usize;
    let mut result = Ok(());
    let rows = seeding::reduce(&candidates, n, k, random, |k, trials| {
        let picked = reduce(data, &owner, &candidates, k, trials, random, &mut |_, _| observe(rounds, rounds));
        picked.unwrap_or_else(|error| {
            result = Err(error);
            Vec::new()
        })
    });
    result.map(|()| rows)
}

/// k of the candidates, by k-means++ on them, each weighing as much as the rows it is nearest to.
fn reduce<T: Number>(
    data: &Data<'_, T>,
    owner: &Array<u32>,
    candidates: &[usize],
    k: usize,
    trials: usize,
    random: &Random,
    observe: OnSeeding<'_>,
) -> Result<Vec<usize>, Error> {
    let masses = masses(data, owner, candidates.len())?;
    let rows = data.stream.upload(&candidates.iter().map(|&row| row as u64).collect::<Vec<_>>())?;
    let points = data.gather(&rows, candidates.len())?;
    let facts = Facts { range: data.facts.range, ..Facts::new((candidates.len(), data.facts.d), Some(masses))? };
    let stream = data.stream.clone();
    let chosen = Data::new(stream, &facts, Place::Own(points))?;
    greedy(&chosen, k, trials, random, Purpose::Reduce, observe)
}

fn report(observe: OnSeeding<'_>, done: usize, total: usize) -> Result<(), Error> {
    match observe(done, total) {
        Control::Continue => Ok(()),
        Control::Finish | Control::Cancel => Err(Error::Cancelled { iterations: 0 }),
    }
}
