//! The streaming kernels for the rows of a list, which leave bounds for the next round: see [`assign::stream`](crate::assign::stream).

use super::FromScores;
use crate::assign::bound::offset;
use crate::assign::leading::Results;
use crate::assign::plan::{Columns, Plan, Points, Rows, Slices};
use crate::assign::stream::run;
use crate::device::{self, Half, In, Out};
use kmeans_core::launch::STREAM_ROWS;

/// The rows of a list.
#[derive(Clone, Copy)]
struct Listed<'a> {
    list: In<'a, u32>,
    count: u64,
}

impl Plan for Listed<'_> {
    const IS_LISTED: bool = true;

    #[inline(always)]
    fn rows(self, index: u32) -> Option<Rows> {
        let first = index as u64 * STREAM_ROWS as u64;
        let end = self.count.min(first + STREAM_ROWS as u64);
        if first < self.count { Some(Rows { first, end, group: 0 }) } else { None }
    }

    #[inline(always)]
    fn number(self, place: u64) -> u64 {
        self.list.get(place) as u64
    }
}

/// Labels of the first `count[0]` rows of `list`, 16-bit points as they are, and their bounds. The arguments are those of
/// [`stream`](crate::assign::stream::stream) otherwise.
#[inline(always)]
pub fn stream_listed<T: Half, C: Columns>(
    points: In<T>,
    tiles: In<T>,
    starts: In<T>,
    x_norms: In<f32>,
    largest: In<u32>,
    list: In<u32>,
    count: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    upper: Out<f32>,
    lower: Out<f32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    _n: u64,
    k: u32,
    d: u32,
) {
    let points = Points { elements: points, norms: x_norms, errors: None, d };
    let bounds = Some(FromScores { upper, lower, norms: x_norms, offset: offset(largest.get(0)) });
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds };
    run::<T, C, _>(points, Listed { list, count: count.get(0) as u64 }, tiles, starts, largest, results, k);
}

/// The same for points that [`halves`](crate::assign::halves) has rounded.
#[inline(always)]
pub fn stream_listed_rounded<C: Columns>(
    halves: In<half::f16>,
    tiles: In<half::f16>,
    starts: In<half::f16>,
    x_norms: In<f32>,
    x_errors: In<f32>,
    largest: In<u32>,
    list: In<u32>,
    count: In<u32>,
    labels: Out<u32>,
    others: Out<u32>,
    upper: Out<f32>,
    lower: Out<f32>,
    open_rows: Out<u64>,
    open_codes: Out<u32>,
    open: Out<u32>,
    room: u32,
    _n: u64,
    k: u32,
    d: u32,
) {
    let points = Points { elements: halves, norms: x_norms, errors: Some(x_errors), d };
    let bounds = Some(FromScores { upper, lower, norms: x_norms, offset: offset(largest.get(0)) });
    let results = Results { labels, others, open_rows, open_codes, open, room, bounds };
    run::<half::f16, C, _>(points, Listed { list, count: count.get(0) as u64 }, tiles, starts, largest, results, k);
}

device::entries! {
    in hopper: stream_listed(points: In<T>, tiles: In<T>, starts: In<T>, x_norms: In<f32>, largest: In<u32>, list: In<u32>,
        count: In<u32>, labels: Out<u32>, others: Out<u32>, upper: Out<f32>, lower: Out<f32>, open_rows: Out<u64>,
        open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64, k: u32, d: u32);
    prune_stream_64_f16: (half::f16, Slices<1>),
    prune_stream_64_bf16: (half::bf16, Slices<1>),
    prune_stream_128_f16: (half::f16, Slices<2>),
    prune_stream_128_bf16: (half::bf16, Slices<2>),
}

device::entries! {
    in hopper: stream_listed_rounded(halves: In<half::f16>, tiles: In<half::f16>, starts: In<half::f16>, x_norms: In<f32>,
        x_errors: In<f32>, largest: In<u32>, list: In<u32>, count: In<u32>, labels: Out<u32>, others: Out<u32>,
        upper: Out<f32>, lower: Out<f32>, open_rows: Out<u64>, open_codes: Out<u32>, open: Out<u32>, room: u32, n: u64,
        k: u32, d: u32);
    prune_stream_64_rounded: (Slices<1>),
    prune_stream_128_rounded: (Slices<2>),
}
