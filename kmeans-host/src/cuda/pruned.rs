//! Rounds that prune: labels of the rows whose label may have changed, by bounds that the device keeps from one round to the
//! next (kmeans-kernels, `prune`), and when rounds do.

use std::cell::Cell;

use kmeans_core::launch;

use super::Number;
use super::driver::{Arg, Array, Incoming, Stream, read, read_part, write, write_part};
use super::job::Data;
use crate::Error;
use crate::points::Facts;

/// The environment variable that says when rounds prune, for tests and comparisons: `always`, where kernels can, or `never`.
pub const PRUNE_VARIABLE: &str = "KMEANS_CUDA_PRUNE";

/// When rounds prune.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pruning {
    /// Where it saves time, as far as can be told from how many rows the bounds decide.
    Automatic,
    /// Wherever kernels can.
    Always,
    /// Not at all.
    Never,
}

thread_local! {
    static CHOSEN: Cell<Option<Pruning>> = const { Cell::new(None) };
}

impl Pruning {
    /// What [`with_pruning`] chose for this thread, else what the environment says.
    fn chosen() -> Self {
        CHOSEN.get().unwrap_or_else(|| match std::env::var(PRUNE_VARIABLE).as_deref() {
            Ok("always") => Self::Always,
            Ok("never") => Self::Never,
            _ => Self::Automatic,
        })
    }
}

/// What `work` returns, whose fits on GPUs prune as `pruning` says where they are begun by this thread.
#[cfg(feature = "kernels")]
pub fn with_pruning<R>(pruning: Pruning, work: impl FnOnce() -> R) -> R {
    /// Puts back what was chosen before, also when `work` panics.
    struct Before(Option<Pruning>);
    impl Drop for Before {
        fn drop(&mut self) {
            CHOSEN.set(self.0);
        }
    }
    let _before = Before(CHOSEN.replace(Some(pruning)));
    work()
}

/// From when on pruning is tried, and until when it goes on.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Multiplications of a whole assignment, n·k·d.
    pub work: u64,
    /// Rounds before the first that prunes.
    pub rounds: u32,
    /// Eighths of the rows: if bounds leave more than that, rounds go on without, for `rounds` times two, four and so on.
    pub eighths: u64,
    /// Most rounds without before the next try.
    pub patience: u32,
    /// Pruning begins once fewer than one in this many labels changed: while many do, centroids move too far for bounds.
    pub calm: u64,
}

/// Decides round by round whether to prune.
///
/// What the device has counted comes when it comes: the host does not wait for it, and goes by the last number it has.
pub struct Policy {
    pruning: Pruning,
    thresholds: Thresholds,
    /// Rounds to go without.
    wait: u32,
    /// How many that will be after the next failure.
    patience: u32,
    /// Whether the round before pruned, so that all rows have bounds.
    has_bounds: bool,
    /// How many rows bounds left in a round before.
    listed: Option<Incoming<u32>>,
    /// Whether few labels changed in the last round that is known.
    is_calm: bool,
}

impl Policy {
    /// As the environment says, with these thresholds where it says nothing.
    pub fn new(thresholds: Thresholds) -> Self {
        let Thresholds { rounds, .. } = thresholds;
        let pruning = Pruning::chosen();
        Self {
            pruning,
            thresholds,
            wait: rounds,
            patience: 2 * rounds,
            has_bounds: false,
            listed: None,
            is_calm: false,
        }
    }

    /// Whether the next round prunes.
    pub fn begins(&mut self, facts: &Facts, k: usize) -> Result<bool, Error> {
        if !can_prune(facts) {
            return Ok(false);
        }
        match self.pruning {
            Pruning::Always => return Ok(true),
            Pruning::Never => return Ok(false),
            Pruning::Automatic => {}
        }
        let work = (facts.n as u64).saturating_mul(k as u64 * facts.d as u64);
        if work < self.thresholds.work {
            return Ok(false);
        }
        let has_arrived = self.listed.as_ref().map_or(Ok(false), Incoming::have_arrived)?;
        if has_arrived && let Some(listed) = self.listed.take() {
            self.heed(listed.wait()?[0] as u64, facts.n as u64);
        }
        if self.wait > 0 {
            self.wait -= 1;
            self.has_bounds = false;
            return Ok(false);
        }
        Ok(self.has_bounds || self.is_calm)
    }

