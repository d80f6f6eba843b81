use std::process::ExitCode;

use clap::Parser;
use client_bot::cli;

fn main() -> ExitCode {
    match cli::run(&cli::Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("myriad-bot: {error:#}");
            ExitCode::FAILURE
        }
    }
}
