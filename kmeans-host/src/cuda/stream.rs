//! Labels by the streaming kernels of tiers hopper and ampere: `kmeans_core::launch` lists them in the order in which they run.

use half::f16;
use kmeans_core::fixed::ExponentRange;
use kmeans_core::launch::{self, Kernel, TILE_ROWS};
use kmeans_core::scalar::power_of_two;

use super::Number;
use super::driver::{Arg, Array, read, read_as, read_part, write, write_part};
use super::groups::Table;
use super::job::Data;
use super::pruned::Bounds;
use super::sums::Sums;
use crate::Error;
use crate::points::Facts;

/// Most clusters.
const MOST_CLUSTERS: usize = 1 << 25;
/// Most columns.
const MOST_COLUMNS: usize = (1 << 16) - 8;
/// The exponent that the largest element has after rounding to f16.
const HALF_EXPONENT: i32 = 9;
/// Where the count of open rows lies beside the largest norms, each at a multiple of 16 bytes.
const OPEN: usize = 4;

/// What streaming takes of the points, once.
pub struct Streaming<T> {
    rows: Rows<T>,
    others: Array<u32>,
    open_rows: Array<u64>,
    open_codes: Array<u32>,
    room: u32,
    /// The largest norm, and of rounded rows the largest error; from word [`OPEN`] on, the count of open rows.
    scalars: Array<u32>,
    clusters: Option<Clusters<T>>,
}

/// The points as tensor cores read them.
enum Rows<T> {
    /// As they are, with their norms.
    Half { norms: Array<f32> },
    /// Rounded to f16, `[n, width]`.
    Rounded { points: Rounded, centre: Array<T>, scale: f32 },
}

/// Rows rounded to f16.
struct Rounded {
    halves: Array<f16>,
    norms: Array<f32>,
    errors: Array<f32>,
}

/// Which rows are compared with which centroids.
enum Plan<'a, T> {
    /// All with all.
    All,
    /// Those of groups with their group's own.
    Groups(&'a Table),
    /// Those that bounds leave open with all.
    Open(&'a mut Bounds<T>),
}

impl<T> Plan<'_, T> {
    fn table(&self) -> Option<&Table> {
        if let Self::Groups(table) = self { Some(table) } else { None }
    }
}

/// Room for the centroids of a round.
struct Clusters<T> {
    groups: usize,
    k: usize,
    norms: Array<f32>,
    rounded: Option<Rounded>,
    tiles: Tiles<T>,
    starts: Tiles<T>,
    plain_starts: Array<f32>,
    ordered: Option<Ordered>,
}

/// What tiles of centroids in the order of their norms need, and zeros for errors of those that are not rounded.
struct Ordered {
    order: Array<u32>,
    bounds: Array<f32>,
    errors: Array<f32>,
}

/// Numbers of 16 bits: the points' own type, or f16.
enum Tiles<T> {
    Own(Array<T>),
    Halves(Array<f16>),
}

impl<T: Number> Tiles<T> {
    fn read(&self) -> Arg<'_> {
        match self {
            Self::Own(array) => read(array),
            Self::Halves(array) => read(array),
        }
    }

    fn write(&mut self) -> Arg<'_> {
        match self {
            Self::Own(array) => write(array),
            Self::Halves(array) => write(array),
        }
    }
}

/// Whether the kernels can find labels for points like these.
pub fn can_stream<T: Number>(facts: &Facts, k: usize) -> bool {
    launch::SINGLE_TYPES.contains(&T::STORED) && facts.d <= MOST_COLUMNS && k <= MOST_CLUSTERS
}

/// Whether tensor cores multiply values of this type as they are.
fn is_half<T: Number>() -> bool {
    launch::HALF_TYPES.contains(&T::STORED)
}

/// Columns of the matrix that tensor cores read.
fn width<T: Number>(d: usize) -> usize {
    if is_half::<T>() { d } else { d.next_multiple_of(16) }
}

