use std::process::ExitCode;

use client_bot::{cli, load};
use mimalloc::MiMalloc;
use program::console::run_program;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    run_program("myriad-bot", || load::run(&cli::Arguments::read()))
}
