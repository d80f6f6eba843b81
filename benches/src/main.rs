use std::process::ExitCode;

use benches::{regions, thesis};
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
    Regions(regions::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Bench::Thesis(options) => thesis::run(&options, &mut std::io::stdout().lock()),
        Bench::Regions(options) => regions::run(&options, &mut std::io::stdout().lock()),
    };
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
