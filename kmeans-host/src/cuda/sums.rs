//! Exact sums, counts and total weights of clusters, and the means they give.

use kmeans_core::exact::ExactSum;
use kmeans_core::fixed::{FixedPoint, Width};
use kmeans_core::launch::{self, Kernel, SUM_WORDS, SortedRuns};

use super::Number;
use super::driver::{Arg, Array, Incoming, Stream, read, read_part, write, write_parts};
use super::job::Data;
use crate::Error;
use crate::points::Facts;

/// Rows that may be added to limbs before they are carried, less than 2³¹.
const ROWS_BEFORE_CARRY: u64 = 1 << 30;

/// Fewer rows are not worth lists.
const SORT_FROM: u64 = 1 << 14;
/// Rows of so many bytes cost less in the order of their clusters, however few those are: a round then reads only rows that changed, and
/// adds them up in registers. Of 1 M × 128 `f32` a block's shared memory takes 0.58 ms, all rows in order 0.17 ms.
const SORT_BYTES: u32 = 64;

/// Sums in some format.
struct Format {
    exponent: i32,
    words: u32,
}

impl Format {
    fn new(format: FixedPoint) -> Self {
        let words = match format.width {
            Width::I64 => 1,
            Width::I128 => 2,
            // One or two words mean integers of 64 and 128 bits.
            Width::Limbs(limbs) => limbs.max(3) as u32,
        };
        Self { exponent: format.exponent, words }
    }

    /// For sums of points times weights.
    fn of_points(facts: &Facts, weighted: bool) -> Self {
        let range = if weighted { facts.range.product(facts.weight_range) } else { facts.range };
        Self::new(FixedPoint::for_sums(range, facts.n as u64))
    }

    /// For sums of weights.
    fn of_weights(facts: &Facts) -> Self {
        Self::new(FixedPoint::for_sums(facts.weight_range, facts.n as u64))
    }

    fn has_limbs(&self) -> bool {
        self.words > 2
    }

    /// All limbs, if there are any, are below 2^this.
    fn reach(&self) -> i32 {
        if self.has_limbs() { self.exponent + 32 * self.words as i32 } else { i32::MIN / 2 }
    }
}

/// Labelled rows to be added up, element by element.
struct Rows<'a> {
    element: &'static str,
    points: Arg<'a>,
    weights: Option<Arg<'a>>,
    labels: Arg<'a>,
    d: u32,
}

impl Rows<'_> {
    /// Adds all rows to `sums`, `[k, d]` sums of `format`.
    fn add<T: Number>(&self, data: &Data<'_, T>, sums: &mut Array<u64>, format: &Format, k: u32) -> Result<(), Error> {
        let kernel = match (self.weights.is_some(), format.words) {
            (false, 1) => &launch::SUM_PER_ELEMENT_NARROW,
            (false, 2) => &launch::SUM_PER_ELEMENT_WIDE,
            (false, _) => &launch::SUM_PER_ELEMENT_LIMBS,
            (true, 1) => &launch::SUM_WEIGHTED_NARROW,
            (true, 2) => &launch::SUM_WEIGHTED_WIDE,
            (true, _) => &launch::SUM_WEIGHTED_LIMBS,
        };
        let (n, d, words) = (data.n(), self.d, Arg::U32(format.words));
        let step = if format.has_limbs() { ROWS_BEFORE_CARRY } else { n };
        for first in (0..n).step_by(step as usize) {
            let rows = step.min(n - first);
            let mut arguments = vec![self.points.skip(first * d as u64)];
            arguments.extend(self.weights.map(|weights| weights.skip(first)));
            arguments.extend([self.labels.skip(first), write(sums), Arg::I32(format.exponent), words]);
            arguments.extend([Arg::U64(rows), Arg::U32(d)]);
            data.stream.launch(kernel, self.element, launch::sum_per_element(rows, d), &arguments)?;
            if format.has_limbs() {
                let count = k as u64 * d as u64;
                let arguments = [write(sums), words, Arg::U64(count)];
                data.launch(&launch::LIMBS_CARRY, launch::LIMBS_CARRY.thread_each(count), &arguments)?;
            }
        }
        Ok(())
    }
}

