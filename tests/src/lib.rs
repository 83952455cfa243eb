//! Shared by the tests: data to cluster, the comparison with the reference, and real inputs.

// Assertions and readers of files that are part of the repository panic: that fails the test.
#![allow(clippy::missing_panics_doc)]

pub mod compare;
pub mod data;
pub mod files;
pub mod gpu;
pub mod layout;
pub mod tree;

/// Settings of property tests: `cases` of them, or as many as the environment variable `PROPTEST_CASES` says.
///
/// Failures are not recorded in files: a case is a few settings and a seed, printed in full.
pub fn proptest_config(cases: u32) -> proptest::test_runner::Config {
    use proptest::test_runner::Config;
    let from_environment = std::env::var_os("PROPTEST_CASES").is_some();
    let default = Config::default();
    Config { cases: if from_environment { default.cases } else { cases }, failure_persistence: None, ..default }
}
