//! Fits for a range of k, their scores, and the choice.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ndarray::{ArrayBase, Data, Ix2};

use super::chart;
use super::knee::knee;
use super::scores::{calinski_harabasz_of, davies_bouldin_of};
use super::silhouette::{Clusters, mean, sampled_silhouette, samples_of, simplified_silhouette};
use crate::{Control, Element, Error, FittedKMeans, KMeans, Progress};

/// The score that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Criterion {
    /// The largest silhouette coefficient, in the form asked for.
    #[default]
    Silhouette,
    /// The largest Calinski-Harabasz score.
    CalinskiHarabasz,
    /// The smallest Davies-Bouldin score.
    DaviesBouldin,
    /// The knee of the inertia: [`knee`].
    Elbow,
}

/// How the silhouette coefficient is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SilhouetteForm {
    /// From all n·n distances, on the device of [`KMeans::device`], with the same bits on each. That is n·n·d multiplications and n·n square roots
    /// for each k: beyond some 100,000 points on a processor, a million on a GPU, one of the other forms is the better choice.
    #[default]
    Exact,
    /// With distances to centroids in place of mean distances to points.
    Simplified,
    /// Exact, of this many rows drawn by the seed of [`KMeans`].
    Sampled(usize),
}

/// Scores k-means for a range of k and chooses one.
///
/// Each k is fitted by the same settings, those of [`kmeans`](Self::kmeans) but for its k.
#[derive(Clone, Debug)]
#[must_use]
pub struct SelectK {
    range: RangeInclusive<usize>,
    kmeans: KMeans,
    criterion: Criterion,
    silhouette: SilhouetteForm,
    observer: Option<Observer>,
}

/// Told which k is fitted, and how that goes.
type OnProgress = dyn Fn(usize, &Progress) -> Control + Send + Sync;

/// The callback, shared so that a builder can be cloned.
#[derive(Clone)]
struct Observer(Arc<OnProgress>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// The scores of one k. A score is missing where fewer than two clusters have points, or as many as there are points.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scores {
    /// Clusters asked for.
    pub k: usize,
    /// Clusters that have points.
    pub non_empty: usize,
    /// The sum of squared distances to centroids.
    pub inertia: f64,
    /// Larger is better.
    pub silhouette: Option<f64>,
    /// Larger is better.
    pub calinski_harabasz: Option<f64>,
    /// Smaller is better.
    pub davies_bouldin: Option<f64>,
}

/// The scores of all k, the choice, and its fit.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection<T> {
    table: Vec<Scores>,
    criterion: Criterion,
    form: SilhouetteForm,
    chosen: usize,
    fitted: FittedKMeans<T>,
}

impl SelectK {
    /// One of the k in `range`.
    pub fn new(range: RangeInclusive<usize>) -> Self {
        Self {
            kmeans: KMeans::new(*range.start()),
            range,
            criterion: Criterion::default(),
            silhouette: SilhouetteForm::default(),
            observer: None,
        }
    }

    /// All settings of the fits but k.
    pub fn kmeans(mut self, kmeans: KMeans) -> Self {
        self.kmeans = kmeans;
        self
    }

    /// The score that decides; the silhouette if left open.
    pub fn criterion(mut self, criterion: Criterion) -> Self {
        self.criterion = criterion;
        self
    }

    /// How the silhouette is computed; exactly if left open.
    pub fn silhouette(mut self, form: SilhouetteForm) -> Self {
        self.silhouette = form;
        self
    }