    /// Notes that `changed` of n labels did in a round.
    pub fn note_changes(&mut self, changed: u64, n: u64) {
        self.is_calm = changed < n / self.thresholds.calm;
    }

    /// Takes into account that bounds left `listed` of n rows.
    fn heed(&mut self, listed: u64, n: u64) {
        if listed * 8 > n * self.thresholds.eighths {
            self.wait = self.patience;
            self.patience = (2 * self.patience).min(self.thresholds.patience);
        }
    }

    /// Notes that a round pruned, in which the device counted the rows left.
    pub fn began<T: Number>(&mut self, stream: &Stream, bounds: &Bounds<T>) -> Result<(), Error> {
        // In the first round all rows are left.
        if self.pruning == Pruning::Automatic && self.has_bounds && self.listed.is_none() {
            self.listed = Some(stream.fetch_part(&bounds.counters, COUNT..COUNT + 1)?);
        }
        self.has_bounds = true;
        Ok(())
    }
}

/// Whether lists can have all rows, and there is a kernel for listed rows.
fn can_prune(facts: &Facts) -> bool {
    u32::try_from(facts.n).is_ok() && facts.d <= 128
}

/// Where `counters` have the farthest movement and the count of listed rows, each at a multiple of 16 bytes.
const FARTHEST: usize = 0;
const COUNT: usize = 4;

/// The bounds of all rows, and what they belong to.
pub struct Bounds<T> {
    k: usize,
    upper: Array<f32>,
    lower: Array<f32>,
    /// The labels they were made with.
    labels: Array<u32>,
    /// The centroids, `[k, d]`.
    centroids: Array<T>,
    moved: Array<f32>,
    counters: Array<u32>,
    list: Array<u32>,
}

impl<T: Number> Bounds<T> {
    /// Bytes on the device.
    pub fn bytes(facts: &Facts, k: usize) -> u64 {
        if can_prune(facts) { 16 * facts.n as u64 + (facts.d * size_of::<T>() + 4) as u64 * k as u64 } else { 0 }
    }

    /// Bounds that decide nothing, for `centroids`, `[k, d]`.
    pub fn new(data: &Data<'_, T>, centroids: &Array<T>, k: usize) -> Result<Self, Error> {
        let (stream, n, all) = (&data.stream, data.facts.n, k * data.facts.d);
        let mut own = stream.array(all)?;
        stream.copy(centroids, 0..all, &mut own, 0)?;
        Ok(Self {
            k,
            upper: stream.zeros(n)?,
            lower: stream.zeros(n)?,
            labels: stream.zeros(n)?,
            centroids: own,
            moved: stream.array(k)?,
            counters: stream.zeros(2 * COUNT)?,
            list: stream.array(n)?,
        })
    }

    /// The clusters they are for.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Moves the bounds to where `centroids` are, writes the labels of the rows that they decide, and lists the others.
    /// `scale` is that of the frame. `others` will say of all rows that nothing is open.
    pub fn list(
        &mut self,
        data: &Data<'_, T>,
        centroids: &Array<T>,
        scale: f32,
        labels: &mut Array<u32>,
        others: &mut Array<u32>,
    ) -> Result<(), Error> {
        let (k, d) = (self.k as u32, data.d());
        data.stream.clear(&mut self.counters)?;
        let arguments = [
            read(centroids),
            read(&self.centroids),
            write(&mut self.moved),
            write_part(&mut self.counters, FARTHEST..FARTHEST + 1),
            Arg::F32(scale),
            Arg::U32(k),
            Arg::U32(d),
        ];
        data.launch(&launch::PRUNE_MOVED, launch::prune_moved(k), &arguments)?;
        // What is read and what is written of the counters are apart.
        let (farthest, count) = self.counters.split(COUNT);
        let arguments = [
            data.points.arg(),
            read(centroids),
            read(&self.labels),
            read(&self.moved),
            farthest,
            write(&mut self.upper),
            write(&mut self.lower),
            write(labels),
            write(others),
            write(&mut self.list),
            count,
            Arg::F32(scale),
            Arg::U64(data.n()),
            Arg::U32(d),
        ];
        data.launch(&launch::PRUNE_ROWS, launch::prune_rows(data.n()), &arguments)
    }

