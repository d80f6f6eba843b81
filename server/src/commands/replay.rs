//! `myriad replay`: runs a recording and compares each tick's state hash.

use std::path::Path;

use anyhow::{Result, bail};
use gpu_kernels::StateHash;

use crate::journal::{JournalReader, Next};
use crate::machine;
use crate::server::{BackendChoice, start_backend};

/// What a replay found.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    pub ticks: u64,
    /// Why the recording ended early, if it did.
    pub broken_off: Option<String>,
}

/// Replays a recording on a backend. An error names the first tick whose state
/// differs from the recorded one, and what differs in it.
pub fn replay(path: &Path, choice: BackendChoice, threads: usize) -> Result<Replayed> {
    let mut journal = JournalReader::open(path)?;
    let available = machine::memory_available();
    let mut backend = start_backend(choice, &journal.config, threads, available)?.backend;
    let mut ticks = 0;
    loop {
        let (frame, recorded) = match journal.next_tick() {
            Next::Tick(frame, hash) => (frame, hash),
            Next::End => {
                return Ok(Replayed {
                    ticks,
                    broken_off: None,
                });
            }
            Next::BrokenOff(reason) => {
                return Ok(Replayed {
                    ticks,
                    broken_off: Some(reason),
                });
            }
        };
        let output = backend.tick(&frame)?;
        if output.hash != recorded {
            let names = StateHash::part_names(&journal.config.schema);
            bail!(
                "tick {}: the {} backend's state differs from the recorded one in {}",
                frame.tick,
                backend.name(),
                differences(&names, &recorded, &output.hash).join(", ")
            );
        }
        ticks += 1;
    }
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
