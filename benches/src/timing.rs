//! How long something takes: medians, in milliseconds.

use std::time::{Duration, Instant};

/// Milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The median, the upper one of the two in the middle of an even number.
///
/// # Panics
/// If there are no durations.
pub fn median(durations: &[Duration]) -> Duration {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

/// The median of `runs` runs of some work, at least one, in milliseconds, after one that does not count.
///
/// # Errors
/// The work's own.
pub fn median_ms<E>(runs: usize, mut work: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    work()?;
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs.max(1) {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    Ok(ms(median(&times)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let [a, b, c] = [3, 1, 2].map(Duration::from_millis);
        assert_eq!(median(&[a, b, c]), c);
    }

    #[test]
    fn one_run_more_than_asked_for_and_the_first_error_ends_them() {
        let mut runs = 0;
        let mut work = |last: usize| {
            median_ms(3, || {
                runs += 1;
                if runs > last { Err(runs) } else { Ok(()) }
            })
        };
        assert!(work(4).is_ok());
        assert_eq!(work(5), Err(6));
    }
}
