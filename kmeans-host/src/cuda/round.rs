//! Rounds of a fit, step by step: queued on the device, and read from the records that they leave.
//!
//! A round may be queued before the host has read the record of the one before, so that the device need not wait for the
//! host. Should that one turn out to be the last, the labels of the round queued ahead are those of the final centroids,
//! which are wanted anyway. So nothing of the last two rounds is written over: there are three rounds' labels and
//! centroids.

use std::collections::VecDeque;

use kmeans_core::launch;
use kmeans_core::settings::Iteration;
use ndarray::Array2;

use super::Number;
use super::assigner::Assigner;
use super::driver::{Arg, Array, Incoming, read, write_as, write_parts};
use super::empty::Empty;
use super::inertia::{Inertia, start_range};
use super::job::{Data, upload_matrix};
use super::sums::Sums;
use super::whole::Between;
use crate::Error;

/// What a round leaves for the host, in words: labels that changed, empty clusters, the limbs of the inertia, and then bits
/// of how far each centroid moved.
const CHANGED: usize = 0;
const EMPTY: usize = 1;
const LIMBS: usize = 2;

/// Rounds whose arrays are kept.
const KEPT: usize = 3;

/// Rounds of one fit.
pub struct Rounds<'a, 'p, T> {
    data: &'a Data<'p, T>,
    assigner: &'a mut Assigner<T>,
    k: usize,
    /// Rounds queued so far. Number r finds `labels[r % 3]` for `centroids[r % 3]`, whose means are the next centroids.
    queued: usize,
    labels: [Array<u32>; KEPT],
    centroids: [Array<T>; KEPT],
    /// Number r writes `records[r % 2]`.
    records: [Array<u64>; 2],
    /// Records on their way, of the last rounds queued, and whether there were no labels before.
    incoming: VecDeque<(Incoming<u64>, bool)>,
    sums: Sums,
    empty: Empty,
    inertia: Inertia,
}

/// What the host learns of a round.
pub struct Record {
    pub iteration: Iteration,
    /// Clusters without members.
    pub empty: u32,
}

impl<'a, 'p, T: Number> Rounds<'a, 'p, T> {
    /// Notes how many labels changed in the round that was taken last.
    pub fn note_changes(&mut self, changed: u64) {
        self.assigner.note_changes(changed, self.data.n());
    }

    /// From the centroids `start`.
    pub fn new(data: &'a Data<'p, T>, assigner: &'a mut Assigner<T>, start: &Array2<T>) -> Result<Self, Error> {
        let (stream, n, k) = (&data.stream, data.facts.n, start.nrows());
        let sums = Sums::new(data, k)?;
        let inertia = Inertia::new(data, &sums, start_range(data.facts, start.view()))?;
        let words = LIMBS + inertia.words() + k;
        Ok(Self {
            data,
            assigner,
            k,
            queued: 0,
            labels: [stream.array(n)?, stream.array(n)?, stream.array(n)?],
            centroids: [upload_matrix(stream, start.view())?, stream.array(start.len())?, stream.array(start.len())?],
            records: [stream.array(words)?, stream.array(words)?],
            incoming: VecDeque::new(),
            sums,
            empty: Empty::new(data, k)?,
            inertia,
        })
    }

