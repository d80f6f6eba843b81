use std::process::ExitCode;

use benches::cli;
use mimalloc::MiMalloc;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    match cli::run(&matches, &mut std::io::stdout().lock()) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
