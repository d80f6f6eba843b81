use std::process::ExitCode;

use benches::{content, thesis};
use clap::{Parser, Subcommand};

/// Measures Myriad
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    Content(content::Options),
    Thesis(thesis::Options),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().bench {
        Bench::Content(options) => content::run(&options, &mut std::io::stdout().lock()),
        Bench::Thesis(options) => thesis::run(&options, &mut std::io::stdout().lock()),
    };
    match result {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
