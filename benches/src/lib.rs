//! Shared by the benchmark programs.
