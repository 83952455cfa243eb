//! The program `kmeans`: exact k-means on files, from a shell.

mod args;
mod bench;
mod commands;
mod failure;
mod images;
mod interrupt;
mod model;
mod outputs;
mod points;
mod summary;
mod svg;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use commands::{
    classic, completions, devices, fit, generate, manual, patches, predict, score, segment, select_k, trace, tree,
};
use failure::{Done, Failure};

fn main() -> ExitCode {
    if let Err(e) = interrupt::listen() {
        eprintln!("warning: Ctrl-C will lose results: {e}");
    }
    match run(std::env::args_os().collect()) {
        Ok(Done::Whole) => ExitCode::SUCCESS,
        Ok(Done::Interrupted) => ExitCode::from(interrupt::EXIT_CODE),
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}

fn run(arguments: Vec<OsString>) -> Result<Done, Failure> {
    // The classic form has no subcommand: its first argument is K.
    let first = arguments.get(1).and_then(|a| a.to_str());
    if first.is_some_and(|a| !a.is_empty() && a.bytes().all(|b| b.is_ascii_digit())) {
        return classic::run(&args::Classic::parse_from(arguments));
    }
    match Cli::parse_from(arguments).command {
        Command::Fit(args) => fit::run(&args),
        Command::Predict(args) => predict::run(&args),
        Command::Score(args) => score::run(&args),
        Command::Segment(args) => segment::run(&args),
        Command::Patches(args) => patches::run(&args),
        Command::SelectK(args) => select_k::run(&args),
        Command::Tree(args) => tree::run(&args),
        Command::Bench(args) => commands::bench::run(&args),
        Command::Trace(args) => trace::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Devices(args) => devices::run(&args),
        Command::Completions(args) => completions::run(&args),
        Command::Manual(args) => manual::run(&args),
    }
}
