//! Many rounds in one launch (`kmeans_kernels::fit`), for points that such a kernel can take: the host reads what the
//! rounds left when they are over.

use std::ops::Range;

use half::f16;
use kmeans_core::launch::{self, FIT_CLOSE, FIT_FIRST, FIT_KEEP_EMPTY, FitEnd, FitRule, Kernel};
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};
use ndarray::{Array2, ArrayView1};

use super::Number;
use super::assigner::{self, Assigner, Method};
use super::driver::{Arg, Array, read, write, write_parts};
use super::inertia::Inertia;
use super::job::Data;
use super::sums::Sums;
use crate::Error;

/// Most rounds of a launch: more would hide progress, and save nothing.
const MOST_ROUNDS: u64 = 64;
/// Most bytes of a launch's log.
const LOG_BYTES: u64 = 16 << 20;
/// Most rows of rounds on tensor cores: of more, streaming finds the labels faster, from 174,000 rows on with 128 columns and clusters, from
/// 500,000 to a million with fewer (docs/kernels.md, "Which way").
const MOST_TENSOR_ROWS: u64 = 1 << 18;
/// About as many multiply-adds of a launch as a GPU does in 10 ms, so that progress is told and cancelling works.
const LAUNCH_WORK: f64 = 5e10;

/// Where words of the log lie: in front, what the host reads. One array, so that one command sets it to zero.
struct Layout {
    slots: usize,
    k: usize,
    limbs: usize,
    /// Words of a slot's sums.
    sums: usize,
}

impl Layout {
    const STATE: usize = 0;
    const FOUND: usize = 2;

    fn limbs(&self) -> usize {
        Self::FOUND + 2 * self.slots
    }

    fn moved(&self) -> usize {
        self.limbs() + self.slots * self.limbs
    }

    /// Words that the host reads; then come what sums and counts gained, counts, sums, and arrivals at the grid's barriers.
    fn read(&self) -> usize {
        self.moved() + self.slots * self.k
    }

    fn counts(&self) -> usize {
        self.read() + self.slots * (self.sums + self.k)
    }

    fn sums(&self) -> usize {
        self.counts() + self.slots * self.k
    }

    fn arrivals(&self) -> usize {
        self.sums() + self.slots * self.sums
    }

    fn len(&self) -> usize {
        self.arrivals() + 1
    }

    fn counts_of(&self, slot: usize) -> Range<usize> {
        self.counts() + slot * self.k..self.counts() + (slot + 1) * self.k
    }

    fn sums_of(&self, slot: usize) -> Range<usize> {
        self.sums() + slot * self.sums..self.sums() + (slot + 1) * self.sums
    }
}

/// Rounds of one fit.
pub struct Whole<T> {
    kernel: &'static Kernel,
    geometry: launch::Geometry,
    layout: Layout,
    /// Rounds of a launch, at most.
    rounds: usize,
    rule: FitRule,
    limit: f64,
    keep_empty: bool,
    /// State, labels changed and empty clusters per slot, limbs per slot, movements per slot, and what the host does not read.
    log: Array<u64>,
    centroids: Array<T>,
    words: u32,
    /// For tensor cores.
    rounded: Option<Rounded>,
    /// For those: about what points are rounded.
    centre: Vec<T>,
}

/// Which kernel runs the rounds.
#[derive(Clone, Copy)]
enum Kind {
    /// Rows in registers.
    Narrow,
    /// Tensor cores of tier ampere.
    Tensor,
}

impl Kind {
    /// The kernel for `data` and k clusters with sums of `words` words, if there is one.
    fn of<T: Number>(data: &Data<'_, T>, k: usize, words: u32) -> Option<Self> {
        let (d, stored) = (data.d(), data.points.stored());
        let chosen = assigner::chosen();
        if chosen.is_some_and(|method| method != Method::Rounds) {
            return None;
        }
        if d <= launch::NARROW_COLUMNS {
            let fits = launch::NARROW_TYPES.contains(&stored) && launch::fit_narrow_fits(data.n(), k as u64, d, words);
            // Four rows are loaded at once.
            return (fits && data.points.is_aligned()).then_some(Self::Narrow);
        }
        let fits = d <= launch::FIT_TENSOR_COLUMNS && k <= launch::FIT_TENSOR_CLUSTERS as usize;
        let few = data.n() <= MOST_TENSOR_ROWS || chosen.is_some();
        (fits && few && stored == "f32" && data.stream.gpu().tier.name != "portable").then_some(Self::Tensor)
    }
}

