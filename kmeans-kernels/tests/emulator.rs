//! The emulator finds planted faults, and says where they are.

use kmeans_core::launch::Geometry;
use kmeans_kernels::device::emulated::{Emulator, Fault, FaultKind};
use kmeans_kernels::device::{
    Constants, GridBarrier, In, Out, SharedMemory, ballot, block_index, block_size, shuffle_down, shuffle_xor,
    sync_block, sync_warp, thread_index,
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

#[test]
fn a_read_beyond_an_array_is_found() {
    for fault in faults(geometry(3, 32, 0), |numbers, out| out.set(i() % 64, numbers.get(i()))) {
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { memory: "numbers", .. }), "{fault}");
        let (block, thread) = (fault.block[0], fault.thread);
        let address = (block * 32 + thread) * 4;
        let message = format!(
            "planted: block ({block}, 0), thread {thread}: out of bounds: byte {address} of `numbers`, which ends at 256"
        );
        assert!(fault.to_string().starts_with(&message), "{fault}");
        assert!(fault.place.file().ends_with("emulator.rs"), "{fault}");
    }
}

#[test]
fn a_write_beyond_an_array_is_found() {
    for fault in faults(geometry(1, 96, 0), |_, out| out.set(i(), 1)) {
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { memory: "out", end: 256, .. }), "{fault}");
        assert!(fault.thread >= 64);
    }
}

#[test]
fn an_index_that_would_wrap_is_out_of_bounds() {
    for fault in faults(geometry(1, 32, 0), |numbers, _| _ = numbers.get(u64::MAX / 2)) {
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { memory: "numbers", .. }), "{fault}");
    }
}

#[test]
fn shared_memory_ends_where_the_array_ends_and_where_the_launch_says() {
    let beyond_array = |_: In<u32>, _: Out<u32>| {
        let mut shared = SharedMemory::new();
        let (first, _second) = (shared.array::<u32>(8), shared.array::<u32>(8));
        first.set(8, 1);
    };
    let beyond_launch = |_: In<u32>, _: Out<u32>| SharedMemory::new().array::<u64>(32).set(thread_index(), 1);
    for fault in faults(geometry(1, 32, 64), beyond_array) {
        assert_eq!(fault.kind, FaultKind::OutOfBounds { memory: "shared memory", address: 32, end: 32 });
    }
    for fault in faults(geometry(1, 32, 128), beyond_launch) {
        assert!(matches!(fault.kind, FaultKind::OutOfBounds { address: 128.., end: 128, .. }), "{fault}");
    }
}

#[test]
fn a_read_of_unwritten_global_memory_is_found() {
    for fault in faults(geometry(1, 32, 0), |_, out| out.set(i(), out.get(i()) + 1)) {
        assert_eq!(fault.kind, FaultKind::Unwritten { memory: "out", address: fault.thread as u64 * 4 });
        assert!(fault.to_string().contains("reads what nothing wrote: byte"), "{fault}");
    }
}

#[test]
fn an_addition_to_unwritten_memory_is_found() {
    for fault in faults(geometry(1, 32, 0), |_, out| out.add(i(), 1)) {
        assert!(matches!(fault.kind, FaultKind::Unwritten { memory: "out", .. }), "{fault}");
    }
}

#[test]
fn a_read_of_what_an_earlier_block_left_in_shared_memory_is_found() {
    let faults = faults(geometry(2, 32, 4), |_, _| {
        let cell = SharedMemory::new().array::<u32>(1);
        if block_index() == 0 && thread_index() == 0 {
            cell.set(0, 1);
        }
        sync_block();
        cell.get(0);
    });
    for fault in faults {
        assert_eq!(fault.block, [1, 0]);
        assert!(matches!(fault.kind, FaultKind::Unwritten { memory: "shared memory", .. }), "{fault}");
    }
}

#[test]
fn an_element_that_no_thread_wrote_is_found_when_the_host_reads_it() {
    let emulator = Emulator::new(0);
    let out = emulator.uninitialised::<u32>("out", 33);
    emulator.launch("planted", geometry(1, 32, 0), || out.output().set(i(), 1)).unwrap();
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| out.to_vec())).unwrap_err();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "nothing wrote element 32 of `out`");
}

/// Each thread writes a cell of shared memory and reads its neighbour's, with `between` in between.
fn neighbours(between: impl Fn()) -> impl Fn(In<u32>, Out<u32>) {
    move |numbers, out| {
        let cells = SharedMemory::new().array::<u32>(block_size());
        cells.set(thread_index(), 0);
        sync_block();
        cells.set(thread_index(), numbers.get(i()));
        between();
        out.set(i(), cells.get(thread_index() ^ 1));
    }
}

#[test]
fn a_missing_barrier_is_a_race() {
    for fault in faults(geometry(1, 64, 256), neighbours(|| {})) {
        let FaultKind::Race { address, other, now, before, .. } = fault.kind else { panic!("{fault}") };
        assert_eq!(other, fault.thread ^ 1);
        let message = format!(
            "planted: block (0, 0), thread {}: data race: {now} byte {address} of `shared memory`, which thread {other} \
             {before} with no barrier between",
            fault.thread
        );
        assert!(fault.to_string().starts_with(&message), "{fault}");
    }
}

