//! The same points in other memory layouts.

use kmeans_host::Element;
use ndarray::{Array2, ArrayView2, s};

/// How the rows and columns of a view lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row-major, without gaps.
    Packed,
    /// Column-major: the transpose of a packed array.
    Transposed,
    /// Both axes run backwards.
    Reversed,
    /// Every other row of a larger array.
    EveryOtherRow,
    /// Every other column of a larger array.
    EveryOtherColumn,
    /// Some neighbouring columns of a wider array: each row is packed, but there are gaps between them.
    ColumnSlice,
}

/// Every layout.
pub const LAYOUTS: [Layout; 6] = [
    Layout::Packed,
    Layout::Transposed,
    Layout::Reversed,
    Layout::EveryOtherRow,
    Layout::EveryOtherColumn,
    Layout::ColumnSlice,
];

/// Calls `f` with a view that has the elements of `points` and the given layout. What lies between them is NaN, so that
/// reading it shows.
pub fn with_layout<T: Element, R>(points: &Array2<T>, layout: Layout, f: impl FnOnce(ArrayView2<'_, T>) -> R) -> R {
    let (n, d) = points.dim();
    let gaps = |shape| Array2::from_elem(shape, T::from_f64(f64::NAN));
    match layout {
        Layout::Packed => f(points.view()),
        Layout::Transposed => {
            let columns = points.t().as_standard_layout().into_owned();
            f(columns.t())
        }
        Layout::Reversed => {
            let reversed = points.slice(s![..;-1, ..;-1]).as_standard_layout().into_owned();
            f(reversed.slice(s![..;-1, ..;-1]))
        }
        Layout::EveryOtherRow => {
            let mut larger = gaps((2 * n, d));
            larger.slice_mut(s![..;2, ..]).assign(points);
            f(larger.slice(s![..;2, ..]))
        }
        Layout::EveryOtherColumn => {
            let mut larger = gaps((n, 2 * d));
            larger.slice_mut(s![.., 1..;2]).assign(points);
            f(larger.slice(s![.., 1..;2]))
        }
        Layout::ColumnSlice => {
            let mut wider = gaps((n, d + 3));
            wider.slice_mut(s![.., 1..=d]).assign(points);
            f(wider.slice(s![.., 1..=d]))
        }
    }
}
