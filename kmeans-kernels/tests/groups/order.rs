//! Tables, random labels, and the order of the rows of a level.

use kmeans_core::launch as contract;
use kmeans_core::rng::Random;
use kmeans_core::seeding;
use kmeans_kernels::device::Number;
use kmeans_kernels::device::emulated::Emulator;
use kmeans_kernels::groups::{self, partition};

use crate::common::{self, Data, bits, launch, numbers};
use crate::for_each_type;
use crate::problem::{SIZES, Tables, ranges};

#[test]
fn tiles_cover_each_group_once() {
    for (sizes, tile_rows) in
        [(vec![1], 64), (vec![64, 65, 0, 63, 0, 0, 200], 64), (vec![0, 0], 64), (vec![7; 1500], 4), (vec![3000], 128)]
    {
        let (groups, n) = ranges(&sizes);
        let emulator = Emulator::new(sizes.len() as u64);
        let tables = Tables::new(&emulator, &groups, n, tile_rows);
        let mut expected = Vec::new();
        let mut starts = vec![0];
        for (g, size) in sizes.iter().enumerate() {
            expected.extend(vec![g as u32; size.div_ceil(tile_rows as u64) as usize]);
            starts.push(expected.len() as u32);
        }
        expected.resize(tables.tiles as usize, contract::NO_GROUP);
        assert_eq!(tables.starts.to_vec(), starts);
        assert_eq!(tables.owners.to_vec(), expected);
    }
}

#[test]
fn random_labels_are_those_of_each_group() {
    let (groups, n) = ranges(&SIZES);
    let emulator = Emulator::new(1);
    let t = Tables::new(&emulator, &groups, n, 64);
    let seeds: Vec<u64> = (0..groups.len() as u64).map(|g| g * 77).collect();
    let own = emulator.buffer("seeds", &seeds);
    let labels = emulator.buffer("labels", &vec![u32::MAX; n]);
    let geometry = contract::groups_tiles(&contract::GROUPS_RANDOM_LABELS, t.tiles);
    launch(&emulator, &contract::GROUPS_RANDOM_LABELS, geometry, || {
        let (r, s, o) = (t.ranges.input(), t.starts.input(), t.owners.input());
        groups::labels::random(r, s, o, own.input(), labels.output(), 2, 64, 9);
    });
    let labels = labels.to_vec();
    for (g, group) in groups.iter().enumerate() {
        for (i, row) in group.clone().enumerate() {
            let label = seeding::random_label(i, 9, &Random::new(seeds[g], 2));
            assert_eq!(labels[row], g as u32 * 9 + label);
        }
    }
}

fn reordered<T: Number>() {
    for (sizes, k, d, tile_rows) in [(&SIZES[..], 7, 8, 64), (&[600, 1, 300], 3, 5, 128), (&[520], 40, 3, 512)] {
        let (groups, n) = ranges(sizes);
        let emulator = Emulator::new(k as u64);
        let e = &emulator;
        let t = Tables::new(e, &groups, n, tile_rows);
        let points = numbers::<T>(Data::Unit, n * d, 5);
        let mut labels = vec![(groups.len() * k) as u32; n];
        let mut counts = vec![0_u64; groups.len() * k];
        let (mut expected, mut children): (Vec<usize>, _) = ((0..n).collect(), Vec::new());
        for (g, group) in groups.iter().enumerate() {
            for (row, label) in group.clone().zip(common::labels(group.len(), k, g as u64)) {
                labels[row] = (g * k) as u32 + label;
                counts[labels[row] as usize] += 1;
            }
            expected[group.clone()].sort_by_key(|&row| labels[row]);
            let mut place = group.start as u64;
            for &count in &counts[g * k..][..k] {
                children.extend([place, place + count]);
                place += count;
            }
        }
        let order: Vec<u64> = (0..n as u64).map(|row| 10 * row).collect();
        let (x, l, c, o) = (
            e.buffer("points", &points),
            e.buffer("labels", &labels),
            e.buffer("counts", &counts),
            e.buffer("order", &order),
        );
        let (ranges, starts, owners) = (t.ranges.input(), t.starts.input(), t.owners.input());
        let own = e.uninitialised::<u64>("children", children.len());
        let bins = e.buffer("bins", &vec![0_u32; t.tiles as usize * k]);
        let places = e.uninitialised::<u64>("places", n);
        let (moved, moved_order) = (e.uninitialised::<T>("moved", n * d), e.uninitialised::<u64>("moved_order", n));
        let per_group = |kernel, blocks: usize| contract::groups_tiles(kernel, blocks as u64);
        launch(e, &contract::GROUPS_CHILDREN, per_group(&contract::GROUPS_CHILDREN, groups.len()), || {
            partition::children(ranges, c.input(), own.output(), k as u32);
        });
        launch(e, &contract::GROUPS_HISTOGRAM, per_group(&contract::GROUPS_HISTOGRAM, t.tiles as usize), || {
            partition::histogram(l.input(), ranges, starts, owners, bins.output(), tile_rows, k as u32);
        });
        launch(e, &contract::GROUPS_BASES, per_group(&contract::GROUPS_BASES, groups.len() * k), || {
            partition::bases(starts, bins.output(), k as u32);
        });
        launch(e, &contract::GROUPS_STAY, contract::GROUPS_STAY.thread_each(n as u64), || {
            partition::stay(places.output(), n as u64);
        });
        launch(e, &contract::GROUPS_PLACES, contract::groups_places(t.tiles), || {
            let (own, places) = (own.input(), places.output());
            partition::places(l.input(), ranges, starts, owners, own, bins.output(), places, tile_rows, k as u32);
        });
        launch(e, &contract::GROUPS_CARRY, contract::groups_carry(n as u64), || {
            let (moved, moved_order) = (moved.output(), moved_order.output());
            partition::carry(x.input(), o.input(), places.input(), moved, moved_order, n as u64, d as u32);
        });
        assert_eq!(own.to_vec(), children);
        assert_eq!(moved_order.to_vec(), expected.iter().map(|&row| 10 * row as u64).collect::<Vec<_>>());
        let rows: Vec<T> = expected.iter().flat_map(|&row| points[row * d..][..d].to_vec()).collect();
        assert_eq!(bits(&moved.to_vec()), bits(&rows));
    }
}

#[test]
fn rows_of_each_group_go_in_the_order_of_their_labels() {
    for_each_type!(reordered());
}
