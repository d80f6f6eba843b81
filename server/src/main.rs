use std::process::ExitCode;

use mimalloc::MiMalloc;
use program::console::run_program;
use server::commands::cli;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run_program("myriad", || cli::run(cli::Arguments::read()))
}
