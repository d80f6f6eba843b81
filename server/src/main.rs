use std::process::ExitCode;

use client_bot::printable::Lines;
use mimalloc::MiMalloc;
use server::commands::cli;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::read()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("myriad: {}", Lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}
