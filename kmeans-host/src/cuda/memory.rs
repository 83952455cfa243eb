//! How much device memory work takes, known before any of it is allocated.

use super::Number;
use super::assigner::Assigner;
use super::sums::Sums;
use super::whole;
use crate::engine::Task;
use crate::points::Facts;

/// What the driver takes for itself: kernels, their local memory, rounding of allocations.
const RESERVE: u64 = 64 << 20;

/// Most bytes of the matrix of distances that `transform` has on the device at a time.
pub const DISTANCE_BYTES: u64 = 256 << 20;

/// Bytes for `task` on points with these facts, which take `points` bytes of memory that is not there yet.
pub fn needed<T: Number>(facts: &Facts, task: Task, points: u64) -> u64 {
    let (n, d) = (facts.n as u64, facts.d as u64);
    let size = size_of::<T>() as u64;
    let weights = if facts.weights.is_some() { 8 * n } else { 0 };
    let (Task::Fit { k } | Task::Predict { k }) = task;
    let centroids = k as u64 * d * size;
    let assign = Assigner::<T>::bytes(facts, k);
    let state = match task {
        // Three rounds' labels and the best ones; D of every row, for seeding or for empty clusters; three rounds' centroids,
        // and the distances between them in two records; the list of empty clusters.
        Task::Fit { k } => {
            let seeding = 8 * n + 4 * n;
            4 * 4 * n
                + seeding
                + 3 * centroids
                + 24 * k as u64
                + Sums::bytes::<T>(facts, k)
                + whole::bytes::<T>(k as u64, d)
        }
        // Labels; the centroids; either sums or distances, the latter in parts.
        Task::Predict { k } => {
            let distances = DISTANCE_BYTES.min(8 * n * k as u64);
            4 * n + centroids + Sums::bytes::<T>(facts, k).max(distances)
        }
    };
    RESERVE + points + weights + assign + state
}
