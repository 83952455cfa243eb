//! The emulator's barriers in shared memory, bulk copies and products under way: what they give, and the faults planted in
//! their use.

use half::f16;
use kmeans_core::launch::Geometry;
use kmeans_kernels::device::emulated::{Emulator, Fault, FaultKind};
use kmeans_kernels::device::{
    Barriers, In, Narrow, Out, Shared, SharedMemory, Swizzled, Wide, begin_first_slim_product, begin_narrow_product,
    begin_product, begin_slim_product, commit_products, fence_tiles, publish_barriers, sync_block, sync_warp,
    thread_index, wait_earlier_products, wait_products,
};

const SEEDS: std::ops::Range<u64> = 0..20;

fn geometry(block: u32, shared: u32) -> Geometry {
    Geometry { grid: [1, 1], block, shared }
}

/// Runs `kernel` on the numbers 0 to 63 under many seeds: what it wrote, or the fault.
fn runs(block: u32, shared: u32, kernel: impl Fn(In<u32>, Out<u32>)) -> Vec<Result<Vec<u32>, Fault>> {
    let run = |seed| {
        let emulator = Emulator::new(seed);
        let numbers = emulator.buffer("numbers", &(0..64).collect::<Vec<u32>>());
        let out = emulator.buffer("out", &[0; 64]);
        emulator.launch("planted", geometry(block, shared), || kernel(numbers.input(), out.output()))?;
        Ok(out.to_vec())
    };
    SEEDS.map(run).collect()
}

fn clean(block: u32, shared: u32, kernel: impl Fn(In<u32>, Out<u32>)) -> Vec<u32> {
    let mut results: Vec<_> = runs(block, shared, kernel).into_iter().map(Result::unwrap).collect();
    results.dedup();
    assert_eq!(results.len(), 1, "the result depends on the order of threads");
    results.remove(0)
}

fn faults(block: u32, shared: u32, kernel: impl Fn(In<u32>, Out<u32>)) -> Vec<FaultKind> {
    runs(block, shared, kernel).into_iter().map(|result| result.unwrap_err().kind).collect()
}

/// One thread sets up a barrier for `arrivals`.
fn barrier<'a>(shared: &mut SharedMemory, arrivals: u32) -> Barriers<'a> {
    let barriers = shared.barriers(1);
    if thread_index() == 0 {
        barriers.init(0, arrivals);
        publish_barriers();
    }
    sync_block();
    barriers
}

/// Thread 0 copies 64 numbers; all read one after `wait`.
fn copied(before: impl Fn(), wait: impl Fn(Barriers)) -> impl Fn(In<u32>, Out<u32>) {
    move |numbers, out| {
        let mut shared = SharedMemory::new();
        let cells: Shared<u32> = shared.array(64);
        let barriers = shared.barriers(1);
        if thread_index() == 0 {
            barriers.init(0, 1);
            before();
        }
        sync_block();
        if thread_index() == 0 {
            barriers.arrive_expecting(0, 256);
            cells.copy_bulk(0, numbers, 0, 64, barriers, 0);
        }
        wait(barriers);
        out.set(thread_index() as u64, cells.get(63 - thread_index()));
    }
}

#[test]
fn a_bulk_copy_is_there_once_its_barrier_is_passed() {
    let numbers = clean(64, 512, copied(publish_barriers, |b| b.wait(0, 0)));
    assert_eq!(numbers, (0..64).rev().collect::<Vec<u32>>());
}

#[test]
fn reading_a_bulk_copy_without_waiting_is_found() {
    for kind in faults(64, 512, copied(publish_barriers, |_| {})) {
        assert!(matches!(kind, FaultKind::Unwritten { .. } | FaultKind::Race { .. }), "{kind}");
    }
}

#[test]
fn copying_to_a_barrier_that_was_not_published_is_found() {
    for kind in faults(64, 512, copied(|| {}, |b| b.wait(0, 0))) {
        assert_eq!(kind, FaultKind::Unfenced { address: 256, writer: 0 });
    }
}

