use std::process::ExitCode;

use client_bot::cli;
use client_bot::console::run_program;
use mimalloc::MiMalloc;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run_program("myriad-bot", || cli::run(&cli::Arguments::read()))
}
