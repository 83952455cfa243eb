//! Whitening: rows turned so that no two directions are correlated and all vary alike.

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::{Array2, ArrayBase, ArrayView2, Data, Ix2};
use rayon::prelude::*;

use crate::Error;

/// Pieces that the rows are summed in, whatever the number of threads, so that rounding does not depend on it.
const PIECES: usize = 16;

/// ZCA whitening of rows, such as those of [`Patches`](super::Patches), and its inverse.
///
/// With m the mean of the rows and C = U Λ Uᵀ their covariance (divided by n), a row x becomes
///
/// ```text
/// z = U (Λ + ε λ I)^(−1/2) Uᵀ (x − m),     x = m + U (Λ + ε λ I)^(1/2) Uᵀ z,
/// ```
///
/// where λ is the mean of the eigenvalues. So with ε = 0 the covariance of the result is the identity; ε > 0 keeps directions of
/// little variance, which are mostly noise, from counting as much as the others. Neighbouring pixels are nearly equal, so that without
/// whitening the distance between patches is that of their brightness and slow gradients; with it, clusters are of edges. PCA
/// whitening, (Λ + ε λ I)^(−1/2) Uᵀ (x − m), is this but for the rotation U, which changes no distance: it gives the same clusters.
///
/// Sources: Bell & Sejnowski, "The 'independent components' of natural scenes are edge filters", Vision Research 37, 1997; before
/// k-means with ε: Coates & Ng, "Learning feature representations with k-means", 2012.
///
/// ```
/// use kmeans_host::KMeans;
/// use kmeans_host::image::{Patches, Whitening};
/// use ndarray::Array3;
///
/// let image = Array3::from_shape_fn((24, 32, 1), |(y, x, _)| ((x * x + 3 * y * x) % 97) as u8); // [h, w, c]
/// let grid = Patches::new(image.dim(), 3, 1)?;
/// let mut patches = grid.extract(&image)?; // [n, d]
/// let means = Patches::remove_means(&mut patches);
/// let whitening = Whitening::new(&patches, 0.01)?;
/// let fitted = KMeans::new(16).fit(&whitening.apply(&patches)?)?;
/// let centroids = whitening.invert(&fitted.centroids())?; // patches again
/// let rebuilt = grid.reconstruct(&centroids, fitted.labels(), Some(means.view()))?;
/// assert_eq!(rebuilt.dim(), image.dim());
/// # Ok::<(), kmeans_host::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Whitening {
    mean: Vec<f64>,
    /// `[d, d]`, symmetric.
    whiten: Vec<f64>,
    /// Its inverse.
    colour: Vec<f64>,
}

