//! What each kernel's PTX must look like: the launch contract's parameters, and the number of each instruction that
//! threads execute together. A compiler that copies or drops one of those makes kernels hang or race.

use std::collections::BTreeSet;

use kmeans_core::launch::{Kernel, Kind, Type};

use super::text::Module;

/// The instructions counted, in the order of [`EXPECTED`].
const COUNTED: [&str; 6] = ["bar.sync", "bar.warp.sync", "shfl.sync", "vote.sync", "mma.sync", "wgmma.mma_async"];

/// Kernels that have any of them, each with its counts. All others have none.
///
/// A loop of shuffles over halves of n lanes is unrolled: log₂ n times, a 64-bit value counts twice.
#[rustfmt::skip]
const EXPECTED: &[(&str, [usize; 6])] = &[
    // kernel                    barriers, of warps, shuffles, votes, matrix, of four warps
    ("range_exponents",               [0, 0, 20, 0, 0, 0]), // 32 lanes of high, low and index
    ("distance_tiled",                [2, 0,  0, 0, 0, 0]), // after loading, after use
    ("distance_coalesced",            [2, 0,  0, 0, 0, 0]),
    ("argmin_tree",                   [8, 0,  0, 0, 0, 0]), // 16 candidates halve four times, unrolled
    ("argmin_shuffle",                [0, 0, 15, 0, 0, 0]), // 32 lanes of label and distance
    ("assign_tiled",                  [2, 0, 12, 0, 0, 0]), // 16 lanes of label and distance
    ("assign_narrow",                 [2, 0,  0, 0, 0, 0]),
    ("assign_filtered",               [2, 0, 96, 4, 0, 0]), // four rows: 16 lanes of three numbers; to settle, label and D
    ("assign_mma",                    [2, 0, 42, 2, 16, 0]), // two halves: 4 lanes of three numbers; to settle, label and D
    ("assign_wgmma",                  [2, 0, 42, 2, 0, 4]), // 64 columns, 16 at a time
    ("assign_lengths",                [0, 0, 10, 0, 0, 0]), // 32 lanes of a sum
    ("assign_halves",                 [0, 0, 20, 0, 0, 0]), // 32 lanes of two sums
    ("assign_stream_64",              [1, 3,  2, 3, 0, 10]), // a step for starts, four for columns, two halves; halves told in three places
    ("assign_stream_128",             [1, 3,  2, 3, 0, 18]), // eight for columns
    ("assign_stream_64_rounded",      [1, 3,  2, 3, 0, 10]),
    ("assign_stream_128_rounded",     [1, 3,  2, 3, 0, 18]),
    ("assign_order",                  [5, 0, 10, 0, 0, 0]), // buckets cleared and counted, sums before each thread, turned to places
    ("assign_tiles_long",             [0, 0, 20, 0, 0, 0]), // the largest of 32 lanes, 64 bits, twice
    ("assign_stream_long",            [1, 3, 69, 3, 0, 16]), // slices of two steps begun in eight places; rows concluded in three, from 4 lanes
    ("assign_stream_long_rounded",    [1, 3, 69, 3, 0, 16]),
    ("assign_stream_mma",             [1, 0, 18, 1, 64, 0]), // four steps of sixteen products; rows concluded from 4 lanes
    ("assign_stream_mma_rounded",     [1, 0, 18, 1, 64, 0]),
    ("groups_stream_mma",             [1, 0, 18, 1, 64, 0]),
    ("groups_stream_mma_rounded",     [1, 0, 18, 1, 64, 0]),
    ("assign_settle",                 [6, 0, 48, 0, 0, 0]), // two places for blocks, two for warps, one for lanes that share a row
    ("assign_settle_ordered",         [6, 0, 48, 0, 0, 0]),
    ("prune_moved",                   [0, 0, 10, 0, 0, 0]), // 32 lanes of a sum
    ("prune_rows",                    [6, 0, 16, 0, 0, 0]), // counter cleared, rows known, distances known, sums before each thread, a place in the list; 8 lanes of a sum
    ("prune_stream_64",               [1, 3,  2, 3, 0, 10]), // as assign_stream_64
    ("prune_stream_128",              [1, 3,  2, 3, 0, 18]),
    ("prune_stream_64_rounded",       [1, 3,  2, 3, 0, 10]),
    ("prune_stream_128_rounded",      [1, 3,  2, 3, 0, 18]),
    ("groups_stream_64",              [1, 3,  2, 3, 0, 10]), // as assign_stream_64
    ("groups_stream_128",             [1, 3,  2, 3, 0, 18]),
    ("groups_stream_64_rounded",      [1, 3,  2, 3, 0, 10]),
    ("groups_stream_128_rounded",     [1, 3,  2, 3, 0, 18]),
    ("groups_settle",                 [6, 0, 48, 0, 0, 0]), // as assign_settle
    ("groups_adopt",                  [0, 0, 10, 0, 0, 0]), // 32 lanes of a sum
    ("fit_narrow_sums_narrow",       [7, 16, 192, 32, 0, 0]), // centre, staged, labelled, two to meet the grid, means, movements; for 1 to 4 columns two places that move rows, two that settle one, 32 lanes of a label and D, the largest value, votes on open rows, on changes and on rows that wait; squares and movements of a centroid, labels changed, copies
    ("fit_narrow_sums_wide",         [7, 16, 194, 32, 0, 0]), // two words of copies
    ("fit_tensor_sums_narrow",       [14, 0, 90, 2, 128, 0]), // three times two to meet the grid; two places that round a centroid, of 32 lanes of two sums; two rows decided; a row settled, by each of four lanes' candidates, and by D
    ("fit_tensor_sums_wide",         [14, 0, 90, 2, 128, 0]),
    ("sum_per_block_narrow",          [3, 0,  0, 0, 0, 0]), // after clearing, adding, flushing
    ("sum_per_block_wide",            [3, 0,  0, 0, 0, 0]),
    ("order_tally",                   [8, 0, 40, 0, 0, 0]), // a window of clusters: 32 lanes of two numbers, twice; counts cleared and made; the last block, which sums up
    ("order_list",                    [5, 0, 20, 0, 0, 0]), // the same window; counts cleared, made and turned to places
    ("count_histogram",               [3, 0,  0, 0, 0, 0]),
    ("count_changed",                 [0, 0,  0, 1, 0, 0]),
    ("square_sum",                    [0, 0, 50, 0, 0, 0]), // 32 lanes of 64 bits: four digits, or a limb at a time
    ("square_sum_many",               [0, 0, 50, 0, 0, 0]),
    ("inertia_sums",                  [0, 0, 10, 0, 0, 0]), // a limb at a time
    ("inertia_sums_many",             [0, 0, 10, 0, 0, 0]),
    ("empty_list",                    [1, 0,  0, 2, 0, 0]), // votes to count, and to write
    ("empty_farthest",                [1, 0, 20, 0, 0, 0]), // 32 lanes of distance and row
    ("empty_move",                    [1, 0, 20, 0, 0, 0]),
    ("seed_nearest",                  [2, 0, 10, 0, 0, 0]), // after loading, after use; the largest of 32 lanes
    ("seed_amounts",                  [2, 0, 10, 0, 0, 0]), // sums before each thread: 32 lanes of 64 bits, two barriers
    ("seed_draw",                     [5, 0, 20, 0, 0, 0]), // sums before each thread, twice, and the place between
    ("seed_potentials",               [2, 0, 120, 0, 0, 0]), // 12 sums of 32 lanes
    ("parallel_count",                [4, 0, 20, 0, 0, 0]), // sums before each thread, twice
    ("parallel_offsets",              [2, 0, 10, 0, 0, 0]),
    ("parallel_write",                [4, 0, 20, 0, 0, 0]),
    ("parallel_merge",                [0, 0, 10, 0, 0, 0]),
    ("scale_means_narrow",            [2, 0,  0, 0, 0, 0]), // squares written, squares added up
    ("scale_means_wide",              [2, 0,  0, 0, 0, 0]),
    ("scale_means_limbs",             [2, 0,  0, 0, 0, 0]),
    ("transposed_transpose",          [2, 0,  0, 0, 0, 0]),
    ("transposed_assign",             [1, 0,  5, 1, 0, 0]),
    ("transposed_sums_narrow",        [3, 0,  0, 0, 0, 0]),
    ("transposed_sums_wide",          [3, 0,  0, 0, 0, 0]),
    ("transposed_reduce_changes",     [1, 0, 20, 0, 0, 0]), // two reductions of 32 lanes, 64 bits
    ("silhouette",                    [2, 0,  0, 0, 0, 0]), // a tile is there, a tile is used
    ("groups_starts",                 [2, 0, 10, 0, 0, 0]), // sums before each thread: 32 lanes of 64 bits, two barriers
    ("groups_assign",                 [2, 0, 83, 1, 0, 0]), // after use, after loading; four rows: 7 to exchange sums, 8 lanes of three numbers; to settle, label and D; 32 lanes of a sum
    ("groups_exact",                  [2, 0, 22, 0, 0, 0]), // 16 lanes of label and distance; 32 lanes of a sum
    ("groups_fused_narrow",           [5, 0, 83, 1, 0, 0]), // as groups_assign; before and after sorting, in the end
    ("groups_fused_wide",             [5, 0, 83, 1, 0, 0]),
    ("groups_tensor_short",           [3, 0, 42, 4, 24, 0]), // norms of 32 lanes; squares, 4 lanes of three numbers twice, rows to lanes; to settle, label and D; labels of a run
    ("groups_tensor_long",            [3, 0, 42, 4, 24, 0]), // eight steps: two for squares, one for products
    ("groups_tensor_short_f32",       [4, 0, 42, 4, 40, 0]), // the centre; three for products
    ("groups_tensor_long_f32",        [4, 0, 42, 4, 40, 0]),
    ("groups_update_narrow",          [2, 0,  0, 0, 0, 0]),
    ("groups_update_wide",            [2, 0,  0, 0, 0, 0]),
    ("groups_update_limbs",           [2, 0,  0, 0, 0, 0]),
    ("groups_squares",                [0, 0, 50, 0, 0, 0]), // 32 lanes of 64 bits: four digits, or a limb at a time
    ("groups_squares_many",           [0, 0, 50, 0, 0, 0]),
    ("groups_inertia",                [0, 0, 10, 0, 0, 0]), // a limb at a time
    ("groups_inertia_many",           [0, 0, 10, 0, 0, 0]),
    ("groups_vacant",                 [2, 0, 10, 0, 0, 0]),
    ("groups_fill_narrow",            [4, 0, 20, 0, 0, 0]), // the farthest of 32 lanes; told, found, moved, noted
    ("groups_fill_wide",              [4, 0, 20, 0, 0, 0]),
    ("groups_fill_limbs",             [4, 0, 20, 0, 0, 0]),
    ("groups_decide",                 [3, 0,  0, 1, 0, 0]), // movements staged and used, states read; a vote on empty clusters
    ("groups_children",               [2, 0, 10, 0, 0, 0]),
    ("groups_bases",                  [2, 0, 10, 0, 0, 0]),
    ("groups_places",                 [3, 0,  0, 0, 0, 0]), // labels known, bins read, bins written
    ("groups_seed_nearest",           [2, 0, 10, 0, 0, 0]),
    ("groups_seed_amounts",           [2, 0, 10, 0, 0, 0]),
    ("groups_seed_draw",              [5, 0, 20, 0, 0, 0]),
    ("groups_seed_potentials",        [2, 0, 120, 0, 0, 0]),
    ("pixel_assign",                  [2, 0,  0, 0, 0, 0]),
    ("pixel_sums",                    [3, 0,  0, 0, 0, 0]),
];

