//! `kmeans predict`: labels the points of a file with the clusters of a saved model.

use kmeans_files::{ElementType, Format, Layout, Points, Staged, Table, write_labels};
use kmeans_host::Error;
use ndarray::{Array1, ArrayView2};

use super::on_threads;
use crate::args::{Input, Predict};
use crate::failure::{Done, Failure, print_with};
use crate::model::Model;
use crate::outputs::keep_apart;
use crate::points::{Real, notice};
use crate::watch::Watch;

/// Runs the subcommand.
pub fn run(args: &Predict) -> Result<Done, Failure> {
    let model = Model::load(&args.model)?;
    let to_file = args.output.as_ref().filter(|path| path.as_os_str() != "-");
    let layout = args.output.as_deref().map_or(Layout::Text, Layout::of_path);
    if let Some(output) = to_file {
        keep_apart(&[output], &[&args.input.input, &args.model])?;
    }
    let mut file = to_file.map(|path| Staged::create(path)).transpose()?;
    let labels = on_threads(args.running.threads, || {
        let watch = Watch::begin(args.running.quiet, 1);
        let table = read_for(&model, &args.input, &watch);
        watch.say("labelling the points".into());
        let labels = table.and_then(|table| match &table.points {
            Points::F16(m) => labels(&model, args, m.view()),
            Points::Bf16(m) => labels(&model, args, m.view()),
            Points::F32(m) => labels(&model, args, m.view()),
            Points::F64(m) => labels(&model, args, m.view()),
        });
        watch.end();
        labels
    })??;
    if let Some(staged) = &mut file {
        write_labels(staged, layout, labels.view()).map_err(|e| staged.failed(e))?;
    } else {
        print_with(|out| write_labels(out, layout, labels.view()))?;
    }
    file.map_or(Ok(()), Staged::finish)?;
    Ok(Done::Whole)
}

fn labels<T: Real>(model: &Model, args: &Predict, points: ArrayView2<'_, T>) -> Result<Array1<u32>, Failure> {
    let fitted = model.fitted::<T>(&args.model, &args.running)?;
    fitted.predict(&points).map_err(|e| Failure::points(&args.input.name(), e))
}

/// The points that a model is asked about: in its type, and its columns where both have names.
pub fn read_for(model: &Model, input: &Input, watch: &Watch) -> Result<Table, Failure> {
    let own = if is_decimal(input) { model.element() } else { None };
    let mut table = input.read_as(watch, input.element.or(own), model.columns().map(<[String]>::to_vec))?;
    table.points = in_type(table.points, model.element(), &input.name());
    let found = table.points.dim().1;
    if found != model.d() {
        return Err(Failure::points(&input.name(), Error::DimensionMismatch { expected: model.d(), found }));
    }
    Ok(table)
}

/// Points in the type of a model, if it has one, with a word about it where that rounds them.
pub fn in_type(points: Points, to: Option<ElementType>, name: &str) -> Points {
    let from = points.element();
    match to.filter(|&to| to != from) {
        None => points,
        Some(to) => {
            if !is_exact(from, to) {
                notice(&format!("{name}: its {from} values are rounded to {to}, the type of the model"));
            }
            points.into_element(to)
        }
    }
}

/// Whether every value of one type is one of the other.
fn is_exact(from: ElementType, to: ElementType) -> bool {
    use ElementType::{Bf16, F16, F32, F64};
    matches!((from, to), (_, F64) | (F16 | Bf16, F32)) || from == to
}

/// Whether the values are decimal numbers, which have no type of their own. A file of unknown format is text or CSV, or
/// tells its type, and is then converted.
pub fn is_decimal(input: &Input) -> bool {
    matches!(
        input.format.map(Into::into).or_else(|| Format::of_path(&input.input)),
        None | Some(Format::Csv | Format::Text)
    )
}