/// The sum that `words` hold in units of 2^`exponent`: an integer of one or two words, else limbs.
pub fn exact(words: &[u64], exponent: i32) -> ExactSum {
    let mut sum = ExactSum::new();
    match *words {
        [low] => sum.add_integer(low as i64 as i128, exponent),
        [low, high] => sum.add_integer(((high as u128) << 64 | low as u128) as i128, exponent),
        ref limbs => {
            for (j, &limb) in limbs.iter().enumerate() {
                sum.add_integer(limb as i64 as i128, exponent + 32 * j as i32);
            }
        }
    }
    sum
}

/// The sums of all clusters.
pub struct Sums {
    k: u32,
    format: Format,
    sums: Array<u64>,
    counts: Array<u64>,
    weighted: Option<Weights>,
    /// Where sums are many: the rows in the order of their clusters.
    order: Option<Order>,
}

/// Lists of rows, cluster by cluster (`kmeans_core::launch::ORDER_TALLY`).
struct Order {
    /// What is zero between rounds: rows listed per cluster, and blocks that have counted.
    touched: Array<u32>,
    arrivals: Array<u32>,
    /// Where each cluster's list begins, and then where it ends.
    places: Array<u32>,
    rows: Array<u32>,
    /// What is listed, with a word that is zero between rounds; a word that nobody reads.
    order: Array<u64>,
}

impl Order {
    fn new(stream: &Stream, n: usize, k: usize) -> Result<Self, Error> {
        Ok(Self {
            touched: stream.zeros(k)?,
            arrivals: stream.zeros(1)?,
            places: stream.array(k)?,
            rows: stream.array(n)?,
            order: stream.zeros(4)?,
        })
    }
}

/// What weighted points need beside the counts.
struct Weights {
    format: Format,
    totals: Array<u64>,
    /// Points of positive weight.
    members: Array<u64>,
}

impl Sums {
    /// Bytes on the device.
    pub fn bytes<T: Number>(facts: &Facts, k: usize) -> u64 {
        // Lists of rows.
        let order = 4 * facts.n as u64 + 8 * k as u64 + 28;
        let words = Format::of_points(facts, facts.weights.is_some()).words as u64 * facts.d as u64 + 1;
        let weights = if facts.weights.is_some() { Format::of_weights(facts).words as u64 + 1 } else { 0 };
        8 * k as u64 * (words + weights) + order
    }

    /// Words of a sum of such points, each weighing 1.
    pub fn words(facts: &Facts) -> u32 {
        Format::of_points(facts, false).words
    }

    /// For k clusters, with the points' weights if they have some.
    pub fn new<T: Number>(data: &Data<'_, T>, k: usize) -> Result<Self, Error> {
        let mut sums = Self::with_format(data, k, Format::of_points(data.facts, data.facts.weights.is_some()))?;
        if data.facts.weights.is_some() {
            let format = Format::of_weights(data.facts);
            let totals = data.stream.array(k * format.words as usize)?;
            sums.weighted = Some(Weights { format, totals, members: data.stream.array(k)? });
        }
        Ok(sums)
    }

    /// For k clusters, each point weighing 1.
    pub fn unweighted<T: Number>(data: &Data<'_, T>, k: usize) -> Result<Self, Error> {
        Self::with_format(data, k, Format::of_points(data.facts, false))
    }

    fn with_format<T: Number>(data: &Data<'_, T>, k: usize, format: Format) -> Result<Self, Error> {
        let sums = data.stream.array(k * data.facts.d * format.words as usize)?;
        Ok(Self { k: k as u32, format, sums, counts: data.stream.array(k)?, weighted: None, order: None })
    }

    /// Sums and counts of the points with these labels, in place of those before.
    pub fn add_up<T: Number>(&mut self, data: &Data<'_, T>, labels: &Array<u32>) -> Result<(), Error> {
        if let Some(runs) = self.runs(data) {
            return self.add_lists(data, None, labels, runs);
        }
        let stream = &data.stream;
        stream.clear(&mut self.sums)?;
        count(data, labels, &mut self.counts, self.k)?;
        self.add_points(data, labels)?;
        let Some(weighted) = &mut self.weighted else { return Ok(()) };
        stream.clear(&mut weighted.members)?;
        let n = data.n();
        let arguments = [read(labels), read(&data.weights), write(&mut weighted.members), Arg::U64(n)];
        data.launch(&launch::COUNT_MEMBERS, launch::COUNT_MEMBERS.thread_each(n), &arguments)?;
        add_weights(data, labels, &mut weighted.totals, &weighted.format, self.k)
    }

