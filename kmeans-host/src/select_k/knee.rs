//! The knee of a falling curve.

/// The index of the knee (elbow) of a falling convex curve: the point farthest below the line from the first point to
/// the last, the first among equals; `None` for fewer than three points, or if none is below the line.
///
/// Source: Satopää, Albrecht, Irwin, Raghavan, "Finding a 'Kneedle' in a haystack: detecting knee points in system behavior",
/// ICDCS workshops 2011, without its smoothing: both axes are scaled to 0 to 1, where the point farthest from the line is
/// the one where 1 − x − y is largest.
///
/// ```
/// use kmeans_host::select_k::knee;
/// assert_eq!(knee(&[1.0, 2.0, 3.0, 4.0, 5.0], &[100.0, 60.0, 15.0, 12.0, 10.0]), Some(2));
/// assert_eq!(knee(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), None);
/// ```
pub fn knee(x: &[f64], y: &[f64]) -> Option<usize> {
    let last = x.len().min(y.len()).checked_sub(1)?;
    let (width, height) = (x[last] - x[0], y[0] - y[last]);
    if !(width > 0.0 && height > 0.0) {
        return None;
    }
    let mut best = None;
    for i in 1..last {
        let below = 1.0 - (x[i] - x[0]) / width - (y[i] - y[last]) / height;
        // What rounding alone puts below the line is on it.
        if below > best.map_or(1e-12, |(depth, _)| depth) {
            best = Some((below, i));
        }
    }
    best.map(|(_, i)| i)
}
