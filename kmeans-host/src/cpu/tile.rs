//! The filter's inner loop for any number of columns: rows against groups of centroids, lanes over centroids.
//!
//! A tile is R rows by V vectors of centroids, its R·V accumulators held in registers: for each coordinate it loads V
//! vectors once and reuses them for R rows. Lowest, second lowest and index of the lowest are kept per lane and combined
//! at the end, so that nothing of size [rows, k] exists.

use pulp::{Arch, Simd, WithSimd};

use super::filter::Panels;

/// Rows whose running minima are kept at once.
pub(crate) const GROUP_ROWS: usize = 64;
/// Vectors of centroids side by side.
const VECTORS: usize = 3;

/// No centroid has this index: k is at most `u32::MAX`.
const NO_LABEL: u32 = u32::MAX;

/// What the filter found for one row.
#[derive(Clone, Copy, Default)]
pub(crate) struct Lowest {
    /// The centroid with the lowest lower bound.
    pub label: u32,
    /// That bound.
    pub low: f32,
    /// The second lowest bound; equal to `low` where two share it.
    pub second: f32,
}

/// Centroids per group in [`Panels`] for this processor.
pub(crate) fn width(arch: Arch) -> usize {
    struct Width;
    impl WithSimd for Width {
        type Output = usize;
        fn with_simd<S: Simd>(self, _: S) -> usize {
            VECTORS * S::F32_LANES
        }
    }
    arch.dispatch(Width)
}

/// Whether multiply-adds round once on this processor.
pub(crate) fn fused(arch: Arch) -> bool {
    cfg!(target_arch = "x86_64") && !matches!(arch, Arch::Scalar)
}

/// The lowest bounds of each of up to [`GROUP_ROWS`] rows, laid out as [`Panels::row`] writes them.
pub(crate) fn lowest(arch: Arch, panels: &Panels, rows: &[f32], out: &mut [Lowest]) {
    arch.dispatch(Rows { panels, rows, out });
}

/// All lower bounds of one row: k values.
pub(crate) fn lower_bounds(arch: Arch, panels: &Panels, row: &[f32], out: &mut Vec<f32>) {
    out.clear();
    arch.dispatch(Bounds { panels, row, out });
    out.truncate(panels.k);
}

struct Rows<'a> {
    panels: &'a Panels,
    rows: &'a [f32],
    out: &'a mut [Lowest],
}

impl WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        // Accumulators for 8 rows need 24 of 32 vector registers; with 16 registers 4 rows fit.
        if S::REGISTER_COUNT >= 32 {
            run::<S, 8>(simd, self.panels, self.rows, self.out);
        } else {
            run::<S, 4>(simd, self.panels, self.rows, self.out);
        }
    }
}

struct Bounds<'a> {
    panels: &'a Panels,
    row: &'a [f32],
    out: &'a mut Vec<f32>,
}

impl WithSimd for Bounds<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Bounds { panels, row, out } = self;
        let stride = panels.stride();
        let start = S::as_simd_f32s(&panels.start).0;
        for (g, group) in S::as_simd_f32s(&panels.values).0.chunks_exact(stride * VECTORS).enumerate() {
            let start: &[S::f32s; VECTORS] = start[g * VECTORS..][..VECTORS].try_into().expect("VECTORS long");
            let [sums] = product::<S, 1, VECTORS>(simd, group.as_chunks().0, start, row, stride);
            for sum in sums {
                out.extend_from_slice(pulp::bytemuck::cast_slice(std::slice::from_ref(&sum)));
            }
        }
    }
}

/// Running minima of one row, a lane for every place in a vector of centroids.
#[derive(Clone, Copy)]
struct Running<S: Simd> {
    low: S::f32s,
    second: S::f32s,
    label: S::u32s,
}

