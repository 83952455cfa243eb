//! The emulator's asynchronous copies and products of tiles: what they give, and the faults planted in their use.

use half::f16;
use kmeans_core::launch::Geometry;
use kmeans_kernels::device::emulated::{Emulator, Fault, FaultKind};
use kmeans_kernels::device::{
    In, Out, SharedMemory, Swizzled, block_index, block_size, commit_copies, fence_tiles, multiply_group,
    multiply_tiles, sync_block, thread_index, wait_copies,
};

const SEEDS: std::ops::Range<u64> = 0..20;

fn geometry(blocks: u32, block: u32, shared: u32) -> Geometry {
    Geometry { grid: [blocks, 1], block, shared }
}

/// Runs `kernel` on [64] numbers under many seeds and returns the faults, every run's.
fn faults(geometry: Geometry, kernel: impl Fn(In<u32>, Out<u32>)) -> Vec<Fault> {
    let run = |seed| {
        let emulator = Emulator::new(seed);
        let numbers = emulator.buffer("numbers", &[7_u32; 64]);
        let out = emulator.uninitialised("out", 64);
        emulator.launch("planted", geometry, || kernel(numbers.input(), out.output())).unwrap_err()
    };
    SEEDS.map(run).collect()
}

/// Checks that a kernel has no fault and returns what it wrote.
fn clean(geometry: Geometry, kernel: impl Fn(In<u32>, Out<u32>)) -> Vec<u32> {
    let run = |seed| {
        let emulator = Emulator::new(seed);
        let numbers = emulator.buffer("numbers", &(0..64).collect::<Vec<u32>>());
        let out = emulator.buffer("out", &[0; 64]);
        emulator.launch("clean", geometry, || kernel(numbers.input(), out.output())).unwrap();
        out.to_vec()
    };
    let mut results: Vec<_> = SEEDS.map(run).collect();
    results.dedup();
    assert_eq!(results.len(), 1, "the result depends on the order of threads");
    results.remove(0)
}

fn i() -> u64 {
    (block_index() * block_size() + thread_index()) as u64
}

/// Each thread copies 16 bytes asynchronously, lets `wait` happen, and reads its own or a neighbour's.
fn copies(neighbour: u32, wait: impl Fn()) -> impl Fn(In<u32>, Out<u32>) {
    move |numbers, out| {
        let cells = SharedMemory::new().array::<u32>(64);
        if thread_index() < 16 {
            cells.copy_async(thread_index() * 4, numbers, thread_index() as u64 * 4);
            commit_copies();
            wait();
        }
        out.set(i(), if thread_index() < 16 { cells.get((thread_index() ^ neighbour) * 4 + 3) } else { 0 });
    }
}

#[test]
fn an_asynchronous_copy_is_there_once_it_is_waited_for() {
    let copied = clean(geometry(1, 32, 256), copies(0, wait_copies::<0>));
    assert_eq!(copied[..16], (0..16).map(|i| i * 4 + 3).collect::<Vec<u32>>());
    for wait in [|| {}, wait_copies::<1>] {
        for fault in faults(geometry(1, 32, 256), copies(0, wait)) {
            let address = fault.thread as u64 * 16 + 12;
            assert_eq!(fault.kind, FaultKind::Unwritten { memory: "shared memory", address }, "{fault}");
        }
    }
}

#[test]
fn an_asynchronous_copy_is_seen_by_others_only_after_a_barrier() {
    for fault in faults(geometry(1, 32, 256), copies(1, wait_copies::<0>)) {
        assert!(matches!(fault.kind, FaultKind::Race { .. } | FaultKind::Unwritten { .. }), "{fault}");
    }
}

#[test]
fn a_copy_from_between_two_multiples_of_16_bytes_is_found() {
    let found = faults(geometry(1, 32, 512), |numbers, _| {
        SharedMemory::new().array::<u32>(128).copy_async(thread_index() * 4, numbers, 2);
    });
    for fault in found {
        assert_eq!(fault.kind, FaultKind::Misaligned { memory: "numbers", address: 8, size: 16 });
        assert!(fault.to_string().contains("misaligned: 16 bytes at byte 8 of `numbers`"), "{fault}");
    }
}

