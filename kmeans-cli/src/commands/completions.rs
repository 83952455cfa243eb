//! `kmeans completions`: what a shell needs to complete this program's command lines.

use clap::CommandFactory;

use crate::args::{Cli, Completions};
use crate::failure::{Done, Failure, print};

/// Runs the subcommand.
pub fn run(args: &Completions) -> Result<Done, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kmeans", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(Done::Whole)
}
