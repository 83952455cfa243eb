//! Points from files and results to files, with errors that name the line and column.
//!
//! | format | read as | values |
//! |---|---|---|
//! | text | numbers separated by blanks, one point per line; an index column may lead | decimal |
//! | CSV | with or without a header, any columns of it | decimal |
//! | `.npy` | `[n, d]` or `[n]`, in C or Fortran order; clustered in place, not copied | f16, f32, f64, integers, bool |
//! | `.fvecs`, `.bvecs`, `.ivecs` | each row led by its length | f32, u8, i32 |
//! | Parquet | number columns, or one column of equally long lists | floats, integers, bool |
//!
//! A value never changes on its way in: decimal numbers are rounded once to the type asked for (`f64` if none is), integers become the
//! smallest float type that holds them all exactly, and what fits none is an error.
//!
//! ```
//! use kmeans_files::{Options, parse};
//!
//! let table = parse(b"x,y\n1,2\n3,4.5\n", &Options::default())?;
//! assert_eq!(table.points.dim(), (2, 2));
//! assert_eq!(table.columns.unwrap(), ["x", "y"]);
//!
//! let error = parse(b"1 2\n3 four\n", &Options::default()).unwrap_err();
//! assert_eq!(error.to_string(), "line 2, column 2: `four` is not a number");
//! # Ok::<(), kmeans_files::Error>(())
//! ```

mod bytes;
mod columns;
mod csv;
mod error;
mod format;
mod integers;
mod npy;
mod number;
mod parquet;
mod points;
mod read;
mod staged;
mod text;
mod vecs;
mod write;

pub use columns::{Columns, Pick};
pub use error::{Error, Fault, Place};
pub use format::Format;
pub use points::{ElementType, InFile, Matrix, Points};
pub use read::{Header, IndexColumn, Options, Table, parse, read};
pub use staged::{Staged, remove_unfinished};
pub use write::{Layout, Value, write_centroids, write_columns, write_label_image, write_labels, write_points};
