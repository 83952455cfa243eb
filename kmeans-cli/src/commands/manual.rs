//! `kmeans manual`: the manual page, from the same definition as the parser.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::args::{Cli, Manual};
use crate::failure::{Done, Failure, print};

/// Runs the subcommand.
pub fn run(args: &Manual) -> Result<Done, Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.subcommand {
        let Some(found) = command.find_subcommand(name) else {
            let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            return Err(Failure::usage(
                format!("there is no subcommand `{name}`"),
                format!("there are: {}", known.join(", ")),
            ));
        };
        command = found.clone().version(env!("CARGO_PKG_VERSION"));
        // Pages are named as `man` finds them: kmeans-fit(1).
        let page = format!("kmeans-{name}");
        command = command.name(page);
    }
    let mut text = Vec::new();
    let write = |error| Failure::System { action: "write the page", error };
    Man::new(command).render(&mut text).map_err(write)?;
    print(&String::from_utf8_lossy(&text))?;
    Ok(Done::Whole)
}
