//! The filter's inner loop for one to five columns: lanes over rows.
//!
//! With so few columns a tile over centroids would spend its time on minima across lanes. Here every lane is a row of
//! its own, coordinates lie one column after the other, and each centroid is a handful of broadcast values. One error
//! bound serves all centroids, so the lower bounds need no slope.

use kmeans_core::Scalar;
use pulp::{Arch, Simd, WithSimd};

use super::filter::{FAR_POINT, Panels, up};
use super::frame::Frame;

/// Most columns this path takes.
pub(crate) const MAX_COLUMNS: usize = 5;
/// Rows handled at once; a multiple of every vector width.
pub(crate) const GROUP_ROWS: usize = 256;
/// Vectors of rows handled together, to hide the latency of an operation.
const VECTORS: usize = 4;

/// Centroids as this path reads them.
pub(crate) struct Broadcast {
    d: usize,
    /// Per centroid |z|²/2 and the negated coordinates, padded.
    values: Vec<[f32; 1 + MAX_COLUMNS]>,
    /// The largest slope and offset of all centroids.
    slope: f32,
    offset: f32,
}

/// A group of rows: coordinates by column, and what was found.
pub(crate) struct Group {
    columns: [[f32; GROUP_ROWS]; MAX_COLUMNS],
    /// The nearest centroid by the filter.
    pub labels: [u32; GROUP_ROWS],
    /// The two lowest scores, each within the group's error of the truth.
    pub low: [f32; GROUP_ROWS],
    pub second: [f32; GROUP_ROWS],
    /// A bound on |y| over the group; beyond [`FAR_POINT`] nothing is decided.
    pub rho: f32,
    /// A label is decided where second − low is more than this.
    pub gap: f32,
    /// The error of one score.
    pub error: f32,
}

impl Group {
    pub fn new() -> Box<Self> {
        Box::new(Self {
            columns: [[0.0; GROUP_ROWS]; MAX_COLUMNS],
            labels: [0; GROUP_ROWS],
            low: [0.0; GROUP_ROWS],
            second: [0.0; GROUP_ROWS],
            rho: 0.0,
            gap: 0.0,
            error: 0.0,
        })
    }
}

impl Group {
    /// ρ of one row.
    #[inline(always)]
    pub fn row_rho(&self, at: usize, panels: &Panels) -> f32 {
        panels.rho(self.columns[..panels.d].iter().map(|column| column[at] * column[at]).sum())
    }
}

impl Broadcast {
    /// `None` where this path does not pay: more columns than five, or centroids of such different sizes that one bound
    /// for all of them would be loose.
    pub fn new(panels: &Panels) -> Option<Self> {
        if panels.d > MAX_COLUMNS {
            return None;
        }
        let mut offsets = panels.offset.clone();
        offsets.sort_unstable_by(f32::total_cmp);
        let (typical, largest) = (offsets[panels.k / 2], offsets[panels.k - 1]);
        if !(largest <= typical * 1024.0) {
            return None;
        }
        let values = (0..panels.k)
            .map(|k| {
                let mut row = [0.0; 1 + MAX_COLUMNS];
                let mut square = 0.0;
                for (j, &z) in panels.centroid(k).iter().enumerate() {
                    row[1 + j] = -z;
                    square += z as f64 * z as f64;
                }
                row[0] = (square / 2.0) as f32;
                row
            })
            .collect();
        let slope = panels.slope.iter().copied().fold(0.0, f32::max);
        Some(Self { d: panels.d, values, slope, offset: largest })
    }

