//! Labels: which kernel finds them.

use std::marker::PhantomData;

use kmeans_core::launch::{self, Kernel};

use super::Number;
use super::driver::{Arg, Array, read, write};
use super::job::Data;
use crate::Error;
use crate::points::Facts;

/// How the labels of a set of points are found.
pub struct Assigner<T> {
    /// The squared norms of the points, where tensor cores multiply.
    norms: Option<Norms>,
    _points: PhantomData<T>,
}

/// Squared norms of the rows of a matrix, and the bits of the largest.
struct Norms {
    norms: Array<f32>,
    largest: Array<u32>,
}

impl Norms {
    /// Of the `rows` rows of `matrix`.
    fn of<T: Number>(data: &Data<'_, T>, matrix: Arg<'_>, rows: u64) -> Result<Self, Error> {
        let mut norms = data.stream.array(rows as usize)?;
        let mut largest = data.stream.zeros(1)?;
        let arguments = [matrix, write(&mut norms), write(&mut largest), Arg::U64(rows), Arg::U32(data.d())];
        data.launch(&launch::NORMS, launch::NORMS.thread_each(rows), &arguments)?;
        Ok(Self { norms, largest })
    }
}

/// Whether tensor cores multiply values of this type as they are.
fn is_half<T: Number>() -> bool {
    launch::HALF_TYPES.contains(&T::NAME)
}

impl<T: Number> Assigner<T> {
    /// Bytes on the device for points with these facts and k clusters.
    pub fn bytes(facts: &Facts, k: usize) -> u64 {
        if is_half::<T>() { 4 * (facts.n as u64 + k as u64 + 2) } else { 0 }
    }

    /// Prepares what depends on the points alone.
    pub fn new(data: &Data<'_, T>) -> Result<Self, Error> {
        let tensor = is_half::<T>() && data.stream.gpu().tier.name != "portable" && data.points.is_aligned();
        let norms = if tensor && data.facts.n > 0 { Some(Norms::of(data, data.points.arg(), data.n())?) } else { None };
        Ok(Self { norms, _points: PhantomData })
    }

    /// The label of every point for `centroids`, `[k, d]`.
    pub fn assign(
        &self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let (n, d, size) = (data.n(), data.d(), Data::<T>::SIZE);
        let sizes = [Arg::U64(n), Arg::U32(k as u32), Arg::U32(d)];
        if let Some(norms) = &self.norms {
            let c_norms = Norms::of(data, read(centroids), k as u64)?;
            let [n_, k_, d_] = sizes;
            let arguments = [
                data.points.arg(),
                read(centroids),
                read(&norms.norms),
                read(&c_norms.norms),
                read(&c_norms.largest),
                write(labels),
                n_,
                k_,
                d_,
            ];
            return match data.stream.gpu().tier.name {
                "hopper" => data.launch(&launch::ASSIGN_WGMMA, launch::assign_wgmma(n), &arguments),
                _ => data.launch(&launch::ASSIGN_MMA, launch::assign_mma(n), &arguments),
            };
        }
        let mut run = |kernel: &Kernel, geometry| {
            let [n_, k_, d_] = sizes;
            data.launch(kernel, geometry, &[data.points.arg(), read(centroids), write(labels), n_, k_, d_])
        };
        let single = launch::SINGLE_TYPES.contains(&T::NAME);
        // A tile of 16 or 64 rows and centroids pays once there are enough multiplications to share its loads.
        if single && d <= launch::NARROW_COLUMNS {
            run(&launch::ASSIGN_NARROW, launch::assign_narrow(n, k as u32, d))
        } else if (k as u64) * (d as u64) < 256 {
            run(&launch::ASSIGN_DIRECT, launch::ASSIGN_DIRECT.thread_each(n))
        } else if single {
            run(&launch::ASSIGN_FILTERED, launch::assign_filtered(n))
        } else {
            run(&launch::ASSIGN_TILED, launch::assign_tiled(n, size))
        }
    }
}
