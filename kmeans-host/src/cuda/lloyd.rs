//! Lloyd's iterations on the device: labels, sums, means, movement and the search for empty clusters stay there; the
//! host reads one record a round, decides whether it was the last, and starts the next.

use std::mem::swap;

use kmeans_core::launch::{self, FitEnd};
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};
use ndarray::Array2;

use super::Number;
use super::assigner::Assigner;
use super::driver::{Arg, Array, read, read_part, write, write_as};
use super::empty::Empty;
use super::inertia::{Inertia, mean_variance, start_range};
use super::job::{Data, upload_matrix};
use super::sums::Sums;
use super::whole::{Between, Whole};
use crate::Error;
use crate::engine::{OnIteration, Outcome};
use crate::progress::Control;

/// What a round leaves for the host, in words: labels that changed, bits of the movement, empty clusters, and then the
/// limbs of the inertia.
const CHANGED: usize = 0;
const MOVEMENT: usize = 1;
const EMPTY: usize = 2;
const LIMBS: usize = 3;

/// Sums are kept, and rows moved between them, while fewer than one in this many rows changed in the round before: a row
/// is then read once and added twice, by additions to global memory that cost more than those of a whole pass.
const MOVE_BELOW: u64 = 8;

/// What a fit carries from round to round.
struct State<'a, 'p, T> {
    data: &'a Data<'p, T>,
    assigner: &'a mut Assigner<T>,
    k: usize,
    labels: Array<u32>,
    /// The labels of the round before.
    before: Array<u32>,
    centroids: Array<T>,
    /// Rows that changed their label in this round.
    changed: Array<u32>,
    /// How many did in the round before.
    changed_before: u64,
    /// The means of the labels.
    updated: Array<T>,
    /// How far each centroid moved.
    moved: Array<f64>,
    sums: Sums,
    empty: Empty,
    /// Empty clusters of the last record.
    found_empty: u32,
    inertia: Inertia,
    record: Array<u64>,
}

/// [`kmeans_core::reference::lloyd`] on the device: the outcome and its labels.
pub fn lloyd<T: Number>(
    data: &Data<'_, T>,
    assigner: &mut Assigner<T>,
    start: Array2<T>,
    settings: &Settings,
    observe: OnIteration<'_>,
) -> Result<(Outcome<T>, Array<u32>), Error> {
    let n = data.facts.n;
    let threshold = match settings.stop {
        Stop::RelativeTolerance(tolerance) => tolerance * mean_variance(data)?,
        _ => 0.0,
    };
    let mut state = State::new(data, assigner, &start)?;
    let mut whole = Whole::new(data, &state.sums, &state.inertia, state.k, settings, threshold)?;
    let mut history = Vec::new();
    let (mut converged, mut current, mut finish) = (false, false, false);
    // The inertia, where the labels are known to be those of the last centroids.
    let mut closed = None;

    while history.len() < settings.max_iter && !converged && !finish {
        if let Some(whole) = &mut whole {
            let done = whole.run(data, state.between(), settings.max_iter - history.len(), history.is_empty())?;
            let mut told = 0;
            for &record in &done.history {
                history.push(record);
                told += 1;
                match observe(history.len(), record) {
                    Control::Continue => {}
                    Control::Finish => finish = true,
                    Control::Cancel => return Err(Error::Cancelled { iterations: history.len() }),
                }
                if finish {
                    break;
                }
            }
            if told < done.history.len() {
                // The rounds after the one that the observer ended with count for nothing.
                whole.take(data, &mut state.centroids, told)?;
                continue;
            }
            current = done.end == FitEnd::Repeated;
            converged = current || done.end == FitEnd::Converged;
            closed = done.closed;
            if done.end != FitEnd::Empty || finish {
                continue;
            }
            // The next round leaves a cluster empty: it is done step by step.
        }
        let first = history.is_empty();
        state.round(first)?;
        let mut record = state.read_record()?;
        if first {
            record.labels_changed = n as u64;
        }
        if !first && record.labels_changed == 0 {
            record.movement = 0.0;
            (converged, current) = (true, true);
        } else {
            let empty = state.found_empty;
            if empty > 0 {
                match settings.empty {
                    EmptyCluster::Error => {
                        let cluster = state.empty.first(data)?;
                        return Err(Error::EmptyCluster { cluster, iteration: history.len() + 1 });
                    }
                    EmptyCluster::Farthest => {
                        let inertia = record.inertia;
                        state.fill_empty_clusters(empty, first)?;
                        record = Iteration { inertia, ..state.read_record()? };
                        if first {
                            record.labels_changed = n as u64;
                        }
                    }
                    _ => {}
                }
            }
            converged = match settings.stop {
                Stop::RelativeTolerance(_) => record.movement <= threshold,
                Stop::Movement(limit) => record.movement < limit,
                Stop::LabelsChanged(share) => (record.labels_changed as f64) < share * n as f64,
                _ => false,
            };
            swap(&mut state.centroids, &mut state.updated);
        }
        state.changed_before = record.labels_changed;
        history.push(record);
        match observe(history.len(), record) {
            Control::Continue => {}
            Control::Finish => finish = true,
            Control::Cancel => return Err(Error::Cancelled { iterations: history.len() }),
        }
    }

    let inertia = match (history.last(), closed) {
        (Some(last), _) if current => last.inertia,
        (_, Some(inertia)) => inertia,
        // The last update moved the centroids: the labels returned belong to where they are now.
        _ => state.label_final(history.is_empty())?,
    };
    let (k, d) = start.dim();
    let centroids = data.stream.download(&state.centroids, k * d)?;
    let outcome = Outcome {
        centroids: Array2::from_shape_vec((k, d), centroids).expect("k·d values"),
        counts: state.sums.counts(data)?,
        inertia,
        converged,
        finished: finish,
        history,
    };
    Ok((outcome, state.labels))
}

