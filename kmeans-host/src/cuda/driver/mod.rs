//! The launch layer: GPUs, their memory and their kernels, behind safe functions. The only module of this crate with
//! `unsafe` code.
//!
//! A [`Gpu`] is opened once per process. Every piece of work has a [`Stream`] of its own, on which all it does happens in order;
//! an [`Array`] belongs to one stream, so that nothing has to be synchronised but what the host reads ([`transfers`]).
#![allow(unsafe_code)]
// Every function here that returns an error returns what the driver reports, as `Error::DeviceFailed` or
// `Error::DeviceMemory`, and panics only where its caller breaks what its documentation asks for.
#![allow(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod array;
#[cfg(feature = "cust")]
mod cust;
mod gpu;
mod stream;
mod tiers;
mod transfers;

pub use self::array::{Array, borrowed, read, read_as, read_part, write, write_as, write_part, write_parts};
#[cfg(feature = "cust")]
pub use self::cust::{at_address, copy_out};
pub use self::gpu::{Gpu, count, is_open};
pub use self::stream::Stream;
#[cfg(feature = "kernels")]
pub use self::tiers::{TIER_VARIABLE, tiers};
pub use self::transfers::{Incoming, TOGETHER};
pub use super::arguments::{Arg, Span, Stored};