#[test]
fn a_barrier_that_others_may_not_see_yet_is_found() {
    let found = runs(32, 64, |_, _| {
        let barriers = SharedMemory::new().barriers(1);
        if thread_index() == 0 {
            barriers.init(0, 32);
        }
        barriers.arrive(0);
    });
    for fault in found {
        let kind = fault.unwrap_err().kind;
        assert!(matches!(kind, FaultKind::Unwritten { .. } | FaultKind::Race { .. }), "{kind}");
    }
}

/// Thread 0 writes, and tells thread 32 by a barrier, which reads.
fn told(wait: impl Fn(Barriers)) -> impl Fn(In<u32>, Out<u32>) {
    move |_, out| {
        let mut shared = SharedMemory::new();
        let cell: Shared<u32> = shared.array(1);
        let barriers = barrier(&mut shared, 1);
        if thread_index() == 0 {
            cell.set(0, 7);
            barriers.arrive(0);
        }
        if thread_index() == 32 {
            wait(barriers);
            out.set(0, cell.get(0));
        }
    }
}

#[test]
fn arriving_and_waiting_orders_memory() {
    assert_eq!(clean(64, 64, told(|b| b.wait(0, 0)))[0], 7);
    // The phase before the first counts as over, so that waits for nothing.
    // It waits for the next phase instead if it comes late.
    for kind in faults(64, 64, told(|b| b.wait(0, 1))) {
        let is_found = matches!(kind, FaultKind::Unwritten { .. } | FaultKind::Race { .. } | FaultKind::Starved { .. });
        assert!(is_found, "{kind}");
    }
}

/// All lanes of a warp write, one arrives for them; a lane of the other warp reads.
fn told_for_others(before: impl Fn()) -> impl Fn(In<u32>, Out<u32>) {
    move |_, out| {
        let mut shared = SharedMemory::new();
        let cells: Shared<u32> = shared.array(32);
        let barriers = barrier(&mut shared, 1);
        if thread_index() < 32 {
            cells.set(thread_index(), thread_index());
            before();
            if thread_index() == 0 {
                barriers.arrive(0);
            }
        } else {
            barriers.wait(0, 0);
            out.set(thread_index() as u64, cells.get(63 - thread_index()));
        }
    }
}

#[test]
fn arriving_for_other_lanes_takes_a_barrier_of_the_warp() {
    assert_eq!(clean(64, 256, told_for_others(sync_warp))[32..], (0..32).rev().collect::<Vec<u32>>());
    let found = runs(64, 256, told_for_others(|| {}));
    assert!(
        found
            .iter()
            .any(|r| matches!(r, Err(f) if matches!(f.kind, FaultKind::Race { .. } | FaultKind::Unwritten { .. })))
    );
    assert!(found.iter().all(Result::is_err));
}

#[test]
fn a_barrier_that_lacks_arrivals_is_found() {
    let found = faults(64, 64, |_, _| {
        let barriers = barrier(&mut SharedMemory::new(), 3);
        if thread_index() < 2 {
            barriers.arrive(0);
        }
        barriers.wait(0, 0);
    });
    for kind in found {
        assert_eq!(kind, FaultKind::Starved { address: 0, arrivals: 1, bytes: 0 });
        assert!(kind.to_string().contains("lacks 1 arrivals and 0 bytes"), "{kind}");
    }
}

/// Element of the tiles of the next tests: small enough to be exact in every rounding.
fn element(row: u32, column: u32) -> f16 {
    f16::from_f32(((row * 7 + column * 3) % 9) as f32 - 4.0)
}

/// What a thread's sums are, in one number.
fn digest(sums: &Wide) -> u32 {
    let total: f32 = sums.iter().flatten().enumerate().map(|(i, s)| (i + 1) as f32 * s).sum();
    total.to_bits()
}