    /// The list and how long it is, to read; and the bounds, to write.
    pub fn arguments(&mut self) -> ([Arg<'_>; 2], [Arg<'_>; 2]) {
        let listed = [read(&self.list), read_part(&self.counters, COUNT..COUNT + 1)];
        (listed, [write(&mut self.upper), write(&mut self.lower)])
    }

    /// Takes note of the labels and the centroids that the bounds belong to now.
    pub fn keep(&mut self, data: &Data<'_, T>, centroids: &Array<T>, labels: &Array<u32>) -> Result<(), Error> {
        let all = self.k * data.facts.d;
        data.stream.copy(labels, 0..data.facts.n, &mut self.labels, 0)?;
        data.stream.copy(centroids, 0..all, &mut self.centroids, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THRESHOLDS: Thresholds = Thresholds { work: 1000, rounds: 2, eighths: 4, patience: 12, calm: 10 };

    fn policy(pruning: Pruning) -> Policy {
        Policy { pruning, ..Policy::new(THRESHOLDS) }
    }

    #[test]
    fn rounds_prune_where_they_are_told_to() {
        let facts = Facts::new((100, 2), None).unwrap();
        for _ in 0..3 {
            assert!(policy(Pruning::Always).begins(&facts, 1).unwrap());
            assert!(!policy(Pruning::Never).begins(&facts, 50).unwrap());
            assert!(!policy(Pruning::Automatic).begins(&facts, 4).unwrap(), "too little work");
        }
    }

    #[test]
    fn after_failures_rounds_go_without_for_longer_and_longer() {
        let facts = Facts::new((100, 2), None).unwrap();
        let mut policy = policy(Pruning::Automatic);
        policy.note_changes(9, 100);
        let rounds_without = |policy: &mut Policy| {
            let mut rounds = 0;
            while !policy.begins(&facts, 50).unwrap() {
                rounds += 1;
            }
            rounds
        };
        assert_eq!(rounds_without(&mut policy), 2);
        policy.heed(50, 100);
        assert_eq!(rounds_without(&mut policy), 0, "half of the rows are decided");
        for rounds in [4, 8, 12, 12] {
            policy.heed(60, 100);
            assert_eq!(rounds_without(&mut policy), rounds);
        }
    }

    #[test]
    fn bounds_are_not_begun_while_many_labels_change() {
        let facts = Facts::new((100, 2), None).unwrap();
        let mut policy = policy(Pruning::Automatic);
        policy.note_changes(10, 100);
        assert!((0..10).all(|_| !policy.begins(&facts, 50).unwrap()));
        policy.note_changes(9, 100);
        assert!(policy.begins(&facts, 50).unwrap());
        policy.has_bounds = true;
        policy.note_changes(10, 100);
        assert!(policy.begins(&facts, 50).unwrap(), "with bounds, what they leave decides");
    }

    #[cfg(feature = "kernels")]
    #[test]
    fn what_is_chosen_holds_for_its_work_alone() {
        let before = Pruning::chosen();
        with_pruning(Pruning::Never, || {
            assert_eq!(Pruning::chosen(), Pruning::Never);
            with_pruning(Pruning::Always, || assert_eq!(Pruning::chosen(), Pruning::Always));
            assert_eq!(Pruning::chosen(), Pruning::Never);
        });
        assert_eq!(Pruning::chosen(), before);
    }
}
