//! One module per subcommand. To add one: a module here, its arguments and its line in `args.rs`, its arm in `main.rs`.

pub mod bench;
pub mod classic;
pub mod completions;
pub mod devices;
pub mod fit;
pub mod generate;
pub mod manual;
pub mod patches;
pub mod predict;
pub mod score;
pub mod segment;
pub mod select_k;
pub mod trace;
pub mod tree;

use crate::failure::Failure;

/// Runs `work` on this many threads; on all of the processor's if none is said.
pub fn on_threads<R: Send>(threads: Option<u16>, work: impl FnOnce() -> R + Send) -> Result<R, Failure> {
    let Some(threads) = threads else { return Ok(work()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.into()).build();
    let pool = pool.map_err(|e| Failure::System { action: "start threads", error: std::io::Error::other(e) })?;
    Ok(pool.install(work))
}
