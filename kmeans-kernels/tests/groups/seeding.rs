//! k-means++ picks the rows of each group that it picks in the group alone.

use kmeans_core::launch as contract;
use kmeans_core::rng::{Purpose, Random};
use kmeans_core::seeding;
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::groups;
use kmeans_kernels::seeding::NO_ROW;

use crate::common::{Data, launch};
use crate::for_each_type;
use crate::problem::{Problem, SIZES, Tables};

fn seeded<T: Number>() {
    for (sizes, k, d, data) in [
        (&SIZES[..], 5, 3, Data::Unit),
        (&[300, 7], 7, 40, Data::Grid),
        (&[20, 20], 4, 2, Data::Same),
        (&[140], 30, 1, Data::Grid),
    ] {
        let problem = Problem::<T>::new(sizes, k, d, data, 2);
        let (groups, n) = (&problem.groups, problem.points.len() / d);
        let seeds: Vec<u64> = (0..groups.len() as u64).map(|g| 5 * g + 1).collect();
        let emulator = Emulator::new(n as u64);
        let e = &emulator;
        let t = Tables::new(e, groups, n, 64);
        let (ranges, starts, owners) = (t.ranges.input(), t.starts.input(), t.owners.input());
        let trials = seeding::trials(k) as u32;
        let firsts: Vec<u64> = groups
            .iter()
            .zip(&seeds)
            .map(|(group, &seed)| {
                let random = Random::new(seed, 0);
                (group.start + seeding::first_row(group.len(), None, &random, Purpose::PlusPlus)) as u64
            })
            .collect();
        let x = e.buffer("points", &problem.points);
        let own_seeds = e.buffer("seeds", &seeds);
        let rows = e.buffer("rows", &firsts);
        let nearest = e.uninitialised::<f64>("nearest", n);
        let largest = e.buffer("largest", &vec![0_u64; groups.len()]);
        let amounts = e.uninitialised::<u64>("amounts", t.tiles as usize);
        let trial_rows = e.uninitialised::<u64>("trial_rows", groups.len() * trials as usize);
        let potentials = e.buffer("potentials", &vec![0_u64; groups.len() * trials as usize]);
        let picked = e.buffer("picked", &vec![NO_ROW; groups.len() * k]);
        let near = |first: u32| {
            let geometry = contract::groups_seed_nearest(t.tiles, T::SIZE);
            launch(e, &contract::GROUPS_SEED_NEAREST, geometry, || {
                let (near, largest) = (nearest.output(), largest.output());
                groups::seeding::nearest(
                    x.input(),
                    ranges,
                    starts,
                    owners,
                    rows.input(),
                    near,
                    largest,
                    64,
                    first,
                    d as u32,
                );
            });
        };
        near(1);
        for step in 1..k as u32 {
            let geometry = contract::groups_tiles(&contract::GROUPS_SEED_AMOUNTS, t.tiles);
            launch(e, &contract::GROUPS_SEED_AMOUNTS, geometry, || {
                groups::seeding::amounts(
                    nearest.input(),
                    ranges,
                    starts,
                    owners,
                    largest.input(),
                    amounts.output(),
                    64,
                );
            });
            let purpose = Purpose::PlusPlus as u32;
            let geometry = contract::groups_seed_draw(groups.len() as u32, trials);
            launch(e, &contract::GROUPS_SEED_DRAW, geometry, || {
                let (seeds, largest, amounts) = (own_seeds.input(), largest.input(), amounts.input());
                let rows = trial_rows.output();
                groups::seeding::draw(
                    nearest.input(),
                    ranges,
                    starts,
                    seeds,
                    largest,
                    amounts,
                    rows,
                    64,
                    0,
                    purpose,
                    step,
                    trials,
                );
            });
            let geometry = contract::groups_seed_potentials(t.tiles, T::SIZE);
            launch(e, &contract::GROUPS_SEED_POTENTIALS, geometry, || {
                let (rows, near, largest) = (trial_rows.input(), nearest.input(), largest.input());
                let left = potentials.output();
                groups::seeding::potentials(
                    x.input(),
                    ranges,
                    starts,
                    owners,
                    rows,
                    near,
                    largest,
                    left,
                    64,
                    trials,
                    d as u32,
                );
            });
            let geometry = contract::GROUPS_SEED_CHOOSE.thread_each(groups.len() as u64);
            launch(e, &contract::GROUPS_SEED_CHOOSE, geometry, || {
                let (left, largest, picked) = (potentials.output(), largest.output(), picked.output());
                let count = groups.len() as u32;
                groups::seeding::choose(
                    trial_rows.input(),
                    left,
                    largest,
                    picked,
                    rows.output(),
                    trials,
                    step,
                    k as u32,
                    count,
                );
            });
            near(0);
        }
        let picked = picked.to_vec();
        for (g, group) in groups.iter().enumerate() {
            let random = Random::new(seeds[g], 0);
            let expected = seeding::plus_plus(problem.own(g), d, None, k, trials as usize, &random, Purpose::PlusPlus);
            let mut found = vec![firsts[g] as usize - group.start];
            for &row in &picked[g * k + 1..(g + 1) * k] {
                found.push(match row {
                    // What the host does where there was nothing to draw from.
                    NO_ROW => {
                        let left = (group.len() - found.len()) as u64;
                        let draw = random.below(left, Purpose::PlusPlus, found.len() as u32, 0);
                        seeding::untaken_row(draw as usize, &found)
                    }
                    row => row as usize - group.start,
                });
            }
            assert_eq!(found, expected, "{} group {g}", problem.what);
        }
    }
}

#[test]
fn seeding_picks_the_rows_of_each_group_alone() {
    for_each_type!(seeded());
}