impl Whitening {
    /// For rows like `rows`, `[n, d]`; `epsilon`, at least 0, is a share of the mean variance: 0.01 to 0.1 for patches. Where rows
    /// do not vary at all in some direction, as where means were removed, it must be above 0. Memory is 16·d² `f64`, time that of n·d² + 9·d³
    /// multiplications or so.
    ///
    /// # Errors
    /// [`Error::NoPoints`] or [`Error::NoColumns`] for no rows or columns; [`Error::NonFinite`]; [`Error::NotWhitenable`] for an
    /// `epsilon` below 0 or too small for rows that do not vary in every direction.
    pub fn new<D: Data<Elem = f32>>(rows: &ArrayBase<D, Ix2>, epsilon: f64) -> Result<Self, Error> {
        let (n, d) = rows.dim();
        if d == 0 {
            return Err(Error::NoColumns);
        }
        if n == 0 {
            return Err(Error::NoPoints);
        }
        if let Some(((row, column), &value)) = rows.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Error::NonFinite { row, column, value: value.into() });
        }
        let mean: Vec<f64> =
            sums(rows.view(), d, |row, sum| add_scaled(sum, 1.0, row)).iter().map(|s| s / n as f64).collect();
        let products = sums(rows.view(), d * d, |row, sum| {
            row.iter_mut().zip(&mean).for_each(|(x, m)| *x -= m);
            for (sum, &x) in sum.chunks_exact_mut(d).zip(&*row) {
                add_scaled(sum, x, row);
            }
        });
        let covariance = DMatrix::from_iterator(d, d, products.iter().map(|s| s / n as f64));
        let eigen = SymmetricEigen::new(covariance);
        // Rounding leaves directions without variance slightly below zero.
        let variances = eigen.eigenvalues.map(|v| v.max(0.0));
        let (mean_variance, largest) = (variances.mean(), variances.max());
        let scales = variances.map(|v| (v + epsilon * mean_variance).sqrt());
        let least = largest.sqrt() * 1e-7;
        if !(epsilon >= 0.0 && epsilon.is_finite() && scales.min() > least) {
            return Err(Error::NotWhitenable { epsilon });
        }
        // U S Uᵀ, not by a matrix library, which would choose its instructions, and with them how it rounds, by the machine.
        let vectors = eigen.eigenvectors.as_slice();
        let turned = |scales: nalgebra::DVector<f64>| -> Vec<f64> {
            let mut product = vec![0.0; d * d];
            product.par_chunks_exact_mut(d).enumerate().for_each(|(i, row)| {
                for (vector, &scale) in vectors.chunks_exact(d).zip(&scales) {
                    add_scaled(row, scale * vector[i], vector);
                }
            });
            product
        };
        Ok(Self { mean, whiten: turned(scales.map(f64::recip)), colour: turned(scales) })
    }

    /// `rows`, `[m, d]`, whitened.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`] for rows of another length.
    pub fn apply<D: Data<Elem = f32>>(&self, rows: &ArrayBase<D, Ix2>) -> Result<Array2<f32>, Error> {
        self.map(rows.view(), |row, sums| {
            row.iter_mut().zip(&self.mean).for_each(|(x, m)| *x -= m);
            multiply(&self.whiten, row, sums);
        })
    }

    /// The rows that whitening would make `rows`, `[m, d]`, of: its inverse, for centroids.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`] for rows of another length.
    pub fn invert<D: Data<Elem = f32>>(&self, rows: &ArrayBase<D, Ix2>) -> Result<Array2<f32>, Error> {
        self.map(rows.view(), |row, sums| {
            multiply(&self.colour, row, sums);
            add_scaled(sums, 1.0, &self.mean);
        })
    }

    fn map(&self, rows: ArrayView2<'_, f32>, to: impl Fn(&mut [f64], &mut [f64]) + Sync) -> Result<Array2<f32>, Error> {
        let d = self.mean.len();
        if rows.ncols() != d {
            return Err(Error::DimensionMismatch { expected: d, found: rows.ncols() });
        }
        let mut out = vec![0.0_f32; rows.len()];
        out.par_chunks_exact_mut(d).with_min_len(64).enumerate().for_each_init(
            || (vec![0.0; d], vec![0.0; d]),
            |(row, sums), (i, out)| {
                row.iter_mut().zip(rows.row(i)).for_each(|(x, &v)| *x = v.into());
                sums.fill(0.0);
                to(row, sums);
                out.iter_mut().zip(&*sums).for_each(|(out, &sum)| *out = sum as f32);
            },
        );
        Ok(Array2::from_shape_vec(rows.dim(), out).expect("m·d values"))
    }
}

/// `len` sums over all rows, each added by `add`, which may change its copy of the row.
fn sums(rows: ArrayView2<'_, f32>, len: usize, add: impl Fn(&mut [f64], &mut [f64]) + Sync) -> Vec<f64> {
    let each = rows.nrows().div_ceil(PIECES);
    let pieces: Vec<ArrayView2<'_, f32>> = rows.axis_chunks_iter(ndarray::Axis(0), each).collect();
    let pieces: Vec<Vec<f64>> = pieces
        .into_par_iter()
        .map(|rows| {
            let (mut sums, mut row) = (vec![0.0; len], vec![0.0; rows.ncols()]);
            for values in rows.rows() {
                row.iter_mut().zip(values).for_each(|(x, &v)| *x = v.into());
                add(&mut row, &mut sums);
            }
            sums
        })
        .collect();
    pieces
        .into_iter()
        .reduce(|mut a, b| {
            add_scaled(&mut a, 1.0, &b);
            a
        })
        .unwrap_or_default()
}

/// Adds `factor` times `values`.
fn add_scaled(sums: &mut [f64], factor: f64, values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += factor * value);
}

/// Adds the product of a symmetric matrix and `row`.
fn multiply(matrix: &[f64], row: &[f64], sums: &mut [f64]) {
    for (column, &x) in matrix.chunks_exact(row.len()).zip(row) {
        add_scaled(sums, x, column);
    }
}

#[cfg(test)]
mod tests {
    use kmeans_core::rng::{Purpose, Random};

    use super::*;

