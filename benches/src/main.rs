use std::process::ExitCode;

use benches::cli;
use benches::counting::Counting;
#[cfg(target_os = "linux")]
use benches::transport::{bots, gateways::process};
use mimalloc::MiMalloc;
use program::console::output::output;
use program::console::{self, run_program};

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: Counting<MiMalloc> = Counting(MiMalloc);

fn main() -> ExitCode {
    run_program("benches", || run().map(|()| true))
}

fn run() -> anyhow::Result<()> {
    let matches = console::matches("benches", cli::command().try_get_matches());
    #[cfg(target_os = "linux")]
    match matches.subcommand() {
        Some((bots::NAME, matches)) => return bots::run(matches),
        Some((process::NAME, matches)) => return process::run(matches),
        _ => {}
    }
    cli::run(&matches, &mut output()).map(drop)
}