/// Columns of rounded rows.
fn width(d: u32) -> usize {
    d.next_multiple_of(16) as usize
}

/// Of each column the median of a few starting centroids: among the points, whose mean would take a pass over them, and not far off for
/// an outlier that a start has chosen.
fn middle<T: Number>(start: &Array2<T>) -> Vec<T> {
    let rows = start.nrows().min(9);
    let median = |column: ArrayView1<'_, T>| {
        let mut values: Vec<T> = (0..rows).map(|i| column[i * start.nrows() / rows]).collect();
        values.sort_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
        values[rows / 2]
    };
    start.columns().into_iter().map(median).collect()
}

/// Room for rounded centroids.
struct Rounded {
    halves: Array<f16>,
    norms: Array<f32>,
    largest: Array<u32>,
}

/// What a launch did.
pub struct Done {
    /// Its rounds, but for one that left a cluster empty.
    pub history: Vec<Iteration>,
    pub end: FitEnd,
    /// The labels are those of the last centroids, whose inertia this is.
    pub closed: Option<f64>,
    /// The slot of the last centroids.
    centroids: usize,
    /// The slot of the sums and counts of the labels.
    sums: usize,
}

/// What a launch is to do: so many rounds, from no labels or from some, and whether to find the labels of the means of the
/// last one.
#[derive(Clone, Copy)]
struct Pass {
    rounds: usize,
    first: bool,
    close: bool,
}

/// What rounds begin with, and what they end with.
pub struct Between<'a, T> {
    pub labels: &'a mut Array<u32>,
    pub centroids: &'a mut Array<T>,
    pub sums: &'a mut Sums,
    pub inertia: &'a Inertia,
    /// Has the points rounded for tensor cores.
    pub assigner: &'a mut Assigner<T>,
}

/// Bytes of a slot of the log, but for the limbs.
fn slot_bytes<T>(k: u64, d: u64, words: u32) -> u64 {
    k * (d * (size_of::<T>() as u64 + 16 * words as u64) + 3 * 8) + 16
}

/// Most bytes of the log of a fit of points with `d` columns.
pub fn bytes<T>(k: u64, d: u64) -> u64 {
    if d <= launch::FIT_TENSOR_COLUMNS as u64 { LOG_BYTES.max(4 * slot_bytes::<T>(k, d, 2)) } else { 0 }
}

impl<T: Number> Whole<T> {
    /// For fits from the centroids `start`, `[k, d]`, if a kernel can run them.
    pub fn new(
        data: &Data<'_, T>,
        sums: &Sums,
        inertia: &Inertia,
        start: &Array2<T>,
        settings: &Settings,
        threshold: f64,
    ) -> Result<Option<Self>, Error> {
        let (n, d, k, stored) = (data.n(), data.d(), start.nrows(), data.points.stored());
        let Some(words) = sums.integer_words() else { return Ok(None) };
        let Some(kind) = Kind::of(data, k, words) else { return Ok(None) };
        let geometry = |blocks| match kind {
            Kind::Narrow => launch::fit_narrow(n, k as u32, d, words, blocks),
            Kind::Tensor => launch::fit_tensor(n, k as u32, d, words, blocks),
        };
        let kernel = match (kind, words) {
            (Kind::Narrow, 1) => &launch::FIT_NARROW_SUMS_NARROW,
            (Kind::Narrow, _) => &launch::FIT_NARROW_SUMS_WIDE,
            (Kind::Tensor, 1) => &launch::FIT_TENSOR_SUMS_NARROW,
            (Kind::Tensor, _) => &launch::FIT_TENSOR_SUMS_WIDE,
        };
        let blocks = data.stream.blocks_at_once(kernel, stored, geometry(1))?;
        if blocks == 0 {
            return Ok(None);
        }
        let geometry = geometry(blocks);
        let by_memory = LOG_BYTES / slot_bytes::<T>(k as u64, d as u64, words);
        let by_work = LAUNCH_WORK / (n as f64 * (k as f64 * d as f64 + 32.0));
        let rounds = by_memory.saturating_sub(2).min(by_work as u64).clamp(1, MOST_ROUNDS) as usize;
        let rounds = rounds.min(settings.max_iter.max(1));
        let layout = Layout { slots: rounds + 2, k, limbs: inertia.words(), sums: k * d as usize * words as usize };
        let (rule, limit) = match settings.stop {
            Stop::RelativeTolerance(_) => (FitRule::MovementAtMost, threshold),
            Stop::Movement(limit) => (FitRule::MovementBelow, limit),
            Stop::LabelsChanged(share) => (FitRule::ChangedBelow, share * n as f64),
            _ => (FitRule::LabelsRepeat, 0.0),
        };
        let (stream, slots) = (&data.stream, layout.slots);
        let rounded = match kind {
            Kind::Narrow => None,
            Kind::Tensor => Some(Rounded {
                halves: stream.array(k * width(d))?,
                norms: stream.array(k)?,
                largest: stream.array(2 * slots)?,
            }),
        };
        Ok(Some(Self {
            centre: if rounded.is_some() { middle(start) } else { Vec::new() },
            rounded,
            kernel,
            geometry,
            rounds,
            rule,
            limit,
            keep_empty: settings.empty == EmptyCluster::Keep,
            log: stream.array(layout.len())?,
            centroids: stream.array(slots * k * d as usize)?,
            words,
            layout,
        }))
    }