    /// Correlated rows, far from the origin.
    fn rows(n: usize, d: usize) -> Array2<f32> {
        let random = Random::new(3, 0);
        let unit =
            |i: usize, j: usize| random.below(1 << 20, Purpose::Point, j as u32, i as u64) as f32 / (1 << 20) as f32;
        Array2::from_shape_fn((n, d), |(i, j)| 100.0 + 40.0 * unit(i, d) + (j as f32 + 1.0) * unit(i, j))
    }

    fn covariance(rows: &Array2<f32>) -> Array2<f64> {
        let mut rows = rows.mapv(f64::from);
        for mut column in rows.columns_mut() {
            let mean = column.mean().unwrap();
            column.mapv_inplace(|v| v - mean);
        }
        let n = rows.nrows() as f64;
        rows.t().dot(&rows).mapv(|sum| sum / n)
    }

    #[test]
    fn whitened_rows_are_uncorrelated_and_vary_alike() {
        let rows = rows(4000, 6);
        let whitened = Whitening::new(&rows, 0.0).unwrap().apply(&rows).unwrap();
        for ((i, j), &c) in covariance(&whitened).indexed_iter() {
            // Results are rounded to f32, of values up to 3.
            assert!((c - f64::from(u8::from(i == j))).abs() < 1e-6, "{i} {j}: {c}");
        }
        assert!(whitened.mean_axis(ndarray::Axis(0)).unwrap().iter().all(|m| m.abs() < 1e-4));
    }

    #[test]
    fn it_is_the_symmetric_whitening_and_epsilon_shrinks_what_varies_little() {
        let rows = rows(500, 4);
        let whitening = Whitening::new(&rows, 0.3).unwrap();
        let (c, w) = (covariance(&rows), Array2::from_shape_vec((4, 4), whitening.whiten.clone()).unwrap());
        for i in 0..4 {
            for j in 0..4 {
                assert!((w[[i, j]] - w[[j, i]]).abs() < 1e-12);
            }
        }
        // W (C + ε λ I) W = I
        let lambda = c.diag().sum() / 4.0;
        let regularised = Array2::from_shape_fn((4, 4), |(i, j)| c[[i, j]] + if i == j { 0.3 * lambda } else { 0.0 });
        let product = w.dot(&regularised).dot(&w);
        for ((i, j), &value) in product.indexed_iter() {
            assert!((value - f64::from(u8::from(i == j))).abs() < 1e-9, "{i} {j}: {value}");
        }
    }

    #[test]
    fn inverting_gives_the_rows_back() {
        let rows = rows(300, 7);
        let whitening = Whitening::new(&rows, 0.01).unwrap();
        let back = whitening.invert(&whitening.apply(&rows).unwrap()).unwrap();
        for (a, b) in rows.iter().zip(&back) {
            assert!((a - b).abs() < 1e-3, "{a} {b}");
        }
        let strided = rows.slice(ndarray::s![..;2, ..]);
        assert_eq!(whitening.apply(&strided).unwrap(), whitening.apply(&strided.to_owned()).unwrap());
    }

    #[test]
    fn threads_change_no_bit() {
        let rows = rows(1000, 5);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| Whitening::new(&rows, 0.1).unwrap().apply(&rows).unwrap())
        };
        assert_eq!(run(1), run(3));
    }

    #[test]
    fn what_cannot_be_whitened_is_an_error() {
        let varied = rows(50, 3);
        for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(matches!(Whitening::new(&varied, epsilon), Err(Error::NotWhitenable { .. })));
        }
        // All in a plane, and all the same.
        let mut flat = varied.clone();
        flat.column_mut(2).fill(4.0);
        assert_eq!(Whitening::new(&flat, 0.0), Err(Error::NotWhitenable { epsilon: 0.0 }));
        assert!(Whitening::new(&flat, 0.01).is_ok());
        let same = Array2::from_elem((9, 2), 5.0);
        assert_eq!(Whitening::new(&same, 0.1), Err(Error::NotWhitenable { epsilon: 0.1 }));
        assert_eq!(Whitening::new(&Array2::zeros((0, 2)), 0.1), Err(Error::NoPoints));
        assert_eq!(Whitening::new(&Array2::zeros((2, 0)), 0.1), Err(Error::NoColumns));
        let mut broken = varied.clone();
        broken[[7, 1]] = f32::INFINITY;
        assert_eq!(Whitening::new(&broken, 0.1), Err(Error::NonFinite { row: 7, column: 1, value: f64::INFINITY }));
        let whitening = Whitening::new(&varied, 0.1).unwrap();
        assert_eq!(whitening.apply(&Array2::zeros((4, 2))), Err(Error::DimensionMismatch { expected: 3, found: 2 }));
    }
}