    /// Sums and counts of the points with these labels, given those of the labels in `before`. Adds to `changed` how many
    /// labels differ, where that is asked for.
    pub fn follow<T: Number>(
        &mut self,
        data: &Data<'_, T>,
        before: &Array<u32>,
        labels: &Array<u32>,
        changed: Option<Arg<'_>>,
    ) -> Result<(), Error> {
        if let Some(runs) = self.runs(data) {
            return self.add_lists(data, Some((before, changed)), labels, runs);
        }
        if let Some(changed) = changed {
            let arguments = [read(before), read(labels), changed, Arg::U64(data.n())];
            data.launch(&launch::COUNT_CHANGED, launch::COUNT_CHANGED.thread_each(data.n()), &arguments)?;
        }
        self.add_up(data, labels)
    }

    /// Whether few windows of shared memory hold all sums. Where all points would be read for many windows, it costs less to
    /// put the points in order.
    fn fit_shared_memory(&self, d: u32) -> bool {
        self.k as u64 * d as u64 * self.format.words as u64 <= 2 * SUM_WORDS as u64
    }

    /// How lists of rows are added up, where that can be done and pays.
    fn runs<T: Number>(&self, data: &Data<'_, T>) -> Option<SortedRuns> {
        let n = data.n();
        // An entry has 31 bits for the row; limbs would have to be carried, weights be multiplied.
        let can = self.weighted.is_none() && !self.format.has_limbs() && n < launch::LEAVES as u64;
        let long = data.d() * data.points.size() >= SORT_BYTES;
        let pays = n >= SORT_FROM && (long || !self.fit_shared_memory(data.d()));
        if can && pays { SortedRuns::new(data.facts.range, self.format.words) } else { None }
    }

