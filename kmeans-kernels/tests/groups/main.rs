//! Kernels for many groups at once give each group what the reference gives it alone, bit for bit.

mod check;
#[path = "../common/mod.rs"]
mod common;
mod order;
mod problem;
mod rounds;
mod run;
mod seeding;
mod tensor;
