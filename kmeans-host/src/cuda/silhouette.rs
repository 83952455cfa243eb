//! The silhouette coefficient of every point on the device: no distance is stored.

use kmeans_core::launch;

use super::driver::{Arg, Array, Stream, read, write_part};
use crate::Error;
use crate::engine::Grouped;

/// Multiplications of a launch: a fraction of a second on a GPU with few units for `f64`, whose screen must not freeze.
const TOGETHER: u64 = 1 << 38;
/// Fewer points do not fill a GPU.
const LEAST_ROWS: u64 = 1 << 15;
/// What the driver takes for itself.
const RESERVE: u64 = 64 << 20;

/// The coefficients in the order of `grouped`.
pub fn silhouettes(stream: &Stream, grouped: &Grouped) -> Result<Vec<f64>, Error> {
    let Grouped { columns, n, sizes } = grouped;
    let (n64, d) = (*n as u64, columns.len().checked_div(*n).unwrap_or(0) as u64);
    stream.require(RESERVE + 8 * (columns.len() + n + sizes.len()) as u64)?;
    let ends: Vec<u64> = sizes
        .iter()
        .scan(0, |end, &size| {
            *end += size as u64;
            Some(*end)
        })
        .collect();
    let ends = stream.upload(&ends)?;
    let points = stream.upload(columns)?;
    let mut found: Array<f64> = stream.array(*n)?;
    let step = (TOGETHER / (n64 * d).max(1)).max(LEAST_ROWS);
    for first in (0..n64).step_by(step as usize) {
        let rows = step.min(n64 - first);
        let arguments = [
            read(&points),
            read(&ends),
            write_part(&mut found, first as usize..(first + rows) as usize),
            Arg::U64(first),
            Arg::U64(rows),
            Arg::U64(n64),
            Arg::U32(sizes.len() as u32),
            Arg::U32(d as u32),
        ];
        stream.launch(&launch::SILHOUETTE, "", launch::silhouette(rows), &arguments)?;
    }
    stream.download(&found, *n)
}