    /// Fills `group` from up to [`GROUP_ROWS`] rows, row-major, and finds each one's lowest scores.
    #[inline(always)]
    pub fn lowest<T: Scalar>(&self, arch: Arch, frame: &Frame, panels: &Panels, rows: &[T], group: &mut Group) {
        let largest = match self.d {
            1 => arch.dispatch(Load::<T, 1> { frame, rows, columns: &mut group.columns }),
            2 => arch.dispatch(Load::<T, 2> { frame, rows, columns: &mut group.columns }),
            3 => arch.dispatch(Load::<T, 3> { frame, rows, columns: &mut group.columns }),
            4 => arch.dispatch(Load::<T, 4> { frame, rows, columns: &mut group.columns }),
            _ => arch.dispatch(Load::<T, 5> { frame, rows, columns: &mut group.columns }),
        };
        group.rho = panels.rho(largest);
        if !(group.rho <= FAR_POINT) {
            (group.gap, group.error) = (f32::INFINITY, f32::INFINITY);
            return;
        }
        // The errors of two scores, and D's own rounding.
        let error = group.rho as f64 * self.slope as f64 + self.offset as f64;
        let own = (group.rho as f64).powi(2) * (self.d + 3) as f64 * f64::EPSILON * 8.0;
        (group.gap, group.error) = (up(2.1 * error + own), up(1.01 * error));
        let n = rows.len() / self.d;
        match self.d {
            1 => arch.dispatch(Scores::<1> { broadcast: self, n, group }),
            2 => arch.dispatch(Scores::<2> { broadcast: self, n, group }),
            3 => arch.dispatch(Scores::<3> { broadcast: self, n, group }),
            4 => arch.dispatch(Scores::<4> { broadcast: self, n, group }),
            _ => arch.dispatch(Scores::<5> { broadcast: self, n, group }),
        }
    }
}

struct Scores<'a, const D: usize> {
    broadcast: &'a Broadcast,
    n: usize,
    group: &'a mut Group,
}

impl<const D: usize> WithSimd for Scores<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { broadcast, n, group } = self;
        let step = VECTORS * S::F32_LANES;
        for at in (0..n.next_multiple_of(step).min(GROUP_ROWS)).step_by(step) {
            let y: [[S::f32s; VECTORS]; D] = std::array::from_fn(|j| {
                let (vectors, _) = S::as_simd_f32s(&group.columns[j][at..at + step]);
                std::array::from_fn(|v| vectors[v])
            });
            let mut low = [simd.splat_f32s(f32::INFINITY); VECTORS];
            let mut second = low;
            let mut label = [simd.splat_u32s(0); VECTORS];
            for (k, centroid) in broadcast.values.iter().enumerate() {
                let half = simd.splat_f32s(centroid[0]);
                let z: [S::f32s; D] = std::array::from_fn(|j| simd.splat_f32s(centroid[1 + j]));
                let k = simd.splat_u32s(k as u32);
                for v in 0..VECTORS {
                    let mut score = half;
                    for j in 0..D {
                        score = simd.mul_add_e_f32s(y[j][v], z[j], score);
                    }
                    let lower = simd.less_than_f32s(score, low[v]);
                    second[v] = simd.min_f32s(second[v], simd.max_f32s(score, low[v]));
                    low[v] = simd.min_f32s(score, low[v]);
                    label[v] = simd.select_u32s(lower, k, label[v]);
                }
            }
            S::as_mut_simd_f32s(&mut group.low[at..at + step]).0.copy_from_slice(&low);
            S::as_mut_simd_f32s(&mut group.second[at..at + step]).0.copy_from_slice(&second);
            S::as_mut_simd_u32s(&mut group.labels[at..at + step]).0.copy_from_slice(&label);
        }
    }
}

/// Writes coordinates by column; returns the largest sum of squares.
struct Load<'a, T, const D: usize> {
    frame: &'a Frame,
    rows: &'a [T],
    columns: &'a mut [[f32; GROUP_ROWS]; MAX_COLUMNS],
}

impl<T: Scalar, const D: usize> WithSimd for Load<'_, T, D> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        let Self { frame, rows, columns } = self;
        let rows = &rows.as_chunks::<D>().0[..(rows.len() / D).min(GROUP_ROWS)];
        if let Some((center, scale)) = frame.in_f32() {
            let center: [f32; D] = center.try_into().expect("d values");
            for i in 0..rows.len() {
                for j in 0..D {
                    columns[j][i] = (rows[i][j].to_f32() - center[j]) * scale;
                }
            }
        } else {
            for (i, row) in rows.iter().enumerate() {
                let mut y = [0.0; D];
                frame.convert(row, &mut y);
                for j in 0..D {
                    columns[j][i] = y[j];
                }
            }
        }
        let mut squares = [0.0_f32; GROUP_ROWS];
        for column in &mut columns[..D] {
            column[rows.len()..].fill(0.0);
            for (s, y) in squares.iter_mut().zip(column) {
                *s += *y * *y;
            }
        }
        let mut largest = [0.0_f32; 16];
        for chunk in squares.as_chunks::<16>().0 {
            for (l, s) in largest.iter_mut().zip(chunk) {
                *l = if *s > *l { *s } else { *l };
            }
        }
        largest.into_iter().fold(0.0, f32::max)
    }
}
