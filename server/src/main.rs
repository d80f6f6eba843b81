use std::process::ExitCode;

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
            eprintln!("myriad: {error:#}");
            ExitCode::FAILURE
        }
    }
}
