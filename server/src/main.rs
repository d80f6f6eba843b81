use std::process::ExitCode;

use clap::Parser;
use server::commands::cli;

fn main() -> ExitCode {
    match cli::run(cli::Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("myriad: {error:#}");
            ExitCode::FAILURE
        }
    }
}