/// Four warps fill two tiles and multiply, `then` ends it; threads below 64 tell what they have.
fn multiplied(fence: bool, then: impl Fn(Swizzled<f16>, &mut Wide)) -> impl Fn(In<u32>, Out<u32>) {
    move |_, out| {
        let mut shared = SharedMemory::new();
        let (a, b) = (Swizzled::<f16>::new(&mut shared, 64), Swizzled::<f16>::new(&mut shared, 128));
        let narrow = Narrow::<f16>::new(&mut shared, 128);
        for i in (thread_index()..128 * 64).step_by(128) {
            b.set(i / 64, i % 64, element(i / 64, i % 64));
            if i < 64 * 64 {
                a.set(i / 64, i % 64, element(i / 64 + 1, i % 64));
            }
            if i < 128 * 16 {
                narrow.set(i / 16, i % 16, element(i / 16, i % 16 + 5));
            }
        }
        if fence {
            fence_tiles();
        }
        sync_block();
        let mut sums = [[3.0; 4]; 16];
        begin_narrow_product::<f16>(narrow.repeated(8), narrow.descriptor(0), &mut sums);
        begin_product::<f16>(a.descriptor(0), b.descriptor(0), &mut sums);
        commit_products();
        then(b, &mut sums);
        if thread_index() < 64 {
            out.set(thread_index() as u64, digest(&sums));
        }
    }
}

const SHARED: u32 = (64 + 128) * 128 + 128 * 32;

#[test]
fn products_under_way_are_products_once_they_are_waited_for() {
    let results = clean(128, SHARED, multiplied(true, |_, sums| wait_products::<0>(sums)));
    let product = |r: u32, c: u32| {
        let wide: f32 = (0..64).map(|k| element(r + 1, k).to_f32() * element(c, k).to_f32()).sum();
        let narrow = (0..16).map(|k| element(8 + r % 8, k + 5).to_f32() * element(c, k + 5).to_f32());
        wide + narrow.sum::<f32>()
    };
    for thread in 0..64 {
        let (row, column) = (thread / 32 * 16 + thread % 32 / 4, thread % 4 * 2);
        let mut sums = [[0.0; 4]; 16];
        for (j, eight) in (0..).zip(&mut sums) {
            let c = j * 8 + column;
            *eight = [product(row, c), product(row, c + 1), product(row + 8, c), product(row + 8, c + 1)];
        }
        assert_eq!(results[thread as usize], digest(&sums), "thread {thread}");
    }
}

#[test]
fn sums_that_nobody_waited_for_are_no_numbers() {
    let waits: [fn(&mut Wide); 3] = [|_| {}, wait_products::<1>, |_| wait_earlier_products::<0>()];
    for wait in waits {
        let results = clean(128, SHARED, multiplied(true, |_, sums| wait(sums)));
        assert!(results.into_iter().all(|bits| f32::from_bits(bits).is_nan()));
    }
}

#[test]
fn a_second_product_adds_or_begins_anew() {
    let twice = |anew: bool| {
        clean(
            128,
            SHARED,
            multiplied(true, |b, sums| {
                wait_products::<0>(sums);
                *sums = [[1.0; 4]; 16];
                if anew {
                    // The same in two halves.
                    let [first, second] = [0, 1].map(|half| b.half_descriptor(0, half));
                    begin_first_slim_product::<f16>(first, first, sums);
                    begin_slim_product::<f16>(second, second, sums);
                } else {
                    begin_product::<f16>(b.descriptor(0), b.descriptor(0), sums);
                }
                commit_products();
                wait_products::<0>(sums);
                for sum in sums.iter_mut().flatten() {
                    *sum -= if anew { 0.0 } else { 1.0 };
                }
            }),
        )
    };
    assert_eq!(twice(true), twice(false));
}

#[test]
fn tiles_of_products_under_way_that_nobody_fenced_are_found() {
    for kind in faults(128, SHARED, multiplied(false, |_, sums| wait_products::<0>(sums))) {
        assert!(matches!(kind, FaultKind::Unfenced { .. }), "{kind}");
    }
}

#[test]
fn replacing_a_tile_while_it_is_multiplied_is_found() {
    let found = faults(
        128,
        SHARED,
        multiplied(true, |b, sums| {
            if thread_index() == 5 {
                b.set(3, 3, f16::ONE);
            }
            wait_products::<0>(sums);
        }),
    );
    for kind in found {
        assert!(matches!(kind, FaultKind::Race { .. } | FaultKind::Unfenced { .. }), "{kind}");
    }
}
