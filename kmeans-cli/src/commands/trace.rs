//! later
use crate::args::Trace;
use crate::failure::{Done, Failure};
pub fn run(_: &Trace) -> Result<Done, Failure> {
    Ok(Done::Whole)
}
