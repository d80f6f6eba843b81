use std::process::ExitCode;

use benches::{events, thesis};
use clap::{Parser, Subcommand};

/// Measures the tick of Myriad
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    Thesis(thesis::Options),
    Events(events::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Bench::Thesis(options) => thesis::run(&options, &mut std::io::stdout().lock()),
        Bench::Events(options) => events::run(&options, &mut std::io::stdout().lock()),
    };
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
