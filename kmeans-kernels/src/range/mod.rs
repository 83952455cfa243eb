//! What must be known of the points before a fit: the range of exponents that decides how narrow exact sums can be, and
//! whether all of them are finite ([`exponents`]).

pub mod exponents;