    /// Adds the points cluster by cluster: all, or where there are labels `before` those that changed.
    fn add_lists<T: Number>(
        &mut self,
        data: &Data<'_, T>,
        before: Option<(&Array<u32>, Option<Arg<'_>>)>,
        labels: &Array<u32>,
        runs: SortedRuns,
    ) -> Result<(), Error> {
        let (n, d, k) = (data.n(), data.d(), self.k);
        if before.is_none() {
            data.stream.clear(&mut self.counts)?;
        }
        let lists = match &mut self.order {
            Some(order) => order,
            none => none.insert(Order::new(&data.stream, data.facts.n, k as usize)?),
        };
        let [order, unread] = write_parts(&mut lists.order, [0..3, 3..4]);
        let whole = before.is_none();
        let (before, changed) = before.unwrap_or((labels, None));
        let arguments = [
            read(before),
            read(labels),
            changed.unwrap_or(unread),
            write(&mut self.counts),
            write(&mut lists.touched),
            write(&mut lists.places),
            order,
            write(&mut lists.arrivals),
            Arg::U32(whole as u32),
            Arg::U64(n),
            Arg::U32(k),
        ];
        data.launch(&launch::ORDER_TALLY, launch::order_tally(n), &arguments)?;
        let arguments = [
            read(before),
            read(labels),
            read_part(&lists.order, 0..3),
            write(&mut lists.places),
            write(&mut lists.rows),
            write(&mut self.sums),
            Arg::U64(k as u64 * d as u64 * self.format.words as u64),
            Arg::U64(n),
        ];
        data.launch(&launch::ORDER_LIST, launch::order_list(n), &arguments)?;
        let each = 16 / data.points.size();
        let vectors = d.is_multiple_of(each) && data.points.is_aligned();
        let words = self.format.words;
        let kernel = if words == 1 { &launch::SUM_SORTED_NARROW } else { &launch::SUM_SORTED_WIDE };
        let arguments = [
            data.points.arg(),
            read(before),
            read(labels),
            read(&lists.rows),
            read(&lists.places),
            read_part(&lists.order, 0..3),
            write(&mut self.sums),
            Arg::I32(self.format.exponent),
            Arg::U32(words),
            Arg::I32(runs.split),
            Arg::U32(runs.longest),
            Arg::U32(vectors as u32),
            Arg::U32(d),
        ];
        data.launch(kernel, launch::sum_sorted(n, if vectors { d / each } else { d }), &arguments)
    }

    fn add_points<T: Number>(&mut self, data: &Data<'_, T>, labels: &Array<u32>) -> Result<(), Error> {
        let (n, k, d) = (data.n(), self.k, data.d());
        let words = self.format.words;
        if self.weighted.is_none() && !self.format.has_limbs() && self.fit_shared_memory(d) {
            let kernel = if words == 1 { &launch::SUM_PER_BLOCK_NARROW } else { &launch::SUM_PER_BLOCK_WIDE };
            let arguments = [
                data.points.arg(),
                read(labels),
                write(&mut self.sums),
                Arg::I32(self.format.exponent),
                Arg::U32(words),
                Arg::U64(n),
                Arg::U32(k),
                Arg::U32(d),
            ];
            return data.launch(kernel, launch::sum_per_block(n, k, d, words), &arguments);
        }
        let weights = self.weighted.as_ref().map(|_| read(&data.weights));
        let rows = Rows { element: data.points.stored(), points: data.points.arg(), weights, labels: read(labels), d };
        rows.add(data, &mut self.sums, &self.format, k)
    }

    /// The means, and how far `moved` each is from the centroid before; without weights, adds to `empty` how many clusters have no
    /// points. A cluster without weight keeps its centroid.
    pub fn renew<T: Number>(
        &self,
        data: &Data<'_, T>,
        old: &Array<T>,
        centroids: &mut Array<T>,
        (moved, empty): (Arg<'_>, Arg<'_>),
    ) -> Result<(), Error> {
        let (k, d) = (self.k as u64, Arg::U32(data.d()));
        if self.weighted.is_some() {
            self.divide(data, old, centroids)?;
            let arguments = [read(centroids), read(old), moved, Arg::U32(self.k), d];
            return data.launch(&launch::SCALE_MOVED, launch::SCALE_MOVED.thread_each(k), &arguments);
        }
        let kernel = match self.format.words {
            1 => &launch::SCALE_MEANS_NARROW,
            2 => &launch::SCALE_MEANS_WIDE,
            _ => &launch::SCALE_MEANS_LIMBS,
        };
        let arguments = [
            read(&self.sums),
            read(&self.counts),
            read(old),
            write(centroids),
            moved,
            empty,
            Arg::I32(self.format.exponent),
            Arg::U32(self.format.words),
            Arg::U32(self.k),
            d,
        ];
        data.launch(kernel, launch::scale_means(k), &arguments)
    }

    /// The means, rounded to `C`; a cluster without weight keeps its centroid.
    pub fn divide<T: Number, C: Number>(
        &self,
        data: &Data<'_, T>,
        old: &Array<C>,
        centroids: &mut Array<C>,
    ) -> Result<(), Error> {
        let d = Arg::U32(data.d());
        let (exponent, words) = (Arg::I32(self.format.exponent), Arg::U32(self.format.words));
        let (sums, counts, old, centroids) = (read(&self.sums), read(&self.counts), read(old), write(centroids));
        if let Some(weighted) = &self.weighted {
            let (total_exponent, total_words) = (Arg::I32(weighted.format.exponent), Arg::U32(weighted.format.words));
            let totals = read(&weighted.totals);
            let arguments = [sums, totals, old, centroids, exponent, words, total_exponent, total_words, d];
            let kernel = &launch::SCALE_DIVIDE_WEIGHTED;
            return data.stream.launch(kernel, C::NAME, kernel.blocks(self.k as u64, 0), &arguments);
        }
        let integers = |kernel: &Kernel| {
            let arguments = [sums, counts, old, centroids, exponent, d];
            data.stream.launch(kernel, C::NAME, kernel.blocks(self.k as u64, 0), &arguments)
        };
        match self.format.words {
            1 => integers(&launch::SCALE_DIVIDE_NARROW),
            2 => integers(&launch::SCALE_DIVIDE_WIDE),
            _ => {
                let arguments = [sums, counts, old, centroids, exponent, words, d];
                let kernel = &launch::SCALE_DIVIDE_LIMBS;
                data.stream.launch(kernel, C::NAME, kernel.blocks(self.k as u64, 0), &arguments)
            }
        }
    }

    /// The unit's exponent, and words per sum.
    pub fn format(&self) -> (i32, u32) {
        (self.format.exponent, self.format.words)
    }

    /// Zeros in place of sums and counts.
    pub fn clear(&mut self, stream: &Stream) -> Result<(), Error> {
        stream.clear(&mut self.sums)?;
        stream.clear(&mut self.counts)
    }

    /// Sums and counts, to read.
    pub fn read(&self) -> [Arg<'_>; 2] {
        [read(&self.sums), read(&self.counts)]
    }

    /// Sums and counts, to write or add to.
    pub fn write(&mut self) -> [Arg<'_>; 2] {
        [write(&mut self.sums), write(&mut self.counts)]
    }

    /// The words of a sum, where sums are unweighted integers.
    pub fn integer_words(&self) -> Option<u32> {
        (self.weighted.is_none() && !self.format.has_limbs()).then_some(self.format.words)
    }

    /// The exponent of the sums' unit.
    pub fn exponent(&self) -> i32 {
        self.format.exponent
    }

    /// Sums and counts of unweighted points.
    pub fn parts(&mut self) -> (&mut Array<u64>, &mut Array<u64>) {
        (&mut self.sums, &mut self.counts)
    }

    /// Points of positive weight per cluster.
    pub fn members(&self) -> &Array<u64> {
        self.weighted.as_ref().map_or(&self.counts, |weighted| &weighted.members)
    }

    /// Points per cluster, whatever their weight, on the host.
    pub fn counts<T: Number>(&self, data: &Data<'_, T>) -> Result<Vec<u64>, Error> {
        data.stream.download(&self.counts, self.k as usize)
    }

    /// Begins to copy how many points each cluster has to the host.
    pub fn fetch_counts(&self, stream: &Stream) -> Result<Incoming<u64>, Error> {
        stream.fetch(&self.counts)
    }

    /// The exact sums of one cluster's columns.
    pub fn sums_of<T: Number>(&self, data: &Data<'_, T>, cluster: usize) -> Result<Vec<ExactSum>, Error> {
        let (d, words) = (data.facts.d, self.format.words as usize);
        let mut host = vec![0; d * words];
        data.stream.download_into(&self.sums, cluster * d * words, &mut host)?;
        Ok(host.chunks_exact(words).map(|sum| exact(sum, self.format.exponent)).collect())
    }

    /// All limbs of sums, and of total weights, are below 2^this.
    pub fn reach(&self) -> [i32; 2] {
        [self.format.reach(), self.weighted.as_ref().map_or(i32::MIN / 2, |weights| weights.format.reach())]
    }

    /// What the inertia kernel takes of the sums: sums, counts, totals, and their formats.
    pub fn arguments(&self) -> ([Arg<'_>; 3], [Arg<'_>; 4]) {
        let (totals, format) = match &self.weighted {
            Some(weighted) => (&weighted.totals, &weighted.format),
            None => (&self.counts, &Format { exponent: 0, words: 1 }),
        };
        let formats = [
            Arg::I32(self.format.exponent),
            Arg::U32(self.format.words),
            Arg::I32(format.exponent),
            Arg::U32(format.words),
        ];
        ([read(&self.sums), read(&self.counts), read(totals)], formats)
    }
}

/// Points per cluster, whatever their weight.
fn count<T: Number>(data: &Data<'_, T>, labels: &Array<u32>, counts: &mut Array<u64>, k: u32) -> Result<(), Error> {
    data.stream.clear(counts)?;
    let n = data.n();
    let arguments = [read(labels), write(counts), Arg::U64(n), Arg::U32(k)];
    data.launch(&launch::COUNT_HISTOGRAM, launch::count_histogram(n, k), &arguments)
}

/// Total weights per cluster: sums of points with one column.
fn add_weights<T: Number>(
    data: &Data<'_, T>,
    labels: &Array<u32>,
    totals: &mut Array<u64>,
    format: &Format,
    k: u32,
) -> Result<(), Error> {
    data.stream.clear(totals)?;
    let rows = Rows { element: "f64", points: read(&data.weights), weights: None, labels: read(labels), d: 1 };
    rows.add(data, totals, format, k)
}

/// The total weight of the points with each of `k` labels, rounded once.
pub fn masses<T: Number>(data: &Data<'_, T>, labels: &Array<u32>, k: usize) -> Result<Vec<f64>, Error> {
    if data.facts.weights.is_none() {
        let mut counts = data.stream.array(k)?;
        count(data, labels, &mut counts, k as u32)?;
        return Ok(data.stream.download(&counts, k)?.into_iter().map(|count| count as f64).collect());
    }
    let format = Format::of_weights(data.facts);
    let words = format.words as usize;
    let mut totals = data.stream.array(k * words)?;
    add_weights(data, labels, &mut totals, &format, k as u32)?;
    let totals = data.stream.download(&totals, k * words)?;
    Ok(totals.chunks_exact(words).map(|total| exact(total, format.exponent).to_f64()).collect())
}
