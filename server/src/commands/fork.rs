//! `myriad fork`: a new world from any tick of a persistent one.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use durability::characters::{CharacterStore, Texts};
use durability::checkpoint;
use durability::folder::DataFolder;
use durability::recovered::Stored;
use durability::recovery::open;
use program::say;
use tick::backend::BackendOptions;

use super::persistent::recover;

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
    #[arg(long, value_parser = threads)]
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
    let (recovered, end) = recover(&disk, Some(at), arguments.backend, arguments.threads)?;
    if end.tick != at {
        bail!("the journal ends before tick {}", end.tick);
    }
    let Stored { head, body } = recovered.into_stored();
    if body.world.has_characters() {
        CharacterStore::replace(&arguments.to, Some(&Texts::new()), head.tick)?;
    }
    let body = checkpoint::encode(&body);
    checkpoint::write(&new.disk(), &head, &body).context("cannot write the new world")?;
    say!("{} continues before tick {at}", arguments.to.display());
    Ok(())
}