    /// What rounds in one launch go on from: the last labels, and the next centroids.
    pub fn between(&mut self) -> Between<'_, T> {
        let Self { labels, centroids, sums, inertia, assigner, queued, .. } = self;
        let (labels, centroids) = (&mut labels[(*queued + 2) % KEPT], &mut centroids[*queued % KEPT]);
        Between { labels, centroids, sums, inertia, assigner }
    }

    /// The sums and the inertia, for what is made before rounds begin.
    pub fn parts(&self) -> (&Sums, &Inertia) {
        (&self.sums, &self.inertia)
    }

    /// How many rounds are queued whose records are yet to be taken.
    pub fn ahead(&self) -> usize {
        self.incoming.len()
    }

    /// Queues the next round, without a look at what comes out. `first`: there are no labels before.
    pub fn queue(&mut self, first: bool) -> Result<(), Error> {
        let round = self.queued;
        self.label(round, first)?;
        let record = &mut self.records[round % 2];
        self.inertia.launch(self.data, &self.sums, &self.centroids[round % KEPT], record, LIMBS)?;
        self.update(round, first)?;
        self.queued += 1;
        Ok(())
    }

    /// The record of the first round whose record is yet to be taken. Waits for that round.
    pub fn take(&mut self) -> Result<Record, Error> {
        let (incoming, first) = self.incoming.pop_front().expect("a round is queued");
        let words = incoming.wait()?;
        let (limbs, moved) = words[LIMBS..].split_at(self.inertia.words());
        let iteration = Iteration {
            inertia: self.inertia.round(self.data, limbs)?,
            // In the order of the clusters, as the definition adds them.
            movement: moved[..self.k].iter().map(|&bits| f64::from_bits(bits)).sum(),
            labels_changed: if first { self.data.n() } else { words[CHANGED] },
        };
        Ok(Record { iteration, empty: words[EMPTY] as u32 })
    }

    /// Takes back a round queued ahead, and lists the clusters that the one before it left empty.
    pub fn take_back(&mut self) -> Result<(), Error> {
        if let Some((incoming, _)) = self.incoming.pop_front() {
            // Nothing is gained by going on before it is done.
            incoming.wait()?;
            self.queued -= 1;
            self.sums.add_up(self.data, &self.labels[(self.queued + 2) % KEPT])?;
        }
        let record = &mut self.records[(self.queued + 1) % 2];
        self.empty.find(self.data, &self.sums, write_as::<u32>(record, EMPTY..EMPTY + 1))
    }

    /// The first cluster that the last round left empty, nothing being queued ahead.
    pub fn first_empty(&self) -> Result<usize, Error> {
        self.empty.first(self.data)
    }

    /// Gives the `count` clusters that the last round left empty points, and updates again, nothing being queued ahead.
    /// `first`: there were no labels before that round. Returns its record, but for the inertia.
    pub fn fill_empty_clusters(&mut self, count: u32, first: bool) -> Result<Record, Error> {
        let (data, round) = (self.data, self.queued - 1);
        let (labels, centroids) = (&mut self.labels[round % KEPT], &self.centroids[round % KEPT]);
        self.empty.fill(data, count, &self.sums, centroids, labels)?;
        data.stream.clear(&mut self.records[round % 2])?;
        self.sums.add_up(data, &self.labels[round % KEPT])?;
        if !first {
            self.count_changed(round)?;
        }
        self.update(round, first)?;
        self.take()
    }

    /// Labels, sums and inertia for the next centroids, which are the final ones.
    pub fn label_final(&mut self, first: bool) -> Result<f64, Error> {
        let round = self.queued;
        self.label(round, first)?;
        self.queued += 1;
        self.inertia.of(self.data, &self.sums, &self.centroids[round % KEPT])
    }

    /// The centroids of the last labels, or the `next` ones, and the points per cluster, on the host.
    pub fn centroids_and_counts(&self, next: bool) -> Result<(Vec<T>, Vec<u64>), Error> {
        let slot = if next { self.queued } else { self.queued + 2 };
        let centroids = self.data.stream.fetch(&self.centroids[slot % KEPT])?;
        let counts = self.sums.counts(self.data)?;
        Ok((centroids.wait()?, counts))
    }

    /// The last labels.
    pub fn into_labels(self) -> Array<u32> {
        let [first, second, third] = self.labels;
        match self.queued % KEPT {
            0 => third,
            1 => first,
            _ => second,
        }
    }

    /// Labels for the centroids of a round, and their sums.
    fn label(&mut self, round: usize, first: bool) -> Result<(), Error> {
        let data = self.data;
        data.stream.clear(&mut self.records[round % 2])?;
        self.assigner.assign(data, &self.centroids[round % KEPT], self.k, &mut self.labels[round % KEPT])?;
        let labels = &self.labels[round % KEPT];
        if first {
            return self.sums.add_up(data, labels);
        }
        let changed = write_as::<u64>(&mut self.records[round % 2], CHANGED..CHANGED + 1);
        self.sums.follow(data, &self.labels[(round + 2) % KEPT], labels, Some(changed))
    }

    fn count_changed(&mut self, round: usize) -> Result<(), Error> {
        let n = self.data.n();
        let (before, labels) = (&self.labels[(round + 2) % KEPT], &self.labels[round % KEPT]);
        let changed = write_as::<u64>(&mut self.records[round % 2], CHANGED..CHANGED + 1);
        let arguments = [read(before), read(labels), changed, Arg::U64(n)];
        self.data.launch(&launch::COUNT_CHANGED, launch::COUNT_CHANGED.thread_each(n), &arguments)
    }

    /// The means of the sums, and how far they are from the centroids; then the record is complete.
    fn update(&mut self, round: usize, first: bool) -> Result<(), Error> {
        let data = self.data;
        let slots = [round % KEPT, (round + 1) % KEPT];
        let [centroids, updated] = self.centroids.get_disjoint_mut(slots).expect("two of three");
        let record = &mut self.records[round % 2];
        let at = LIMBS + self.inertia.words();
        let [empty, moved] = write_parts(record, [EMPTY..EMPTY + 1, at..at + self.k]);
        self.sums.renew(data, centroids, updated, (moved.cast::<f64>(), empty.cast::<u32>()))?;
        if data.facts.weights.is_some() {
            let record = write_as::<u32>(record, EMPTY..EMPTY + 1);
            self.empty.find(data, &self.sums, record)?;
        }
        self.incoming.push_back((data.stream.fetch(record)?, first));
        Ok(())
    }
}
