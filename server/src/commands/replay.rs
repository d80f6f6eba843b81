//! `myriad replay`: runs a recording and compares the state hash of each tick.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;
use client_bot::cli::at_least_one;
use client_bot::say;
use gpu_kernels::StateHash;

use crate::durable::journal::{JournalReader, Next};
use crate::metrics::machine;
use crate::tick::backend::{BackendChoice, start_backend};

#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// Recording made with `myriad serve --record`
    file: PathBuf,
    /// Backend that runs the world
    #[arg(long, value_enum, default_value_t)]
    backend: BackendChoice,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = at_least_one)]
    threads: Option<usize>,
}

/// The result of a replay.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    pub ticks: u64,
    /// Why the recording ended early, if it did.
    pub broken_off: Option<String>,
}

/// Replays a recording. False if it is incomplete.
pub fn run(arguments: &ReplayArguments) -> Result<bool> {
    let threads = arguments.threads.unwrap_or_else(machine::cores);
    let replayed = replay(&arguments.file, arguments.backend, threads)?;
    say!(
        "{} ticks replayed, every state hash as recorded",
        replayed.ticks
    );
    if let Some(reason) = &replayed.broken_off {
        say!("the recording breaks off there: {reason}");
    }
    Ok(replayed.broken_off.is_none())
}

/// Replays a recording on a backend. An error names the first tick whose state differs
/// from the recorded one, and what differs in it.
pub fn replay(path: &Path, choice: BackendChoice, threads: usize) -> Result<Replayed> {
    let mut journal = JournalReader::open(path)?;
    let available = machine::memory_available();
    let mut backend = start_backend(choice, &journal.config, threads, available)?.backend;
    let names = StateHash::part_names(&journal.config.schema);
    let mut ticks = 0;
    let broken_off = loop {
        let (frame, recorded) = match journal.next_tick() {
            Next::Tick(frame, hash) => (frame, hash),
            Next::End => break None,
            Next::BrokenOff(reason) => break Some(reason),
        };
        let output = backend.tick(&frame)?;
        if output.hash != recorded {
            bail!(
                "tick {}: the {} backend's state differs from the recorded one in {}",
                frame.tick,
                backend.name(),
                differences(&names, &recorded, &output.hash).join(", ")
            );
        }
        ticks += 1;
    };
    Ok(Replayed { ticks, broken_off })
}

fn differences(names: &[String], a: &StateHash, b: &StateHash) -> Vec<String> {
    if a.parts.len() != b.parts.len() {
        return vec!["the number of attributes".to_owned()];
    }
    let parts = a.parts.iter().zip(&b.parts).zip(names);
    parts
        .filter(|((a, b), _)| a != b)
        .map(|(_, name)| name.clone())
        .collect()
}