    /// Rounds, at most `left`: all of them, or as many as a launch may run. `first`: there are no labels yet.
    ///
    /// A round that leaves a cluster empty ends them, and does not count: what is left is what it began with.
    pub fn run(
        &mut self,
        data: &Data<'_, T>,
        between: Between<'_, T>,
        left: usize,
        first: bool,
    ) -> Result<Done, Error> {
        let Between { labels, centroids, sums, inertia, assigner } = between;
        let n = data.facts.n;
        // To begin again with, in case that a cluster comes out empty.
        let begun = if first || self.keep_empty {
            None
        } else {
            let mut copy = data.stream.array(n)?;
            data.stream.copy(labels, 0..n, &mut copy, 0)?;
            Some(copy)
        };
        let pass = Pass { rounds: left.min(self.rounds), first, close: self.rounds >= left };
        let exponent = sums.exponent();
        self.begin(data, centroids, sums, first)?;
        let mut done = self.launch(data, labels, inertia, assigner, exponent, pass)?;
        // The labels are those of the round that does not count.
        if let (FitEnd::Empty, Some(begun)) = (done.end, begun) {
            data.stream.copy(&begun, 0..n, labels, 0)?;
        }
        if done.end == FitEnd::Empty && !done.history.is_empty() {
            // Run the others again.
            self.begin(data, centroids, sums, first)?;
            let pass = Pass { rounds: done.history.len(), first, close: false };
            done = Done { end: FitEnd::Empty, ..self.launch(data, labels, inertia, assigner, exponent, pass)? };
        }
        self.take(data, centroids, done.centroids)?;
        let (to_sums, to_counts) = sums.parts();
        data.stream.copy(&self.log, self.layout.sums_of(done.sums), to_sums, 0)?;
        data.stream.copy(&self.log, self.layout.counts_of(done.sums), to_counts, 0)?;
        Ok(done)
    }

    /// Makes `centroids` those that `round` rounds of the last launch left.
    pub fn take(&self, data: &Data<'_, T>, centroids: &mut Array<T>, round: usize) -> Result<(), Error> {
        let each = self.layout.k * data.facts.d;
        data.stream.copy(&self.centroids, round * each..(round + 1) * each, centroids, 0)
    }

    /// Makes slot 0 of the log.
    fn begin(&mut self, data: &Data<'_, T>, centroids: &Array<T>, sums: &mut Sums, first: bool) -> Result<(), Error> {
        let stream = &data.stream;
        stream.clear(&mut self.log)?;
        stream.clear(&mut self.centroids)?;
        stream.copy(centroids, 0..self.layout.k * data.facts.d, &mut self.centroids, 0)?;
        if !first {
            let (sums, counts) = sums.parts();
            stream.copy(sums, 0..sums.len(), &mut self.log, self.layout.sums_of(0).start)?;
            stream.copy(counts, 0..counts.len(), &mut self.log, self.layout.counts_of(0).start)?;
        }
        Ok(())
    }

