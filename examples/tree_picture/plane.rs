//! Points in the plane: their two principal components.

use ndarray::{Array1, Array2, Axis};

/// Rounds of the power method: far more than two separate components need for a picture.
const ROUNDS: usize = 300;

/// The coordinates of `points`, `[n, d]`, along their two directions of largest variance, `[n, 2]`.
pub fn principal(points: &Array2<f32>) -> Array2<f32> {
    let points = points.mapv(f64::from);
    let mean = points.mean_axis(Axis(0)).expect("at least one point");
    let centred = &points - &mean;
    let mut covariance = centred.t().dot(&centred) / points.nrows() as f64;
    let mut plane = Array2::zeros((points.nrows(), 2));
    for mut column in plane.columns_mut() {
        let direction = largest(&covariance);
        column.assign(&centred.dot(&direction).mapv(|v| v as f32));
        // What is left has no part in this direction.
        let variance = direction.dot(&covariance.dot(&direction));
        let outer = direction.view().insert_axis(Axis(1)).dot(&direction.view().insert_axis(Axis(0)));
        covariance = covariance - outer * variance;
    }
    plane
}

/// The direction of the largest eigenvalue, by the power method; its largest entry is positive.
fn largest(matrix: &Array2<f64>) -> Array1<f64> {
    let d = matrix.nrows();
    let mut direction = Array1::from_shape_fn(d, |j| 1.0 + j as f64 / d as f64);
    for _ in 0..ROUNDS {
        let next = matrix.dot(&direction);
        let length = next.dot(&next).sqrt();
        // No variance at all: any direction will do.
        if length == 0.0 {
            break;
        }
        direction = next / length;
    }
    let largest = direction.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
    if largest < 0.0 { -direction } else { direction }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_the_axes_of_an_ellipse() {
        // Long along (3, 4), short across it, with an offset.
        let points = Array2::from_shape_fn((200, 2), |(i, j)| {
            let (long, short) = (f32::from(i as u8) - 99.5, if i % 2 == 0 { 3.0 } else { -3.0 });
            7.0 + if j == 0 { 0.6 * long - 0.8 * short } else { 0.8 * long + 0.6 * short }
        });
        let plane = principal(&points);
        assert!(
            (plane[[150, 0]] - 50.5).abs() < 0.1 && (plane[[150, 1]].abs() - 3.0).abs() < 0.1,
            "{}",
            plane.row(150)
        );
        assert!(principal(&Array2::from_elem((5, 3), 2.0)).iter().all(|&v| v == 0.0));
    }
}
