//! Sum update: per cluster and column, the exact sum of its points.
//!
//! | rung | what it adds |
//! |---|---|
//! | [`per_sample`] | one thread per row, an atomic addition per column |
//! | [`per_element`] | one thread per element: neighbours read neighbours, 16 columns of 16 rows per block |
//! | [`per_block`] | partial sums in shared memory, one global addition per block and sum |
//! | [`sorted`] | points in the order of their clusters ([`order`]), long runs of one sum in registers; where few changed cluster, only those, taken from one sum and added to another |
//!
//! [`weighted`] adds points times their weights. [`carry`] makes room in limbs for more points; [`stored`] reads sums of any format.
//!
//! Partial sums in shared memory pay while a few windows of shared memory hold all sums: on an H200, 24 sums of 2 million
//! points took 0.07 ms per block and 2 ms per element; 131,072 sums of a million points 3.2 ms and 0.6 ms.
//!
//! Floats would make the sum depend on the order of the additions, so every rung adds integers ([`fixed`]), which is
//! what makes the results repeatable and equal to the reference. [`transposed::sums`](crate::transposed::sums) does
//! without global atomics.

pub mod carry;
pub mod fixed;
pub mod order;
pub mod per_block;
pub mod per_element;
pub mod per_sample;
pub mod registers;
pub mod sorted;
pub mod stored;
pub mod weighted;