impl<'a, 'p, T: Number> State<'a, 'p, T> {
    fn new(data: &'a Data<'p, T>, assigner: &'a mut Assigner<T>, start: &Array2<T>) -> Result<Self, Error> {
        let stream = &data.stream;
        let k = start.nrows();
        let sums = Sums::new(data, k)?;
        let inertia = Inertia::new(data, &sums, start_range(data.facts, start.view()))?;
        Ok(Self {
            data,
            assigner,
            k,
            labels: stream.array(data.facts.n)?,
            before: stream.array(data.facts.n)?,
            changed: stream.array(if sums.can_move(data) { data.facts.n } else { 1 })?,
            changed_before: u64::MAX,
            centroids: upload_matrix(stream, start.view())?,
            updated: stream.array(start.len())?,
            moved: stream.array(k)?,
            sums,
            empty: Empty::new(data, k)?,
            found_empty: 0,
            record: stream.array(LIMBS + inertia.words())?,
            inertia,
        })
    }

    /// What rounds in one launch go on from.
    fn between(&mut self) -> Between<'_, T> {
        let Self { labels, centroids, sums, inertia, assigner, .. } = self;
        Between { labels, centroids, sums, inertia, assigner }
    }

    /// One round, without a look at what came out.
    fn round(&mut self, first: bool) -> Result<(), Error> {
        let data = self.data;
        self.label(first)?;
        self.inertia.launch(data, &self.sums, &self.centroids, &mut self.record, LIMBS)?;
        self.empty.find(data, &self.sums, write_as::<u32>(&mut self.record, EMPTY..EMPTY + 1))?;
        self.update()
    }

    /// Labels for the centroids, and their sums; `first`: there are none before.
    fn label(&mut self, first: bool) -> Result<(), Error> {
        let data = self.data;
        swap(&mut self.labels, &mut self.before);
        data.stream.clear(&mut self.record)?;
        self.assigner.assign(data, &self.centroids, self.k, &mut self.labels)?;
        if !first && self.sums.can_move(data) && self.changed_before < data.n() / MOVE_BELOW {
            self.move_changed()
        } else {
            self.count_changed(first)?;
            self.sums.add_up(data, &self.labels)
        }
    }

    /// Lists the rows whose label changed, and moves them between sums.
    fn move_changed(&mut self) -> Result<(), Error> {
        let (data, n) = (self.data, self.data.n());
        let count = write_as::<u64>(&mut self.record, CHANGED..CHANGED + 1);
        let arguments = [read(&self.before), read(&self.labels), write(&mut self.changed), count, Arg::U64(n)];
        data.launch(&launch::CHANGED_ROWS, launch::changed_rows(n), &arguments)?;
        let count = read_part(&self.record, CHANGED..CHANGED + 1);
        self.sums.move_rows(data, (&self.before, &self.labels), &self.changed, count)
    }

    fn count_changed(&mut self, first: bool) -> Result<(), Error> {
        if first {
            return Ok(());
        }
        let n = self.data.n();
        let changed = write_as::<u64>(&mut self.record, CHANGED..CHANGED + 1);
        let arguments = [read(&self.before), read(&self.labels), changed, Arg::U64(n)];
        self.data.launch(&launch::COUNT_CHANGED, launch::COUNT_CHANGED.thread_each(n), &arguments)
    }

    /// The means of the sums, and how far they are from the centroids.
    fn update(&mut self) -> Result<(), Error> {
        let data = self.data;
        self.sums.divide(data, &self.centroids, &mut self.updated)?;
        let (k, d) = (Arg::U32(self.k as u32), Arg::U32(data.d()));
        let arguments = [read(&self.updated), read(&self.centroids), write(&mut self.moved), k, d];
        data.launch(&launch::SCALE_MOVED, launch::SCALE_MOVED.thread_each(self.k as u64), &arguments)?;
        let movement = write_as::<f64>(&mut self.record, MOVEMENT..MOVEMENT + 1);
        data.launch(&launch::SCALE_MOVEMENT, launch::scale_movement(), &[read(&self.moved), movement, k])
    }

    /// The round's record. Waits for the device.
    fn read_record(&mut self) -> Result<Iteration, Error> {
        let words = self.data.stream.download(&self.record, self.record.len())?;
        self.found_empty = words[EMPTY] as u32;
        Ok(Iteration {
            inertia: self.inertia.round(&words[LIMBS..]),
            movement: f64::from_bits(words[MOVEMENT]),
            labels_changed: words[CHANGED],
        })
    }

    /// Gives empty clusters points, and updates again.
    fn fill_empty_clusters(&mut self, count: u32, first: bool) -> Result<(), Error> {
        let data = self.data;
        self.empty.fill(data, count, &self.sums, &self.centroids, &mut self.labels)?;
        data.stream.clear(&mut self.record)?;
        self.count_changed(first)?;
        self.sums.add_up(data, &self.labels)?;
        self.update()
    }

    /// Labels, sums and inertia for the final centroids.
    fn label_final(&mut self, first: bool) -> Result<f64, Error> {
        self.label(first)?;
        self.inertia.of(self.data, &self.sums, &self.centroids)
    }
}