/// Whether each tile of centroids has a margin of its own.
fn is_ordered<T: Number>(data: &Data<'_, T>) -> bool {
    width::<T>(data.facts.d) > 128 && data.stream.gpu().tier.name == "hopper"
}

/// Room for rows with more than two candidates; any will do, but rows without room are compared with all centroids, which
/// costs hundreds of times as much.
fn room(n: usize) -> usize {
    n / 4 + 1024
}

/// Rows that a block takes at a time.
pub fn stream_rows(tier: &str) -> u32 {
    if tier == "hopper" { launch::STREAM_ROWS } else { launch::STREAM_MMA_ROWS }
}

/// Whether they can for groups of such points.
pub fn can_stream_groups<T: Number>(facts: &Facts, k: usize) -> bool {
    can_stream::<T>(facts, k) && width::<T>(facts.d) <= 128
}

/// The kernel for rows of `width` columns, of 16-bit points as they are (`half`) or rounded.
fn kernel<T>(plan: &Plan<'_, T>, width: u32, half: bool) -> &'static Kernel {
    match (plan, width, half) {
        (Plan::Groups(_), ..=64, true) => &launch::GROUPS_STREAM_64,
        (Plan::Groups(_), ..=64, false) => &launch::GROUPS_STREAM_64_ROUNDED,
        (Plan::Groups(_), _, true) => &launch::GROUPS_STREAM_128,
        (Plan::Groups(_), _, false) => &launch::GROUPS_STREAM_128_ROUNDED,
        (Plan::All, ..=64, true) => &launch::ASSIGN_STREAM_64,
        (Plan::All, ..=64, false) => &launch::ASSIGN_STREAM_64_ROUNDED,
        (Plan::All, ..=128, true) => &launch::ASSIGN_STREAM_128,
        (Plan::All, ..=128, false) => &launch::ASSIGN_STREAM_128_ROUNDED,
        (Plan::All, _, true) => &launch::ASSIGN_STREAM_LONG,
        (Plan::All, _, false) => &launch::ASSIGN_STREAM_LONG_ROUNDED,
        (Plan::Open(_), ..=64, true) => &launch::PRUNE_STREAM_64,
        (Plan::Open(_), ..=64, false) => &launch::PRUNE_STREAM_64_ROUNDED,
        (Plan::Open(_), _, true) => &launch::PRUNE_STREAM_128,
        (Plan::Open(_), _, false) => &launch::PRUNE_STREAM_128_ROUNDED,
    }
}

/// The same of tier ampere, which has none for rows that bounds leave open.
fn warps_kernel<T>(plan: &Plan<'_, T>, half: bool) -> &'static Kernel {
    match (plan, half) {
        (Plan::Groups(_), true) => &launch::GROUPS_STREAM_MMA,
        (Plan::Groups(_), false) => &launch::GROUPS_STREAM_MMA_ROUNDED,
        (Plan::All | Plan::Open(_), true) => &launch::ASSIGN_STREAM_MMA,
        (Plan::All | Plan::Open(_), false) => &launch::ASSIGN_STREAM_MMA_ROUNDED,
    }
}

/// Bytes on the device, for groups of k clusters each.
pub fn groups_bytes<T: Number>(facts: &Facts, groups: usize, k: usize) -> u64 {
    bytes::<T>(facts, groups * k.next_multiple_of(TILE_ROWS as usize))
}

/// Bytes on the device.
pub fn bytes<T: Number>(facts: &Facts, k: usize) -> u64 {
    let (n, width) = (facts.n as u64, width::<T>(facts.d) as u64);
    let rounded = if is_half::<T>() { 4 } else { 2 * width + 8 };
    let k = k.next_multiple_of(TILE_ROWS as usize) as u64;
    let tiles = 2 * k * width.next_multiple_of(64) + k * (32 + 4 + 9);
    n * (rounded + 4) + room(facts.n) as u64 * 40 + k * rounded + tiles
}

/// Rounds a matrix of `rows` rows. `largest` is zero before.
fn round<T: Number>(
    data: &Data<'_, T>,
    (matrix, rows): (Arg<'_>, usize),
    (centre, scale): (&Array<T>, f32),
    into: &mut Rounded,
    largest: Arg<'_>,
) -> Result<(), Error> {
    let width = width::<T>(data.facts.d);
    let arguments = [
        matrix,
        read(centre),
        write(&mut into.halves),
        write(&mut into.norms),
        write(&mut into.errors),
        largest,
        Arg::F32(scale),
        Arg::U64(rows as u64),
        Arg::U32(data.d()),
        Arg::U32(width as u32),
    ];
    data.launch(&launch::ASSIGN_HALVES, launch::assign_lengths(rows as u64), &arguments)
}

/// 2^`exponent`, as far as `f32` reaches.
fn scale_of(exponent: i32) -> f32 {
    power_of_two(exponent.clamp(-120, 120)) as f32
}

/// Rounds the points, and finds the largest norm.
fn round_points<T: Number>(
    data: &Data<'_, T>,
    centre: &Array<T>,
    scale: f32,
    into: &mut Rounded,
    scalars: &mut Array<u32>,
) -> Result<(), Error> {
    data.stream.clear(scalars)?;
    let largest = write_part(scalars, 0..2);
    round(data, (data.points.arg(), data.facts.n), (centre, scale), into, largest)
}

impl Rounded {
    fn new<T: Number>(data: &Data<'_, T>, rows: usize) -> Result<Self, Error> {
        let stream = &data.stream;
        let halves = stream.array(rows * width::<T>(data.facts.d))?;
        Ok(Self { halves, norms: stream.array(rows)?, errors: stream.array(rows)? })
    }
}

impl<T: Number> Streaming<T> {
    /// Prepares the points; those that are rounded, about `centre`, or about their mean.
    pub fn new(data: &Data<'_, T>, centre: Option<&[T]>) -> Result<Self, Error> {
        let (n, stream) = (data.facts.n, &data.stream);
        let mut scalars = stream.zeros(2 * OPEN)?;
        let rows = if is_half::<T>() {
            let mut norms = stream.array(n)?;
            let largest = write_part(&mut scalars, 0..1);
            let arguments = [data.points.arg(), write(&mut norms), largest, Arg::U64(n as u64), Arg::U32(data.d())];
            data.launch(&launch::ASSIGN_LENGTHS, launch::assign_lengths(n as u64), &arguments)?;
            Rows::Half { norms }
        } else {
            Self::rounded(data, centre, &mut scalars)?
        };
        let room = room(n);
        Ok(Self {
            rows,
            others: stream.array(n)?,
            open_rows: stream.array(room)?,
            open_codes: stream.array(8 * room)?,
            room: room as u32,
            scalars,
            clusters: None,
        })
    }

    /// The points' mean, which leaves the fewest rows open.
    fn mean(data: &Data<'_, T>) -> Result<Array<T>, Error> {
        let stream = &data.stream;
        let labels = stream.zeros(data.facts.n)?;
        let mut sums = Sums::unweighted(data, 1)?;
        sums.add_up(data, &labels)?;
        let old = stream.zeros(data.facts.d)?;
        let mut centre = stream.array(data.facts.d)?;
        sums.divide(data, &old, &mut centre)?;
        Ok(centre)
    }

    /// The points about `centre`, or about their mean and scaled to fill f16.
    fn rounded(data: &Data<'_, T>, centre: Option<&[T]>, scalars: &mut Array<u32>) -> Result<Rows<T>, Error> {
        let mut points = Rounded::new(data, data.facts.n)?;
        let range = data.facts.range;
        // No element is further from a point, or from a mean of some, than twice the largest.
        let first = if range.is_zero() { 0 } else { HALF_EXPONENT - (range.high + 1) };
        let mut scale = scale_of(first);
        if let Some(centre) = centre {
            // Where data are far from the origin, rows are small then. But f32 has 24 bits: differences of two such numbers are no
            // smaller than 2⁻¹⁵ here, which is a normal f16 or nearly so, and worth no wait for the largest norm.
            let centre = data.stream.upload(centre)?;
            round_points(data, &centre, scale, &mut points, scalars)?;
            return Ok(Rows::Rounded { points, centre, scale });
        }
        let centre = Self::mean(data)?;
        let largest = |scalars: &Array<u32>| -> Result<f32, Error> {
            Ok(f32::from_bits(data.stream.download(scalars, 1)?[0]).sqrt())
        };
        round_points(data, &centre, scale, &mut points, scalars)?;
        let mut norm = largest(scalars)?;
        // Data far from the origin are closer to their mean: fill f16 by the largest norm, which no element exceeds.
        let spare = HALF_EXPONENT - ExponentRange::of(norm as f64).high;
        if norm > 0.0 && norm.is_finite() && spare > 2 {
            scale = scale_of(first.saturating_add(spare));
            round_points(data, &centre, scale, &mut points, scalars)?;
            norm = largest(scalars)?;
        }
        debug_assert!(!norm.is_nan(), "points are finite");
        Ok(Rows::Rounded { points, centre, scale })
    }

    /// Rounded points as arguments: by twos, their norms and errors, and the centre; and the scale. `None` for points that
    /// tensor cores read as they are.
    pub fn rounded_rows(&self) -> Option<([Arg<'_>; 4], f32)> {
        let Rows::Rounded { points, centre, scale } = &self.rows else { return None };
        let halves = read_as::<u32>(&points.halves);
        Some(([halves, read(&points.norms), read(&points.errors), read(centre)], *scale))
    }

    /// The label of every point for `centroids`, `[k, d]`.
    pub fn assign(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        self.find(data, centroids, Plan::All, k, labels)
    }

    /// The same, where only rows that `bounds` leave open are compared; makes new bounds for those.
    pub fn assign_open(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        bounds: &mut Bounds<T>,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let scale = match &self.rows {
            Rows::Half { .. } => 1.0,
            Rows::Rounded { scale, .. } => *scale,
        };
        bounds.list(data, centroids, scale, labels, &mut self.others)?;
        let k = bounds.k();
        self.find(data, centroids, Plan::Open(bounds), k, labels)?;
        bounds.keep(data, centroids, labels)
    }

    /// Lets rows of no group have nothing open: once, before [`assign_groups`](Self::assign_groups).
    pub fn close_all(&mut self, data: &Data<'_, T>) -> Result<(), Error> {
        let kernel = &launch::GROUPS_OUTSIDE;
        let arguments = [write(&mut self.others), Arg::U32(u32::MAX), Arg::U64(data.n())];
        data.launch(kernel, kernel.thread_each(data.n()), &arguments)
    }

    /// The label of every row of a group among the group's own `centroids`, `[groups, k, d]`, from 0 on. `table` is of tiles of
    /// [`stream_rows`] rows.
    pub fn assign_groups(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        table: &Table,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        self.find(data, centroids, Plan::Groups(table), k, labels)
    }

    fn find(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        mut plan: Plan<'_, T>,
        k: usize,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let groups = plan.table().map_or(1, |table| table.groups as usize);
        let mut clusters = match self.clusters.take() {
            Some(clusters) if (clusters.groups, clusters.k) == (groups, k) => clusters,
            _ => Clusters::new(data, groups, k)?,
        };
        data.stream.clear(&mut self.scalars)?;
        self.lay_out(data, centroids, &mut clusters)?;
        self.stream(data, &clusters, &mut plan, labels)?;
        self.settle(data, centroids, plan.table(), &clusters, labels)?;
        self.clusters = Some(clusters);
        Ok(())
    }

    /// The centroids as tiles.
    fn lay_out(&mut self, data: &Data<'_, T>, centroids: &Array<T>, clusters: &mut Clusters<T>) -> Result<(), Error> {
        let (groups, k) = (clusters.groups as u32, clusters.k as u32);
        let all = clusters.groups * clusters.k;
        let (k_, d_) = (Arg::U32(k), Arg::U32(width::<T>(data.facts.d) as u32));
        match &self.rows {
            Rows::Half { .. } => {
                let largest = write_part(&mut self.scalars, 0..1);
                let norms = write(&mut clusters.norms);
                let arguments = [read(centroids), norms, largest, Arg::U64(all as u64), d_];
                data.launch(&launch::ASSIGN_LENGTHS, launch::assign_lengths(all as u64), &arguments)?;
            }
            Rows::Rounded { centre, scale, .. } => {
                let largest = write_part(&mut self.scalars, 0..2);
                let into = clusters.rounded.as_mut().expect("made for rounded points");
                round(data, (read(centroids), all), (centre, *scale), into, largest)?;
            }
        }
        let (matrix, norms, element) = match &clusters.rounded {
            None => (read(centroids), &clusters.norms, T::STORED),
            Some(rounded) => (read(&rounded.halves), &rounded.norms, "f16"),
        };
        let geometry = launch::assign_tiles(groups, k);
        if let Some(Ordered { order, bounds, errors }) = &mut clusters.ordered {
            data.launch(&launch::ASSIGN_ORDER, launch::assign_order(), &[read(norms), write(order), k_])?;
            let errors = clusters.rounded.as_ref().map_or(&*errors, |rounded| &rounded.errors);
            let arguments = [
                matrix,
                read(norms),
                read(errors),
                read(order),
                read_part(&self.scalars, 0..1),
                clusters.tiles.write(),
                write(&mut clusters.plain_starts),
                write(bounds),
                k_,
                d_,
            ];
            return data.stream.launch(&launch::ASSIGN_TILES_LONG, element, geometry, &arguments);
        }
        let arguments = [
            matrix,
            read(norms),
            read_part(&self.scalars, 0..1),
            clusters.tiles.write(),
            clusters.starts.write(),
            write(&mut clusters.plain_starts),
            k_,
            d_,
        ];
        data.stream.launch(&launch::ASSIGN_TILES, element, geometry, &arguments)
    }

    /// Labels, or candidates for them.
    fn stream(
        &mut self,
        data: &Data<'_, T>,
        clusters: &Clusters<T>,
        plan: &mut Plan<'_, T>,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let (n, width) = (data.n(), width::<T>(data.facts.d) as u32);
        let multiprocessors = data.stream.gpu().multiprocessors;
        let (half, long) = (is_half::<T>(), width > 128);
        let is_hopper = data.stream.gpu().tier.name == "hopper";
        let (kernel, geometry) = if is_hopper {
            let geometry = match plan {
                Plan::Groups(table) => launch::groups_stream(table.tiles, width, multiprocessors),
                Plan::Open(_) => launch::prune_stream(n, width, multiprocessors),
                Plan::All if long => launch::assign_stream_long(n, multiprocessors),
                Plan::All => launch::assign_stream(n, width, multiprocessors),
            };
            (kernel(plan, width, half), geometry)
        } else {
            let geometry = match plan {
                Plan::Groups(table) => launch::groups_stream_mma(table.tiles, multiprocessors),
                _ => launch::assign_stream_mma(n, multiprocessors),
            };
            (warps_kernel(plan, half), geometry)
        };
        let mut tiles = vec![clusters.tiles.read()];
        match &clusters.ordered {
            Some(ordered) => tiles.extend([&clusters.plain_starts, &ordered.bounds].map(read)),
            None if is_hopper => tiles.push(clusters.starts.read()),
            None => tiles.push(read(&clusters.plain_starts)),
        }
        tiles.extend(clusters.ordered.iter().map(|ordered| read(&ordered.order)));
        // What is read and what is written of the scalars are apart.
        let (largest, open) = self.scalars.split(OPEN);
        let mut arguments = match &self.rows {
            Rows::Half { norms } => {
                let points = [data.points.arg()].into_iter();
                points.chain(tiles).chain([read(norms), largest]).collect::<Vec<_>>()
            }
            Rows::Rounded { points, .. } => {
                let halves = [read(&points.halves)].into_iter();
                halves.chain(tiles).chain([read(&points.norms), read(&points.errors), largest]).collect()
            }
        };
        let (labels, others) = (write(labels), write(&mut self.others));
        let count = match plan {
            Plan::All => {
                arguments.extend([labels, others]);
                Arg::U64(n)
            }
            Plan::Groups(table) => {
                arguments.extend(table.arguments());
                arguments.extend([labels, others]);
                Arg::U32(table.tiles as u32)
            }
            Plan::Open(bounds) => {
                let (listed, bounds) = bounds.arguments();
                arguments.extend(listed);
                arguments.extend([labels, others]);
                arguments.extend(bounds);
                Arg::U64(n)
            }
        };
        arguments.extend([write(&mut self.open_rows), write(&mut self.open_codes), open, Arg::U32(self.room)]);
        arguments.push(count);
        arguments.extend([Arg::U32(clusters.k as u32), Arg::U32(width)]);
        data.launch(kernel, geometry, &arguments)
    }

    /// Labels of the rows that are open.
    fn settle(
        &self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        table: Option<&Table>,
        clusters: &Clusters<T>,
        labels: &mut Array<u32>,
    ) -> Result<(), Error> {
        let mut arguments = vec![data.points.arg(), read(centroids)];
        arguments.extend(clusters.ordered.as_ref().map(|ordered| read(&ordered.order)));
        arguments.extend(table.map(Table::ranges));
        arguments.extend([read(&self.others), read(&self.open_rows), read(&self.open_codes)]);
        arguments.extend([read_part(&self.scalars, OPEN..OPEN + 1), Arg::U32(self.room), write(labels)]);
        arguments.extend([Arg::U64(data.n()), Arg::U32(clusters.k as u32), Arg::U32(data.d())]);
        arguments.extend(table.map(|table| Arg::U32(table.groups)));
        let kernel = match (table, &clusters.ordered) {
            (Some(_), _) => &launch::GROUPS_SETTLE,
            (None, Some(_)) => &launch::ASSIGN_SETTLE_ORDERED,
            (None, None) => &launch::ASSIGN_SETTLE,
        };
        let geometry = launch::assign_settle(data.n(), data.stream.gpu().multiprocessors);
        data.launch(kernel, geometry, &arguments)
    }
}

impl<T: Number> Clusters<T> {
    fn new(data: &Data<'_, T>, groups: usize, k: usize) -> Result<Self, Error> {
        let stream = &data.stream;
        let all = groups * k;
        let rows = groups * k.next_multiple_of(TILE_ROWS as usize);
        let columns = width::<T>(data.facts.d).next_multiple_of(64);
        let (tiles, starts, rounded) = if is_half::<T>() {
            (Tiles::Own(stream.array(rows * columns)?), Tiles::Own(stream.array(rows * 16)?), None)
        } else {
            let rounded = Some(Rounded::new(data, all)?);
            (Tiles::Halves(stream.array(rows * columns)?), Tiles::Halves(stream.array(rows * 16)?), rounded)
        };
        let ordered = if is_ordered(data) {
            let errors = stream.zeros(if rounded.is_some() { 1 } else { all })?;
            let bounds = stream.array(rows / TILE_ROWS as usize * 4)?;
            Some(Ordered { order: stream.array(all)?, bounds, errors })
        } else {
            None
        };
        let plain_starts = stream.array(rows)?;
        Ok(Self { groups, k, norms: stream.array(all)?, rounded, tiles, starts, plain_starts, ordered })
    }
}
