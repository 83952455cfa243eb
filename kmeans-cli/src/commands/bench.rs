//! later
use crate::args::Bench;
use crate::failure::{Done, Failure};
pub fn run(_: &Bench) -> Result<Done, Failure> {
    Ok(Done::Whole)
}
