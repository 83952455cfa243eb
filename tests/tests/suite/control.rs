//! Progress reports: their order and numbers, finishing early, cancelling; and fits from several threads at once.

use std::sync::{Arc, Mutex};

use kmeans_core::seeding::PARALLEL_ROUNDS;
use kmeans_host::{
    Control, Device, EmptyCluster, Error, FittedKMeans, Init, Iteration, KMeans, Notice, Progress, Stop, bf16, f16,
};
use kmeans_tests::compare::{assert_identical, assert_same};
use kmeans_tests::data::{Kind, points};
use ndarray::Array2;

/// All reports of one fit, each answered by `answer`.
fn reports_of<T: kmeans_host::Element>(
    kmeans: &KMeans,
    points: &Array2<T>,
    answer: impl Fn(&Progress) -> Control + Send + Sync + 'static,
) -> (Vec<Progress>, Result<FittedKMeans<T>, Error>) {
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    let observed = kmeans.clone().on_progress(move |progress| {
        seen.lock().unwrap().push(*progress);
        answer(progress)
    });
    let result = observed.fit(points);
    let reports = reports.lock().unwrap().clone();
    (reports, result)
}

fn uniform() -> Array2<f32> {
    points(Kind::Uniform, 1500, 3, 1)
}

fn kmeans() -> KMeans {
    KMeans::new(12).stop(Stop::LabelsRepeat).init(Init::FirstK).max_iter(40)
}

fn is_iteration(progress: &Progress, wanted: usize) -> bool {
    matches!(progress, Progress::Iteration { iteration, .. } if *iteration == wanted)
}

/// The restart, done and total of reports while seeding.
fn seeding_reports(reports: &[Progress]) -> Vec<(usize, usize, usize)> {
    reports
        .iter()
        .filter_map(|report| match *report {
            Progress::Seeding { restart, done, total } => Some((restart, done, total)),
            _ => None,
        })
        .collect()
}

#[test]
fn every_round_is_reported_once_and_in_order() {
    let (reports, fitted) = reports_of(&kmeans(), &uniform(), |_| Control::Continue);
    let fitted = fitted.unwrap();
    let expected: Vec<Progress> = fitted
        .history()
        .iter()
        .enumerate()
        .map(|(i, &record)| Progress::Iteration { restart: 0, iteration: i + 1, max_iter: 40, record })
        .collect();
    assert!(expected.len() > 5);
    assert_same("reports", &reports, &expected);
}

#[test]
fn reports_come_while_the_fit_runs_and_not_after_it() {
    // A fit that ends at the third report has not done the rounds after it.
    let (reports, result) =
        reports_of(&kmeans(), &uniform(), |p| if is_iteration(p, 3) { Control::Finish } else { Control::Continue });
    assert_eq!((reports.len(), result.unwrap().iterations()), (3, 3));
}

#[test]
fn every_restart_is_reported_in_order() {
    let (reports, _) = reports_of(&kmeans().init(Init::RandomPoints).n_init(3), &uniform(), |_| Control::Continue);
    let restarts: Vec<usize> = reports
        .iter()
        .map(|report| match *report {
            Progress::Iteration { restart, .. } | Progress::Seeding { restart, .. } => restart,
            _ => unreachable!("no other report is known"),
        })
        .collect();
    assert!(restarts.is_sorted() && restarts.first() == Some(&0) && restarts.last() == Some(&2));
}

#[test]
fn plus_plus_reports_its_centroids() {
    let (reports, _) = reports_of(&kmeans().init(Init::KMeansPlusPlus).n_init(2), &uniform(), |_| Control::Continue);
    let expected: Vec<(usize, usize, usize)> =
        (0..2).flat_map(|restart| (1..=12).map(move |done| (restart, done, 12))).collect();
    assert_eq!(seeding_reports(&reports), expected);
    assert!(matches!(reports.last(), Some(Progress::Iteration { restart: 1, .. })));
}

#[test]
fn parallel_reports_its_rounds() {
    let (reports, _) = reports_of(&kmeans().init(Init::KMeansParallel), &uniform(), |_| Control::Continue);
    let seeding = seeding_reports(&reports);
    assert!(!seeding.is_empty());
    assert!(seeding.iter().all(|&(_, done, total)| done <= total && total == PARALLEL_ROUNDS as usize), "{seeding:?}");
    assert!(seeding.is_sorted(), "{seeding:?}");
}

#[test]
fn reports_come_on_the_thread_that_called() {
    let caller = std::thread::current().id();
    let observed = kmeans().init(Init::KMeansPlusPlus).on_progress(move |_| {
        assert_eq!(std::thread::current().id(), caller);
        Control::Continue
    });
    observed.fit(&uniform()).unwrap();
}

#[test]
fn observing_changes_nothing() {
    let (_, observed) = reports_of(&kmeans().init(Init::KMeansParallel), &uniform(), |_| Control::Continue);
    assert_identical(&observed.unwrap(), &kmeans().init(Init::KMeansParallel).fit(&uniform()).unwrap());
}

