//! `kmeans devices`: what a fit can run on.

use kmeans_host::{Device, KMeans};
use ndarray::array;
use serde::Serialize;

use crate::args::Devices;
use crate::failure::{Done, Failure, print};

/// One device.
#[derive(Serialize)]
struct Entry {
    /// As `--device` takes it; none for a GPU that cannot be used.
    name: Option<String>,
    /// What it is, for people; what stands in the way if it cannot be used.
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    free_memory: Option<u64>,
}

/// Runs the subcommand.
pub fn run(args: &Devices) -> Result<Done, Failure> {
    // A fit of two points tells what does the work on the processor.
    let cpu = KMeans::new(1).device(Device::Cpu).fit(&array![[0.0_f32], [1.0]]);
    let cpu = cpu.map_or_else(|e| e.to_string(), |fitted| fitted.engine().into());
    let mut entries =
        vec![Entry { name: Some(Device::Cpu.to_string()), description: cpu, memory: None, free_memory: None }];
    entries.extend(Device::gpus().into_iter().map(|gpu| match gpu {
        Ok(gpu) => {
            let (major, minor) = gpu.compute_capability;
            let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            let description = format!(
                "{}, compute capability {major}.{minor}, kernels for {}, {:.1} GiB of which {:.1} are free",
                gpu.name,
                gpu.tier,
                gib(gpu.memory),
                gib(gpu.free_memory),
            );
            let name = Some(Device::Cuda(gpu.index).to_string());
            Entry { name, description, memory: Some(gpu.memory), free_memory: Some(gpu.free_memory) }
        }
        Err(error) => Entry { name: None, description: error.to_string(), memory: None, free_memory: None },
    }));
    let text = if args.json {
        serde_json::to_string_pretty(&entries).expect("entries are plain data") + "\n"
    } else {
        for_people(&entries)
    };
    print(&text)?;
    Ok(Done::Whole)
}

fn for_people(entries: &[Entry]) -> String {
    let line = |e: &Entry| format!("{:<8}{}\n", e.name.as_deref().unwrap_or("–"), e.description);
    let lines: String = entries.iter().map(line).collect();
    let end = match entries {
        [_] => "no NVIDIA GPU that a driver knows of\n",
        _ => "--device auto takes a GPU where the work is enough for it to pay\n",
    };
    lines + end
}