#[test]
fn a_barrier_of_block_or_warp_orders_accesses() {
    let swapped: Vec<u32> = (0..64).map(|i| i ^ 1).collect();
    assert_eq!(clean(geometry(1, 64, 256), neighbours(sync_block)), swapped);
    assert_eq!(clean(geometry(2, 32, 128), neighbours(sync_warp)), swapped);
}

#[test]
fn a_barrier_of_the_warp_does_not_order_warps() {
    let found = faults(geometry(1, 64, 256), |_, _| {
        let cells = SharedMemory::new().array::<u32>(64);
        cells.set(thread_index(), 1);
        sync_warp();
        cells.set((thread_index() + 32) % 64, 2);
    });
    for fault in found {
        let FaultKind::Race { now: "writes", before: "wrote", other, other_block: false, .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_ne!(fault.thread / 32, other / 32);
    }
}

#[test]
fn a_shuffle_orders_no_memory() {
    let found = faults(geometry(1, 32, 128), neighbours(|| _ = shuffle_xor(0_u32, 1)));
    assert!(found.iter().all(|f| matches!(f.kind, FaultKind::Race { .. })));
}

#[test]
fn two_writes_are_a_race_also_if_they_write_the_same() {
    for fault in faults(geometry(1, 32, 0), |_, out| out.set(3, 5)) {
        assert!(matches!(fault.kind, FaultKind::Race { memory: "out", address: 12, now: "writes", .. }), "{fault}");
    }
}

#[test]
fn a_write_after_reads_is_a_race() {
    let found = faults(geometry(1, 32, 4), |_, _| {
        let cell = SharedMemory::new().array::<u32>(1);
        if thread_index() == 0 {
            cell.set(0, 1);
        }
        sync_block();
        cell.get(0);
        if thread_index() == 9 {
            cell.set(0, 2);
        }
    });
    for fault in found {
        assert!(matches!(fault.kind, FaultKind::Race { memory: "shared memory", address: 0, .. }), "{fault}");
    }
}

#[test]
fn blocks_race_with_each_other() {
    for fault in faults(geometry(2, 32, 0), |_, out| out.set(thread_index() as u64, block_index())) {
        assert!(matches!(fault.kind, FaultKind::Race { other_block: true, .. }), "{fault}");
        assert!(fault.to_string().contains("of another block wrote with no barrier between"), "{fault}");
    }
}

#[test]
fn atomics_do_not_race_with_each_other_but_with_other_accesses() {
    let sum = clean(geometry(2, 32, 0), |numbers, out| out.add(0, numbers.get(i())));
    assert_eq!(sum[0], (0..64).sum());
    let found = faults(geometry(1, 32, 4), |_, _| {
        let cell = SharedMemory::new().array::<u32>(1);
        if thread_index() == 0 {
            cell.set(0, 0);
        }
        sync_block();
        if thread_index() == 5 {
            cell.get(0);
        } else {
            cell.add(0, 1);
        }
    });
    for fault in found {
        let FaultKind::Race { now, before, .. } = fault.kind else { panic!("{fault}") };
        assert!(matches!((now, before), ("reads", "added to") | ("adds to", "read")), "{fault}");
    }
}

#[test]
fn the_next_kernel_may_read_what_the_last_one_wrote() {
    let emulator = Emulator::new(3);
    let out = emulator.uninitialised::<u32>("out", 64);
    emulator.launch("first", geometry(2, 32, 0), || out.output().set(i(), 1)).unwrap();
    emulator
        .launch("second", geometry(2, 32, 0), || out.output().set(63 - i(), out.output().get(63 - i()) + 1))
        .unwrap();
    assert_eq!(out.to_vec(), [2; 64]);
}

#[test]
fn a_barrier_that_a_thread_skips_by_returning_is_found() {
    let found = faults(geometry(1, 64, 0), |_, _| {
        if thread_index() == 40 {
            return;
        }
        sync_block();
    });
    for fault in found {
        assert_eq!(fault.kind, FaultKind::Stuck { at: "barrier of the block", missing: 40, elsewhere: None });
        let message =
            "planted: block (0, 0), thread 0: barrier of the block not reached by all: thread 40 has returned";
        assert!(fault.to_string().starts_with(message), "{fault}");
    }
}

#[test]
fn a_barrier_in_a_branch_is_found() {
    let found = faults(geometry(1, 32, 0), |_, out| {
        // Each branch reaches a barrier, but not the same one.
        if thread_index() < 16 {
            sync_block();
            out.set(i(), 0);
        } else {
            sync_block();
        }
    });
    for fault in found {
        let FaultKind::Stuck { missing: 16, elsewhere: Some(("barrier of the block", place)), .. } = fault.kind else {
            panic!("{fault}")
        };
        assert_ne!(place.line(), fault.place.line());
    }
}

#[test]
fn a_shuffle_that_a_lane_skips_is_found() {
    let found = faults(geometry(2, 64, 0), |_, _| {
        if thread_index() != 33 {
            shuffle_xor(thread_index(), 1);
        }
        sync_block();
    });
    for fault in found {
        let FaultKind::Stuck { at: "shuffle", missing: 33, elsewhere: Some(("barrier of the block", _)) } = fault.kind
        else {
            panic!("{fault}")
        };
        assert_eq!(fault.thread, 32);
    }
}

#[test]
fn shuffles_and_votes_give_what_the_hardware_gives() {
    let xor = clean(geometry(1, 64, 0), |numbers, out| out.set(i(), shuffle_xor(numbers.get(i()), 5)));
    assert_eq!(xor, (0..64).map(|i| i ^ 5).collect::<Vec<u32>>());
    let down = clean(geometry(1, 64, 0), |numbers, out| out.set(i(), shuffle_down(numbers.get(i()), 30)));
    let expected: Vec<u32> = (0..64).map(|i| if i % 32 < 2 { i + 30 } else { i }).collect();
    assert_eq!(down, expected);
    let votes = clean(geometry(1, 64, 0), |_, out| out.set(i(), ballot(thread_index().is_multiple_of(3))));
    let bits = |first: u32| (0..32).filter(|lane| (first + lane).is_multiple_of(3)).fold(0, |b, lane| b | 1 << lane);
    assert_eq!((votes[0], votes[63]), (bits(0), bits(32)));
    let halves = clean(geometry(1, 32, 0), |_, out| {
        let value = shuffle_xor((thread_index() as u64) << 40 | 1, 1);
        out.set(i(), (value >> 40) as u32 + value as u32);
    });
    assert_eq!(halves[6], 8);
}

#[test]
fn constant_memory_ends_where_the_host_filled_it() {
    let emulator = Emulator::new(0);
    let out = emulator.uninitialised::<u32>("out", 32);
    let kernel = || out.output().set(i(), Constants::<u32>::new().get(thread_index()));
    emulator.fill_constants(&(100..132).collect::<Vec<u32>>());
    emulator.launch("clean", geometry(1, 32, 0), kernel).unwrap();
    assert_eq!(out.to_vec(), (100..132).collect::<Vec<_>>());
    emulator.fill_constants(&[1_u32; 31]);
    let fault = emulator.launch("planted", geometry(1, 32, 0), kernel).unwrap_err();
    assert_eq!((fault.thread, fault.kind), (31, FaultKind::Unwritten { memory: "constant memory", address: 124 }));
}

#[test]
fn a_kernel_that_panics_ends_the_test() {
    let emulator = Emulator::new(0);
    let run = || emulator.launch("planted", geometry(1, 32, 0), || assert!(thread_index() < 31, "planted panic"));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
    assert_eq!(*panic.downcast_ref::<&str>().unwrap(), "planted panic");
}

#[test]
fn what_blocks_write_is_seen_after_a_barrier_of_the_grid() {
    let exchange = |numbers: In<u32>, out: Out<u32>, meet: bool| {
        let mut grid = GridBarrier::new(out);
        let own = SharedMemory::new().array::<u32>(32);
        for round in 0..3 {
            if round == 0 {
                own.set(thread_index(), numbers.get(i()));
            }
            // Each block writes, by what its shared memory still holds, what the other reads.
            out.set(i(), own.get(thread_index()) + round);
            if meet || round != 1 {
                grid.sync();
            }
            let other = out.get((i() + 32) % 64);
            if meet || round != 1 {
                grid.sync();
            }
            own.set(thread_index(), other);
        }
    };
    let result = clean(geometry(2, 32, 128), |numbers, out| exchange(numbers, out, true));
    // What the other block had, and then had from this one, and so on: each round adds its number.
    assert_eq!(result, (0..64).map(|i| i + 3).collect::<Vec<u32>>());
    for fault in faults(geometry(2, 32, 128), |numbers, out| exchange(numbers, out, false)) {
        assert!(matches!(fault.kind, FaultKind::Race { memory: "out", other_block: true, .. }), "{fault}");
    }
}

#[test]
fn a_block_that_does_not_come_to_the_barrier_of_the_grid_is_found() {
    let leaves = |_: In<u32>, out: Out<u32>| {
        let mut grid = GridBarrier::new(out);
        if block_index() != 1 {
            grid.sync();
        }
    };
    for fault in faults(geometry(3, 32, 0), leaves) {
        assert_eq!(fault.kind, FaultKind::Absent { block: [1, 0] }, "{fault}");
    }
    let lingers = |_: In<u32>, out: Out<u32>| {
        let mut grid = GridBarrier::new(out);
        if thread_index() == 5 {
            sync_block();
        } else {
            grid.sync();
        }
    };
    for fault in faults(geometry(2, 32, 0), lingers) {
        assert!(matches!(fault.kind, FaultKind::Stuck { .. }), "{fault}");
    }
}
