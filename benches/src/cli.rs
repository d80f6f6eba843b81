//! The command line: a subcommand for each bench, and `report`.

use std::io::Write;

use anyhow::Context;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::bench::Entry;
use crate::engines::{Content, Events, Regions};
use crate::report::{Printer, Report, reprint};
use crate::tick::{
    Asking, Crowd, Deals, Due, FanOut, Fight, Hot, Keep, Listen, Logic, Overlap, Stages, Thesis,
    Zones,
};
use crate::transport::{Dashboards, Gateways, LiveDeals, Networks, Swarm};

/// All benches, in the order of the help and of reprinted tables.
pub const BENCHES: &[Entry] = &[
    Entry::of::<Thesis>(),
    Entry::of::<Fight>(),
    Entry::of::<Stages>(),
    Entry::of::<Crowd>(),
    Entry::of::<Logic>(),
    Entry::of::<Asking>(),
    Entry::of::<Hot>(),
    Entry::of::<Deals>(),
    Entry::of::<Due>(),
    Entry::of::<Zones>(),
    Entry::of::<Listen>(),
    Entry::of::<Overlap>(),
    Entry::of::<FanOut>(),
    Entry::of::<Keep>(),
    Entry::of::<Networks>(),
    #[cfg(target_os = "linux")]
    Entry::of::<Swarm>(),
    #[cfg(target_os = "linux")]
    Entry::of::<Gateways>(),
    #[cfg(target_os = "linux")]
    Entry::of::<LiveDeals>(),
    #[cfg(target_os = "linux")]
    Entry::of::<Dashboards>(),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Entry::of::<crate::tick::Primitives>(),
    Entry::of::<Content>(),
    Entry::of::<Events>(),
    Entry::of::<Regions>(),
];

/// The whole command line.
pub fn command() -> Command {
    Command::new("benches")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Measure Myriad")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(BENCHES.iter().map(Entry::command))
        .subcommands(hidden())
        .subcommand(reprint::Options::augment_args(Command::new(REPORT)))
}

/// Subcommands by which benches run this program again.
fn hidden() -> Vec<Command> {
    #[cfg(target_os = "linux")]
    {
        use crate::transport::bots;
        use crate::transport::gateways::process;
        vec![
            bots::Options::augment_args(Command::new(bots::NAME)).hide(true),
            process::Options::augment_args(Command::new(process::NAME)).hide(true),
        ]
    }
    #[cfg(not(target_os = "linux"))]
    vec![]
}

/// Runs a subcommand, writes its tables to `out` and returns the report.
pub fn run(matches: &ArgMatches, out: &mut dyn Write) -> anyhow::Result<Report> {
    let (name, matches) = matches.subcommand().context("expected a subcommand")?;
    if name == REPORT {
        let options = reprint::Options::from_arg_matches(matches)?;
        let printers: Vec<Printer> = BENCHES.iter().map(|bench| bench.printer).collect();
        return reprint::run(&options, &printers, out);
    }
    let bench = BENCHES.iter().find(|bench| bench.name() == name);
    bench.context("expected a bench")?.run(matches, out)
}

const REPORT: &str = "report";