    /// A function that is told which k is fitted and how that goes, in place of the one that [`kmeans`](Self::kmeans) may have.
    ///
    /// [`Control::Finish`] leaves out the k that is being fitted and those after it: the choice is made from those before, if
    /// there are any.
    ///
    /// ```
    /// use kmeans_host::Control;
    /// use kmeans_host::select_k::SelectK;
    /// use ndarray::Array2;
    ///
    /// let points = Array2::from_shape_fn((120, 2), |(i, j)| ((i % 3) * 50 + (i * 7 + j * 3) % 5) as f32);
    /// let selection = SelectK::new(2..=6)
    ///     .on_progress(|k, _| if k < 4 { Control::Continue } else { Control::Finish })
    ///     .fit(&points)?;
    /// assert_eq!(selection.table().len(), 2);
    /// # Ok::<(), kmeans_host::Error>(())
    /// ```
    pub fn on_progress(mut self, observer: impl Fn(usize, &Progress) -> Control + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer(Arc::new(observer)));
        self
    }

    /// Fits and scores `points`, `[n, d]`, for every k of the range.
    ///
    /// # Errors
    /// Those of [`KMeans::fit`]; [`Error::Cancelled`] if the progress callback ended the first fit; [`Error::EmptyKRange`] if the criterion can decide for no k of the range, as where all points are equal.
    pub fn fit<T: Element, S: Data<Elem = T>>(&self, points: &ArrayBase<S, Ix2>) -> Result<Selection<T>, Error> {
        let (from, to) = (*self.range.start(), *self.range.end());
        let mut table = Vec::new();
        let mut fits = Vec::new();
        for k in self.range.clone() {
            let mut kmeans = self.kmeans.clone();
            kmeans.k = k;
            let finish = Arc::new(AtomicBool::new(false));
            if let Some(Observer(observer)) = self.observer.clone() {
                let finish = finish.clone();
                kmeans = kmeans.on_progress(move |progress| {
                    let answer = observer(k, progress);
                    finish.fetch_or(answer == Control::Finish, Ordering::Relaxed);
                    answer
                });
            }
            let fitted = kmeans.fit(points);
            // A fit that was cut short does not compare with the others.
            if finish.load(Ordering::Relaxed) {
                if table.is_empty() {
                    return Err(Error::Cancelled { iterations: 0 });
                }
                break;
            }
            let fitted = fitted?;
            table.push(self.scores(points, &fitted)?);
            fits.push(fitted);
        }
        let chosen = self.choose(&table).ok_or(Error::EmptyKRange { from, to })?;
        let fitted = fits.swap_remove(chosen);
        Ok(Selection { table, criterion: self.criterion, form: self.silhouette, chosen, fitted })
    }

    fn scores<T: Element, S: Data<Elem = T>>(
        &self,
        points: &ArrayBase<S, Ix2>,
        fitted: &FittedKMeans<T>,
    ) -> Result<Scores, Error> {
        let mut scores = Scores {
            k: fitted.counts().len(),
            non_empty: fitted.counts().iter().filter(|&&count| count > 0).count(),
            inertia: fitted.inertia(),
            silhouette: None,
            calinski_harabasz: None,
            davies_bouldin: None,
        };
        let labels = fitted.labels();
        let labels = labels.as_slice().expect("labels are packed");
        let Ok(clusters) = Clusters::new(points.nrows(), labels) else { return Ok(scores) };
        let silhouette = match self.silhouette {
            SilhouetteForm::Exact => {
                samples_of(points.view(), &clusters, self.kmeans.device).map(|samples| mean(&samples))
            }
            SilhouetteForm::Simplified => simplified_silhouette(points, labels, &fitted.centroids()),
            SilhouetteForm::Sampled(rows) => sampled_silhouette(points, labels, rows, self.kmeans.seed),
        };
        scores.silhouette = match silhouette {
            // The sample may have missed all clusters but one.
            Err(Error::NotScorable { .. }) => None,
            silhouette => Some(silhouette?),
        };
        scores.calinski_harabasz = Some(calinski_harabasz_of(points.view(), &clusters));
        scores.davies_bouldin = Some(davies_bouldin_of(points.view(), &clusters));
        Ok(scores)
    }

    /// The index of the best row; the smallest k among equals.
    fn choose(&self, table: &[Scores]) -> Option<usize> {
        if self.criterion == Criterion::Elbow {
            let (x, y): (Vec<_>, Vec<_>) = table.iter().map(|s| (s.k as f64, s.inertia)).unzip();
            return knee(&x, &y);
        }
        let value = |s: &Scores| match self.criterion {
            Criterion::CalinskiHarabasz => s.calinski_harabasz,
            Criterion::DaviesBouldin => s.davies_bouldin.map(|v| -v),
            _ => s.silhouette,
        };
        let mut best: Option<(f64, usize)> = None;
        for (i, scores) in table.iter().enumerate() {
            if let Some(value) = value(scores)
                && best.is_none_or(|(most, _)| value > most)
            {
                best = Some((value, i));
            }
        }
        best.map(|(_, i)| i)
    }
}

impl<T: Element> Selection<T> {
    /// The k chosen.
    pub fn k(&self) -> usize {
        self.table[self.chosen].k
    }

    /// The fit with that k.
    pub fn fitted(&self) -> &FittedKMeans<T> {
        &self.fitted
    }

    /// That fit, without a copy.
    pub fn into_fitted(self) -> FittedKMeans<T> {
        self.fitted
    }

    /// The scores of every k, in order.
    pub fn table(&self) -> &[Scores] {
        &self.table
    }

    /// The score that decided.
    pub fn criterion(&self) -> Criterion {
        self.criterion
    }

    /// A picture of the table as an SVG document: a panel for each score, the choice marked.
    pub fn chart(&self) -> String {
        chart::svg(&self.table, self.k(), self.criterion, self.form)
    }
}
