//! The options of `kmeans select-k`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use kmeans_host::select_k::{Criterion, SilhouetteForm};

use super::images::Pixels;
use super::numbers::count;
use super::{Input, Method, Printing, Running};

#[derive(Args, Debug)]
#[command(mut_arg("input", |arg| arg.help("The points, in any input format, or a .png or .jpg image; - for standard input")))]
pub struct SelectK {
    #[command(flatten)]
    pub input: Input,

    /// Smallest K
    #[arg(long, value_name = "K", default_value_t = 2, help_heading = "Choice")]
    pub from: usize,

    /// Largest K [default: 10, or fewer if there are too few points]
    #[arg(long, value_name = "K", help_heading = "Choice")]
    pub to: Option<usize>,

    /// The score that decides
    #[arg(long, value_enum, default_value_t = By::Silhouette, value_name = "SCORE", help_heading = "Choice")]
    pub by: By,

    /// exact, from all distances; simplified, from distances to centroids; or a number of points to draw for an exact one
    /// [default: exact up to 20000 points, 10000 drawn of more]
    #[arg(long, value_name = "FORM", value_parser = form, help_heading = "Choice")]
    pub silhouette: Option<SilhouetteForm>,

    /// Of an image, use up to this many evenly spaced pixels
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = count, help_heading = "Choice")]
    pub pixels: usize,

    #[command(flatten)]
    pub of_pixel: Pixels,

    #[command(flatten)]
    pub method: Method,

    #[command(flatten)]
    pub running: Running,

    /// A chart of the scores: .svg or .png
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Output")]
    pub chart: Option<PathBuf>,

    #[command(flatten)]
    pub printing: Printing,
}

/// [`Criterion`] by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// The largest silhouette coefficient
    Silhouette,
    /// The largest Calinski-Harabasz score
    CalinskiHarabasz,
    /// The smallest Davies-Bouldin score
    DaviesBouldin,
    /// The knee of the inertia
    Elbow,
}

impl By {
    /// As it is written on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
    }
}

impl From<By> for Criterion {
    fn from(by: By) -> Self {
        match by {
            By::Silhouette => Self::Silhouette,
            By::CalinskiHarabasz => Self::CalinskiHarabasz,
            By::DaviesBouldin => Self::DaviesBouldin,
            By::Elbow => Self::Elbow,
        }
    }
}

/// [`SilhouetteForm`] by name, or by the number of points.
fn form(text: &str) -> Result<SilhouetteForm, String> {
    match text {
        "exact" => Ok(SilhouetteForm::Exact),
        "simplified" => Ok(SilhouetteForm::Simplified),
        _ => match text.parse() {
            Ok(points @ 2..) => Ok(SilhouetteForm::Sampled(points)),
            _ => Err("give exact, simplified or a number of points from 2 on".into()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_the_silhouette_are_names_or_numbers() {
        assert_eq!(form("exact"), Ok(SilhouetteForm::Exact));
        assert_eq!(form("500"), Ok(SilhouetteForm::Sampled(500)));
        assert!(["1", "-3", "all", ""].iter().all(|text| form(text).is_err()));
    }
}
