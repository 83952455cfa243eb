//! Lloyd's iterations on the device: labels, sums, means, movement and the search for empty clusters stay there; the
//! host reads one record a round and decides whether it was the last, while the device is at the next.

use kmeans_core::launch::FitEnd;
use kmeans_core::settings::{EmptyCluster, Iteration, Settings, Stop};
use ndarray::Array2;

use super::Number;
use super::assigner::Assigner;
use super::driver::Array;
use super::inertia::mean_variance;
use super::job::Data;
use super::round::Rounds;
use super::whole::Whole;
use crate::Error;
use crate::engine::{OnIteration, Outcome};
use crate::progress::Control;

/// Where fewer labels changed in the last round known, the next may find that they repeat; then the round queued ahead would
/// be for nothing, which costs more than a few waits. A guess, yet to be measured.
const AHEAD_FROM: u64 = 16;

/// [`kmeans_core::reference::lloyd`] on the device: the outcome and its labels.
pub fn lloyd<T: Number>(
    data: &Data<'_, T>,
    assigner: &mut Assigner<T>,
    start: Array2<T>,
    settings: &Settings,
    observe: OnIteration<'_>,
) -> Result<(Outcome<T>, Array<u32>), Error> {
    let (k, d) = start.dim();
    let threshold = match settings.stop {
        Stop::RelativeTolerance(tolerance) => tolerance * mean_variance(data)?,
        _ => 0.0,
    };
    let mut rounds = Rounds::new(data, assigner, &start)?;
    let (sums, inertia) = rounds.parts();
    let mut whole = Whole::new(data, sums, inertia, &start, settings, threshold)?;
    let mut history: Vec<Iteration> = Vec::new();
    let (mut converged, mut repeated, mut finish) = (false, false, false);
    // The inertia, where rounds in one launch have found the labels of the last centroids.
    let mut closed = None;
    // Whether the next round may be queued before this one is known to have one after it.
    let mut runs_ahead = whole.is_none();

    while history.len() < settings.max_iter && !converged && !finish {
        if let Some(whole) = &mut whole {
            let left = settings.max_iter - history.len();
            let done = whole.run(data, rounds.between(), left, history.is_empty())?;
            let mut told = 0;
            for &record in &done.history {
                history.push(record);
                told += 1;
                finish = tell(&mut *observe, &history)?;
                if finish {
                    break;
                }
            }
            if told < done.history.len() {
                // The rounds after the one that the observer ended with count for nothing.
                whole.take(data, rounds.between().centroids, told)?;
                continue;
            }
            converged = matches!(done.end, FitEnd::Repeated | FitEnd::Converged);
            closed = if done.end == FitEnd::Repeated { history.last().map(|last| last.inertia) } else { done.closed };
            if done.end != FitEnd::Empty || finish {
                continue;
            }
            // The next round leaves a cluster empty: it is done step by step.
        }
        let first = history.is_empty();
        if rounds.ahead() == 0 {
            rounds.queue(first)?;
        }
        if runs_ahead {
            rounds.queue(false)?;
        }
        let found = rounds.take()?;
        let mut record = found.iteration;
        rounds.note_changes(record.labels_changed);
        if !first && record.labels_changed == 0 {
            record.movement = 0.0;
            (converged, repeated) = (true, true);
        } else {
            let refills = found.empty > 0 && settings.empty == EmptyCluster::Farthest;
            if found.empty > 0 && settings.empty == EmptyCluster::Error {
                rounds.take_back()?;
                return Err(Error::EmptyCluster { cluster: rounds.first_empty()?, iteration: history.len() + 1 });
            }
            if refills {
                rounds.take_back()?;
                let inertia = record.inertia;
                record = Iteration { inertia, ..rounds.fill_empty_clusters(found.empty, first)?.iteration };
            }
            // Clusters that came out empty once do so again.
            runs_ahead = whole.is_none() && !refills && record.labels_changed >= AHEAD_FROM;
            converged = match settings.stop {
                Stop::RelativeTolerance(_) => record.movement <= threshold,
                Stop::Movement(limit) => record.movement < limit,
                Stop::LabelsChanged(share) => (record.labels_changed as f64) < share * data.facts.n as f64,
                _ => false,
            };
        }
        history.push(record);
        finish = tell(&mut *observe, &history)?;
    }

    // The labels returned belong to the centroids returned. Where a round is ahead, it has found them.
    let inertia = if let Some(inertia) = closed {
        inertia
    } else if rounds.ahead() > 0 {
        // Where labels repeated, so did the means.
        rounds.take()?.iteration.inertia
    } else if let (true, Some(last)) = (repeated, history.last()) {
        last.inertia
    } else {
        rounds.label_final(history.is_empty())?
    };
    // Rounds in one launch leave labels of the means that are the next ones for those that are queued.
    let (centroids, counts) = rounds.centroids_and_counts(closed.is_some())?;
    let centroids = Array2::from_shape_vec((k, d), centroids).expect("k·d values");
    Ok((Outcome { centroids, counts, inertia, converged, finished: finish, history }, rounds.into_labels()))
}

/// Tells the last round; whether the observer wants to finish with it.
fn tell(observe: OnIteration<'_>, history: &[Iteration]) -> Result<bool, Error> {
    let (rounds, Some(&last)) = (history.len(), history.last()) else { return Ok(false) };
    match observe(rounds, last) {
        Control::Continue => Ok(false),
        Control::Finish => Ok(true),
        Control::Cancel => Err(Error::Cancelled { iterations: rounds }),
    }
}
