use std::process::ExitCode;

use benches::engines::{content, events, regions};
use benches::report::reprint;
use benches::tick::{due, fan_out, fight, hot, listen, overlap, thesis};
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
    Thesis(thesis::Options),
    Content(content::Options),
    Events(events::Options),
    Due(due::Options),
    FanOut(fan_out::Options),
    Fight(fight::Options),
    Hot(hot::Options),
    Listen(listen::Options),
    Overlap(overlap::Options),
    Regions(regions::Options),
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Primitives(benches::tick::primitives::Options),
    Report(reprint::Options),
}

fn main() -> ExitCode {
    let out = &mut std::io::stdout().lock();
    let result = match Arguments::parse().bench {
        Bench::Thesis(options) => thesis::run(&options, out).map(drop),
        Bench::Content(options) => content::run(&options, out).map(drop),
        Bench::Events(options) => events::run(&options, out).map(drop),
        Bench::Due(options) => due::run(&options, out).map(drop),
        Bench::FanOut(options) => fan_out::run(&options, out).map(drop),
        Bench::Fight(options) => fight::run(&options, out).map(drop),
        Bench::Hot(options) => hot::run(&options, out).map(drop),
        Bench::Listen(options) => listen::run(&options, out).map(drop),
        Bench::Overlap(options) => overlap::run(&options, out).map(drop),
        Bench::Regions(options) => regions::run(&options, out).map(drop),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        Bench::Primitives(options) => benches::tick::primitives::run(&options, out).map(drop),
        Bench::Report(options) => reprint::run(&options, out),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
