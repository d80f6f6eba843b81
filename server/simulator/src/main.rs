//! Runs the simulations of many seeds, on several threads.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use clap::Parser;
use simulator::{Failure, Outcome, run};

/// Simulates a tick host, its gateways and clients, with faults
#[derive(Parser)]
#[command(name = "simulator")]
struct Options {
    /// The seeds, as in 0..1000
    #[arg(long, value_parser = parse_seeds, default_value = "0..1000")]
    seeds: Range<u64>,
    /// Threads, each with a simulation of its own
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let expected = || format!("expected a range such as 0..1000, found {text}");
    let (first, end) = text.split_once("..").ok_or_else(expected)?;
    let number = |text: &str| text.trim().parse().map_err(|_| expected());
    Ok(number(first)?..number(end)?)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let next = AtomicU64::new(options.seeds.start);
    let (all, failures) = (Mutex::new(Outcome::default()), Mutex::new(vec![]));
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= options.seeds.end {
                        break;
                    }
                    match run(seed) {
                        Ok(outcome) => lock(&all).add(&outcome),
                        Err(failure) => {
                            print(&failure);
                            lock(&failures).push(seed);
                        }
                    }
                }
            });
        }
    });
    let (all, mut failures) = (*lock(&all), std::mem::take(&mut *lock(&failures)));
    failures.sort_unstable();
    println!(
        "{} seeds in {:.1} s: {} ticks, {} starts of tick hosts, {} deaths in markets, {} sessions \
         resumed, {} commands sent again, {} confirmed commands found in journals; failed: {failures:?}",
        options.seeds.clone().count(),
        begun.elapsed().as_secs_f64(),
        all.ticks,
        all.starts,
        all.market_deaths,
        all.resumed,
        all.sent_again,
        all.kept,
    );
    match failures.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

fn print(failure: &Failure) {
    println!("{failure}");
}

fn lock<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
