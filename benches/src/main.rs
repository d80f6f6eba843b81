use std::process::ExitCode;

use benches::cli;
#[cfg(target_os = "linux")]
use benches::transport::bots;
use mimalloc::MiMalloc;

/// Packets and sessions come and go all the time, on many threads.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let matches = cli::command().get_matches();
    #[cfg(target_os = "linux")]
    if let Some((bots::NAME, matches)) = matches.subcommand() {
        return end(bots::run(matches));
    }
    end(cli::run(&matches, &mut std::io::stdout().lock()).map(drop))
}

fn end(ended: anyhow::Result<()>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
