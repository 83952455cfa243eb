//! Numbers with a range.

/// A finite number that is not negative.
pub fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err("give a number that is not negative".into()),
    }
}

/// A finite number above 0.
pub fn positive(text: &str) -> Result<f32, String> {
    match text.parse::<f32>() {
        Ok(value) if value.is_finite() && value > 0.0 => Ok(value),
        _ => Err("give a number above 0".into()),
    }
}

/// A number from 0 to 1.
pub fn share(text: &str) -> Result<f64, String> {
    not_negative(text).ok().filter(|&value| value <= 1.0).ok_or_else(|| "give a number from 0 to 1".into())
}

/// A number of rows or columns of points that are made in memory.
pub fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(value @ 1..=10_000_000_000) => Ok(value),
        _ => Err("give a number from 1 to 10000000000".into()),
    }
}