/// All differences between a module and what it should be.
pub fn differences(module: &Module, kernels: &[Kernel]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut named = BTreeSet::new();
    for kernel in kernels {
        for name in entries(kernel) {
            let Some(compiled) = module.kernels.get(&name) else {
                differences.push(format!("{name}: in the launch contract, not in the PTX"));
                continue;
            };
            let parameters: Vec<&str> = kernel.arguments.iter().map(|a| parameter(a.kind)).collect();
            if compiled.parameters != parameters {
                let found = &compiled.parameters;
                differences.push(format!("{name}: takes {found:?}, the launch contract says {parameters:?}"));
            }
            let counts = COUNTED.map(|prefix| compiled.count(prefix));
            // An entry point of its own, or what all types have.
            let find = |wanted: &str| EXPECTED.iter().find(|(k, _)| *k == wanted);
            let expected = find(&name).or_else(|| find(kernel.name)).map_or([0; 6], |(_, counts)| *counts);
            if counts != expected {
                differences.push(format!("{name}: {COUNTED:?} occur {counts:?} times, {expected:?} expected"));
            }
            named.insert(name);
        }
    }
    let unnamed = module.kernels.keys().filter(|name| !named.contains(*name));
    differences.extend(unnamed.map(|name| format!("{name}: in the PTX, not in the launch contract")));
    differences
}

/// The entry points of a kernel.
pub fn entries(kernel: &Kernel) -> Vec<String> {
    if kernel.types.is_empty() {
        return vec![kernel.name.into()];
    }
    kernel.types.iter().map(|t| format!("{}_{t}", kernel.name)).collect()
}

/// How PTX writes a parameter.
fn parameter(kind: Kind) -> &'static str {
    match kind {
        Kind::In(_) | Kind::Out(_) | Kind::Value(Type::U64 | Type::I64) => ".u64",
        Kind::Value(Type::U32 | Type::I32) => ".u32",
        Kind::Value(Type::F32) => ".f32",
        Kind::Value(Type::F64) => ".f64",
        Kind::Value(Type::U8 | Type::F16 | Type::T | Type::P) => "a type that no kernel takes by value",
    }
}