#[test]
fn products_of_tiles_are_products() {
    // A[r][c] = r + c/8, B[c][j] = c - j, C = 1000: small enough to be exact in every rounding.
    let a = |row: u32, column: u32| f16::from_f32(row as f32 + column as f32 / 8.0);
    let b = |row: u32, column: u32| f16::from_f32(row as f32 - column as f32);
    let pack = |low: f16, high: f16| u32::from(high.to_bits()) << 16 | u32::from(low.to_bits());
    let emulator = Emulator::new(5);
    let out = emulator.uninitialised::<f32>("out", 128);
    let kernel = || {
        let (g, t) = (thread_index() / 4, thread_index() % 4 * 2);
        let at = |row, column| pack(a(row, column), a(row, column + 1));
        let rows = [at(g, t), at(g + 8, t), at(g, t + 8), at(g + 8, t + 8)];
        let columns = [pack(b(t, g), b(t + 1, g)), pack(b(t + 8, g), b(t + 9, g))];
        let result = multiply_tiles::<f16>(rows, columns, [1000.0; 4]);
        for (place, value) in result.into_iter().enumerate() {
            let (row, column) = (g + place as u32 / 2 * 8, t + place as u32 % 2);
            out.output().set((row * 8 + column) as u64, value);
        }
    };
    emulator.launch("clean", geometry(1, 32, 0), kernel).unwrap();
    let expected: Vec<f32> =
        (0..128).map(|i| 1000.0 + (0..16).map(|c| a(i / 8, c).to_f32() * b(c, i % 8).to_f32()).sum::<f32>()).collect();
    assert_eq!(out.to_vec(), expected);
}

/// Element of the tiles of the next tests: small enough to be exact in every rounding.
fn element(row: u32, column: u32) -> f16 {
    f16::from_f32(((row * 7 + column * 3) % 9) as f32 - 4.0)
}

/// Four warps fill a tile of 64 by 64, do `before` and multiply it by itself; a thread adds up its share of the result.
fn group(before: impl Fn()) -> impl Fn(In<u32>, Out<u32>) {
    move |_, out| {
        let tile = Swizzled::<f16>::new(&mut SharedMemory::new(), 64);
        for row in (thread_index() / 64..64).step_by(2) {
            tile.set(row, thread_index() % 64, element(row, thread_index() % 64));
        }
        before();
        let mut sums = [[1.0_f32; 4]; 8];
        multiply_group::<f16>(tile.descriptor(0), tile.descriptor(0), &mut sums);
        if thread_index() < 64 {
            let total: f32 = sums
                .iter()
                .enumerate()
                .map(|(j, s)| (j + 1) as f32 * (s[0] + 2.0 * s[1] + 3.0 * s[2] + 4.0 * s[3]))
                .sum();
            out.set(i(), total as i32 as u32);
        }
    }
}

#[test]
fn products_of_four_warps_are_products() {
    let results = clean(
        geometry(1, 128, 8192),
        group(|| {
            fence_tiles();
            sync_block();
        }),
    );
    let product = |r: u32, c: u32| 1.0 + (0..64).map(|k| element(r, k).to_f32() * element(c, k).to_f32()).sum::<f32>();
    for thread in 0..64 {
        let (row, column) = (thread / 32 * 16 + thread % 32 / 4, thread % 4 * 2);
        let share = |j: u32| {
            let c = j * 8 + column;
            product(row, c) + 2.0 * product(row, c + 1) + 3.0 * product(row + 8, c) + 4.0 * product(row + 8, c + 1)
        };
        let expected: f32 = (0..8).map(|j| (j + 1) as f32 * share(j)).sum();
        assert_eq!(results[thread as usize] as i32, expected as i32, "thread {thread}");
    }
}

#[test]
fn tiles_that_nobody_fenced_are_found() {
    for fault in faults(geometry(1, 128, 8192), group(sync_block)) {
        assert_eq!(fault.kind, FaultKind::Unfenced { address: 0, writer: 0 });
        assert!(
            fault.to_string().contains("tensor cores read byte 0 of `shared memory`, which thread 0 wrote"),
            "{fault}"
        );
    }
}

#[test]
fn tiles_that_no_barrier_separates_from_their_writers_are_found() {
    for fault in faults(geometry(1, 128, 8192), group(fence_tiles)) {
        assert!(matches!(fault.kind, FaultKind::Race { now: "reads", before: "wrote", .. }), "{fault}");
    }
}

#[test]
fn a_warp_that_skips_a_product_of_four_is_found() {
    let found = faults(geometry(1, 128, 8192), |_, _| {
        if thread_index() < 96 {
            multiply_group::<f16>(1 << 62, 1 << 62, &mut [[0.0; 4]; 8]);
        }
    });
    for fault in found {
        let at = "matrix product of four warps";
        assert_eq!(fault.kind, FaultKind::Stuck { at, missing: 96, elsewhere: None });
    }
}