    fn launch(
        &mut self,
        data: &Data<'_, T>,
        labels: &mut Array<u32>,
        inertia: &Inertia,
        assigner: &mut Assigner<T>,
        exponent: i32,
        pass: Pass,
    ) -> Result<Done, Error> {
        let (layout, d) = (&self.layout, data.d());
        let (k, slots) = (layout.k, pass.rounds + 2);
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let flags = flag(pass.first, FIT_FIRST) | flag(self.keep_empty, FIT_KEEP_EMPTY) | flag(pass.close, FIT_CLOSE);
        let parts = [
            Layout::STATE..Layout::FOUND,
            Layout::FOUND..layout.limbs(),
            layout.moved()..layout.read(),
            layout.read()..layout.counts(),
            layout.counts()..layout.sums(),
            layout.sums()..layout.arrivals(),
            layout.arrivals()..layout.len(),
        ];
        let [state, found, moved, gained, counts, sums, arrivals] = write_parts(&mut self.log, parts);
        let mut arguments = vec![
            data.points.arg(),
            write(labels),
            write(&mut self.centroids),
            sums,
            counts,
            gained,
            moved,
            found,
            state,
            arrivals.cast::<u32>(),
        ];
        if let Some(Rounded { halves, norms, largest }) = &mut self.rounded {
            data.stream.clear(largest)?;
            let (rows, scale) =
                assigner.streaming_about(data, Some(&self.centre))?.rounded_rows().expect("f32 points are rounded");
            arguments.extend(rows);
            arguments.extend([write(halves), write(norms), write(largest), Arg::F32(scale)]);
            arguments.push(Arg::U32(width(d) as u32));
        }
        arguments.extend([
            Arg::I32(exponent),
            Arg::U32(self.words),
            Arg::U32(self.rule as u32),
            Arg::U64(self.limit.to_bits()),
            Arg::U32(flags),
            Arg::U32(slots as u32),
            Arg::U64(data.n()),
            Arg::U32(k as u32),
            Arg::U32(d),
        ]);
        data.launch(self.kernel, self.geometry, &arguments)?;

        // The inertia of round r is that of its centroids, in slot r, and of the sums of its labels, in the next.
        let formats = [Arg::I32(exponent), Arg::U32(self.words), Arg::I32(0), Arg::U32(1)];
        let parts = [
            layout.limbs()..layout.moved(),
            layout.counts_of(1).start..layout.sums(),
            layout.sums_of(1).start..layout.arrivals(),
        ];
        let [limbs, counts, sums] = write_parts(&mut self.log, parts);
        let (counts, sums) = (counts.to_read(), sums.to_read());
        let sums = [sums, counts, counts];
        inertia.launch_sets(data, (sums, formats), read(&self.centroids), limbs, k as u32, slots as u32 - 1)?;

        let log = data.stream.download(&self.log, layout.read())?;
        self.done(data, &log, inertia, pass.close)
    }

    /// What the log says.
    fn done(&self, data: &Data<'_, T>, log: &[u64], inertia: &Inertia, close: bool) -> Result<Done, Error> {
        let layout = &self.layout;
        let rounds = log[Layout::STATE] as usize;
        let end = FitEnd::from_number(log[Layout::STATE + 1]).expect("a launch that is over has ended");
        let inertia_of =
            |round: usize| inertia.round(data, &log[layout.limbs() + round * layout.limbs..][..layout.limbs]);
        let movement = |round: usize| {
            let moved = &log[layout.moved() + round * layout.k..][..layout.k];
            moved.iter().map(|&bits| f64::from_bits(bits)).sum()
        };
        let repeats = |round: usize| end == FitEnd::Repeated && round + 1 == rounds;
        let record = |round: usize| {
            Ok(Iteration {
                inertia: inertia_of(round)?,
                movement: if repeats(round) { 0.0 } else { movement(round) },
                labels_changed: log[Layout::FOUND + 2 * round],
            })
        };
        let counted = if end == FitEnd::Empty { rounds - 1 } else { rounds };
        let closed = end == FitEnd::Converged || end == FitEnd::Rounds && close;
        Ok(Done {
            history: (0..counted).map(record).collect::<Result<_, Error>>()?,
            end,
            closed: if closed { Some(inertia_of(rounds)?) } else { None },
            centroids: if matches!(end, FitEnd::Repeated | FitEnd::Empty) { rounds - 1 } else { rounds },
            sums: if closed { rounds + 1 } else { counted },
        })
    }
}
