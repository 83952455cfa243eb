//! D, the distance that decides labels.

use crate::Scalar;

/// D(x, c): the squared Euclidean distance, computed in `f64`.
///
/// Both arguments are read as stored, `x` a point and `c` a centroid of equal length d. For each coordinate in index
/// order the difference, its square and the running sum are each rounded to `f64`; no fused multiply-add. This one
/// sequence of operations is the definition: a label is the lowest k with the smallest D, bit for bit, on every engine.
/// The relative error against real arithmetic is at most (d + 2)·2⁻⁵³.
///
/// ```
/// assert_eq!(kmeans_core::distance(&[0.0_f32, 3.0], &[4.0, 0.0]), 25.0);
/// ```
#[inline]
pub fn distance<T: Scalar>(x: &[T], c: &[T]) -> f64 {
    debug_assert_eq!(x.len(), c.len());
    let mut sum = 0.0;
    for (a, b) in x.iter().zip(c) {
        let difference = a.to_f64() - b.to_f64();
        sum += difference * difference;
    }
    sum
}

/// The label of `x` by definition: the lowest k that minimises D(x, cₖ), and that D. `centroids` is `[k, d]`, row-major,
/// k ≥ 1.
#[inline]
pub fn nearest<T: Scalar>(x: &[T], centroids: &[T]) -> (u32, f64) {
    let mut best = (0, f64::INFINITY);
    for (k, c) in centroids.chunks_exact(x.len()).enumerate() {
        let d = distance(x, c);
        if d < best.1 {
            best = (k as u32, d);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_lowest_index() {
        assert_eq!(nearest(&[0.5_f32], &[1.0, 0.0, 0.0]), (0, 0.25));
        assert_eq!(nearest(&[0.5_f64], &[2.0, 0.0, 1.0]), (1, 0.25));
    }

    #[test]
    fn no_cancellation_far_from_the_origin() {
        // 1.001 in f32 is not 1.001: the expected value is the exact square of what is stored.
        let (x, c) = (vec![1.0_f32; 1000], vec![1.001_f32; 1000]);
        let step = 1.001_f32 as f64 - 1.0;
        assert!((distance(&x, &c) - 1000.0 * step * step).abs() < 1e-15);
    }
}
