//! Tasks for people who work on the project.

fn main() {}
