//! `myriad fork`: a new world from any tick of a kept one.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::at_least_one;
use client_bot::say;
use gpu_kernels::tick::VERSION;

use super::kept::open;
use crate::durable::checkpoint::{self, Body, Head};
use crate::durable::folder::DataFolder;
use crate::durable::recovery::{self, Replay};
use crate::metrics::machine;
use crate::tick::backend::{BackendOptions, start_backend};

#[derive(Debug, Args)]
pub struct ForkArguments {
    /// Folder of `myriad serve --data`
    folder: PathBuf,
    /// The new world is as the old one was before this tick
    #[arg(long, value_name = "TICK")]
    at: u64,
    /// Folder of the new world
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = at_least_one)]
    threads: Option<usize>,
}

/// Makes the new world.
pub fn run(arguments: &ForkArguments) -> Result<()> {
    let disk = open(&arguments.folder)?;
    let new = DataFolder::open(&arguments.to)?;
    if !checkpoint::ticks(&new.disk())?.is_empty() {
        bail!("{} holds a world already", arguments.to.display());
    }
    let at = arguments.at;
    let stored = recovery::newest(&disk, Some(at))?;
    let stored = stored.with_context(|| format!("there is no checkpoint before tick {at}"))?;
    let threads = arguments.threads.unwrap_or_else(machine::cores);
    let world = &stored.body.world;
    let available = machine::memory_available();
    let mut backend = start_backend(arguments.backend, world, threads, available)?.backend;
    let replay = Replay {
        backend: &mut *backend,
        until: Some(at),
        progress: &mut |_| (),
    };
    let (recovered, end) = recovery::replay(&disk, stored, replay)?;
    if end.tick != at {
        bail!("the journal ends before tick {}", end.tick);
    }
    let mut snapshot = recovered.snapshot;
    snapshot.known.iter_mut().for_each(Vec::clear);
    snapshot.behind.clear();
    let body = checkpoint::encode(&Body {
        world: recovered.world,
        snapshot,
        hash: recovered.hash,
        roster: recovered.roster,
        births: recovered.last.births,
        deaths: recovered.last.deaths,
    });
    let head = Head {
        tick: at,
        epoch: recovered.epoch,
        tick_version: VERSION,
        previous: recovered.start.previous,
    };
    checkpoint::write(&new.disk(), &head, &body).context("cannot write the new world")?;
    say!("{} goes on before tick {at}", arguments.to.display());
    Ok(())
}
