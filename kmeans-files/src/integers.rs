//! Integers as floats, without loss.

use crate::Fault;

/// The largest magnitude up to which f64 holds every integer.
const EXACT: u64 = 1 << 53;

/// An integer as the f64 that equals it.
pub(crate) fn exact(value: i128) -> Result<f64, Fault> {
    let float = value as f64;
    // Beyond 2^53 some integers are exact, but which ones looks like chance to whoever owns the file.
    if value.unsigned_abs() <= u128::from(EXACT) { Ok(float) } else { Err(Fault::Inexact(value)) }
}