#[test]
fn finishing_returns_the_model_as_it_is() {
    let points = uniform();
    for last in 1..5 {
        let finish = move |p: &Progress| if is_iteration(p, last) { Control::Finish } else { Control::Continue };
        let fitted = reports_of(&kmeans(), &points, finish).1.unwrap();
        assert_eq!((fitted.iterations(), fitted.converged()), (last, false));
        assert_same("labels", &fitted.labels().to_vec(), &fitted.predict(&points).unwrap().to_vec());
        assert_eq!(fitted.notices(), [Notice::NotConverged { iterations: last }]);
        // It is the model that a cap at this round gives.
        assert_identical(&fitted, &kmeans().max_iter(last).fit(&points).unwrap());
    }
}

#[test]
fn finishing_makes_no_further_start() {
    let finish = |p: &Progress| if is_iteration(p, 2) { Control::Finish } else { Control::Continue };
    let (reports, fitted) = reports_of(&kmeans().init(Init::RandomPoints).n_init(5), &uniform(), finish);
    assert_eq!((reports.len(), fitted.unwrap().iterations()), (2, 2));
}

#[test]
fn finishing_in_a_later_start_keeps_the_best_so_far() {
    let points = uniform();
    let random = kmeans().init(Init::RandomPoints).seed(3);
    let finish = |p: &Progress| match p {
        Progress::Iteration { restart: 1, iteration: 1, .. } => Control::Finish,
        _ => Control::Continue,
    };
    // One round of the second start is worse than the whole of the first.
    let fitted = reports_of(&random.clone().n_init(4), &points, finish).1.unwrap();
    assert_identical(&fitted, &random.fit(&points).unwrap());
}

#[test]
fn cancelling_says_after_how_many_rounds() {
    for last in 1..4 {
        let cancel = move |p: &Progress| if is_iteration(p, last) { Control::Cancel } else { Control::Continue };
        let (reports, result) = reports_of(&kmeans(), &uniform(), cancel);
        assert_eq!(result.unwrap_err(), Error::Cancelled { iterations: last });
        assert_eq!(reports.len(), last);
    }
}

#[test]
fn cancelling_or_finishing_while_seeding() {
    for init in [Init::KMeansPlusPlus, Init::KMeansParallel] {
        for answer in [Control::Cancel, Control::Finish] {
            let stop = move |p: &Progress| match p {
                Progress::Seeding { done: 2, .. } => answer,
                _ => Control::Continue,
            };
            let (reports, result) = reports_of(&kmeans().init(init.clone()), &uniform(), stop);
            assert_eq!(result.unwrap_err(), Error::Cancelled { iterations: 0 });
            assert!(matches!(reports.last(), Some(Progress::Seeding { done: 2, .. })), "nothing after the answer");
        }
    }
}

#[test]
fn a_builder_can_be_used_again_after_cancelling() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let once = kmeans().on_progress(move |_| {
        let mut calls = counted.lock().unwrap();
        *calls += 1;
        if *calls == 2 { Control::Cancel } else { Control::Continue }
    });
    let points = uniform();
    assert_eq!(once.fit(&points).unwrap_err(), Error::Cancelled { iterations: 2 });
    assert_identical(&once.fit(&points).unwrap(), &kmeans().fit(&points).unwrap());
}

#[test]
fn fits_from_several_threads_at_once_are_the_same() {
    let points = uniform();
    let builder = kmeans().init(Init::KMeansPlusPlus).n_init(2);
    let alone = builder.fit(&points).unwrap();
    std::thread::scope(|scope| {
        let fits: Vec<_> = (0..6).map(|_| scope.spawn(|| builder.fit(&points).unwrap())).collect();
        for fit in fits {
            assert_identical(&fit.join().unwrap(), &alone);
        }
    });
    std::thread::scope(|scope| {
        let predictions: Vec<_> = (0..6).map(|_| scope.spawn(|| alone.predict(&points).unwrap())).collect();
        for prediction in predictions {
            assert_eq!(prediction.join().unwrap(), alone.labels());
        }
    });
}

#[test]
fn fits_within_a_parallel_loop_are_the_same() {
    use rayon::prelude::*;
    let points = uniform();
    let alone = kmeans().fit(&points).unwrap();
    (0..8).into_par_iter().for_each(|_| assert_identical(&kmeans().fit(&points).unwrap(), &alone));
}

#[test]
fn public_types_can_be_sent_and_shared() {
    fn check<T: Send + Sync + Clone + std::fmt::Debug>() {}
    check::<KMeans>();
    check::<FittedKMeans<f32>>();
    check::<FittedKMeans<f64>>();
    check::<FittedKMeans<f16>>();
    check::<FittedKMeans<bf16>>();
    check::<Init>();
    check::<Stop>();
    check::<EmptyCluster>();
    check::<Device>();
    check::<Error>();
    check::<Notice>();
    check::<Progress>();
    check::<Control>();
    check::<Iteration>();
}