#[inline(always)]
fn run<S: Simd, const R: usize>(simd: S, panels: &Panels, rows: &[f32], out: &mut [Lowest]) {
    let stride = panels.stride();
    let infinity = simd.splat_f32s(f32::INFINITY);
    let mut running = [Running::<S> { low: infinity, second: infinity, label: simd.splat_u32s(0) }; GROUP_ROWS];
    let running = &mut running[..out.len()];
    let group_vectors = S::as_simd_f32s(&panels.values).0;
    let start = S::as_simd_f32s(&panels.start).0;
    let lane: S::u32s = lanes(simd);

    for (g, group) in group_vectors.chunks_exact(stride * VECTORS).enumerate() {
        let (group, _) = group.as_chunks::<VECTORS>();
        let start: &[S::f32s; VECTORS] = start[g * VECTORS..][..VECTORS].try_into().expect("VECTORS long");
        let mut labels = [lane; VECTORS];
        for (v, label) in labels.iter_mut().enumerate() {
            *label = simd.add_u32s(lane, simd.splat_u32s(((g * VECTORS + v) * S::F32_LANES) as u32));
        }
        let used = (panels.k - g * VECTORS * S::F32_LANES).div_ceil(S::F32_LANES).min(VECTORS);
        let mut tiles = running.chunks_exact_mut(R);
        let mut row_tiles = rows.chunks_exact(R * stride);
        for (tile, rows) in (&mut tiles).zip(&mut row_tiles) {
            match used {
                1 => update::<S, R, 1>(simd, group, start, &labels, rows, stride, tile),
                2 => update::<S, R, 2>(simd, group, start, &labels, rows, stride, tile),
                _ => update::<S, R, 3>(simd, group, start, &labels, rows, stride, tile),
            }
        }
        for (tile, row) in tiles.into_remainder().chunks_exact_mut(1).zip(row_tiles.remainder().chunks_exact(stride)) {
            update::<S, 1, 3>(simd, group, start, &labels, row, stride, tile);
        }
    }
    for (out, running) in out.iter_mut().zip(running) {
        *out = combine(simd, running);
    }
}

/// One tile of R rows and V vectors, and its effect on the running minima.
#[inline(always)]
fn update<S: Simd, const R: usize, const V: usize>(
    simd: S,
    group: &[[S::f32s; VECTORS]],
    start: &[S::f32s; VECTORS],
    labels: &[S::u32s; VECTORS],
    rows: &[f32],
    stride: usize,
    running: &mut [Running<S>],
) {
    let sums: [[S::f32s; V]; R] = product(simd, group, start, rows, stride);
    for (state, sums) in running.iter_mut().zip(sums) {
        for (low, label) in sums.into_iter().zip(labels) {
            let lower = simd.less_than_f32s(low, state.low);
            state.second = simd.min_f32s(state.second, simd.max_f32s(low, state.low));
            state.low = simd.min_f32s(low, state.low);
            state.label = simd.select_u32s(lower, *label, state.label);
        }
    }
}

/// `start − rows · group`, the group's values being negated.
#[inline(always)]
fn product<S: Simd, const R: usize, const V: usize>(
    simd: S,
    group: &[[S::f32s; VECTORS]],
    start: &[S::f32s; VECTORS],
    rows: &[f32],
    stride: usize,
) -> [[S::f32s; V]; R] {
    let start: [S::f32s; V] = std::array::from_fn(|v| start[v]);
    let mut sums = [start; R];
    let rows: [&[f32]; R] = std::array::from_fn(|r| &rows[r * stride..][..group.len()]);
    for (j, z) in group.iter().enumerate() {
        for r in 0..R {
            let y = simd.splat_f32s(rows[r][j]);
            for v in 0..V {
                sums[r][v] = simd.mul_add_e_f32s(y, z[v], sums[r][v]);
            }
        }
    }
    sums
}

/// Combines the lanes of one row.
#[inline(always)]
fn combine<S: Simd>(simd: S, running: &Running<S>) -> Lowest {
    let low = simd.reduce_min_f32s(running.low);
    let winners = simd.equal_f32s(running.low, simd.splat_f32s(low));
    // A lane that did not win has no label; of several that did, any will do: the row is then a tie for D to settle.
    let labels = [simd.select_u32s(winners, running.label, simd.splat_u32s(NO_LABEL))];
    let labels: &[u32] = pulp::bytemuck::cast_slice(&labels);
    let count: u32 = labels.iter().map(|&label| u32::from(label != NO_LABEL)).sum();
    let label = labels.iter().copied().fold(NO_LABEL, u32::min);
    // Every other lane's lowest competes for the second place, and so do the lanes' own second lowest.
    let others = simd.select_f32s(winners, simd.splat_f32s(f32::INFINITY), running.low);
    let second = simd.reduce_min_f32s(simd.min_f32s(others, running.second));
    Lowest { label, low, second: if count > 1 { low } else { second } }
}

/// 0, 1, 2, … in the lanes of a vector.
#[inline(always)]
fn lanes<S: Simd>(simd: S) -> S::u32s {
    let all: [u32; 64] = std::array::from_fn(|i| i as u32);
    simd.partial_load_u32s(&all[..S::F32_LANES])
}
