//! `kmeans devices`: what a fit can run on.

use kmeans_host::{Device, Error, KMeans};
use ndarray::array;
use serde::Serialize;

use crate::args::Devices;
use crate::failure::{Done, Failure, print};

/// One device.
#[derive(Serialize)]
struct Entry {
    /// As `--device` takes it.
    name: String,
    /// What does the work there, for people; what is missing if it cannot be used.
    description: String,
    usable: bool,
    /// Whether `--device auto` takes it for a small fit.
    chosen: bool,
}

/// Runs the subcommand.
pub fn run(args: &Devices) -> Result<Done, Failure> {
    let auto = engine(Device::Auto).unwrap_or_default();
    let entry = |name: &str, engine: Result<String, String>| Entry {
        name: name.into(),
        usable: engine.is_ok(),
        chosen: engine.as_ref().is_ok_and(|e| *e == auto),
        description: engine.unwrap_or_else(|reason| reason),
    };
    let mut entries = vec![entry("cpu", engine(Device::Cpu))];
    for index in 0.. {
        let name = format!("cuda:{index}");
        match engine(Device::Cuda(index)) {
            Ok(found) => entries.push(entry(&name, Ok(found))),
            // The first that is not there ends the list, and says why if there is none at all.
            Err(reason) if index == 0 => {
                entries.push(entry(&name, Err(reason)));
                break;
            }
            Err(_) => break,
        }
    }
    let text = if args.json {
        serde_json::to_string_pretty(&entries).expect("entries are plain data") + "\n"
    } else {
        let line = |e: &Entry| {
            let (mark, not) = (if e.chosen { '*' } else { ' ' }, if e.usable { "" } else { "not usable: " });
            format!("{mark} {:<7} {not}{}\n", e.name, e.description)
        };
        entries.iter().map(line).collect::<String>() + "* what --device auto takes for a small fit\n"
    };
    print(&text)?;
    Ok(Done::Whole)
}

/// What does the work on a device: a fit of two points tells.
fn engine(device: Device) -> Result<String, String> {
    match KMeans::new(1).device(device).fit(&array![[0.0_f32], [1.0]]) {
        Ok(fitted) => Ok(fitted.engine().into()),
        Err(Error::NoDevice { reason, .. }) => Err(reason),
        Err(other) => Err(other.to_string()),
    }
}
