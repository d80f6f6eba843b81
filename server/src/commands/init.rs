//! `myriad init`: begins a persistent world in a folder, before its first server.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use client_bot::cli::threads;
use durability::characters::{CharacterStore, Texts};
use durability::checkpoint;
use durability::folder::DataFolder;
use durability::recovery::{self, genesis};
use host::world_data::check_may_begin;
use host::{Begin, DataOptions};
use program::say;
use tick::backend::BackendOptions;

use super::arguments::{default_world, world_at};
use super::persistent::start;

#[derive(Debug, Args)]
pub struct InitArguments {
    /// Folder for `myriad serve --data`
    folder: PathBuf,
    /// World file; without one, a plain default world
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Do nothing if the folder holds a world
    #[arg(long)]
    unless_present: bool,
    #[command(flatten)]
    backend: BackendOptions,
    /// Threads of the cpu backend [default: all cores]
    #[arg(long, value_parser = threads)]
    threads: Option<usize>,
}

/// Writes the first checkpoint of a world.
pub fn run(arguments: &InitArguments) -> Result<()> {
    let (path, name) = (&arguments.folder, arguments.folder.display());
    let world = world_at(arguments.world.as_deref(), None, default_world)?.world;
    let folder = DataFolder::open(path)?;
    let disk = folder.disk();
    if recovery::newest(&disk, None)?.is_some() {
        if arguments.unless_present {
            say!("{name} holds a world");
            return Ok(());
        }
        bail!("{name} holds a world");
    }
    let data = DataOptions {
        begin: Begin::New,
        ..DataOptions::new(path)
    };
    check_may_begin(&folder, &data)?;
    let mut backend = start(arguments.backend, &world, arguments.threads)?;
    let stored = genesis(&world, &mut *backend)?;
    if world.has_characters() {
        CharacterStore::replace(path, Some(&Texts::new()), 0)?;
    }
    let body = checkpoint::encode(&stored.body);
    checkpoint::write(&disk, &stored.head, &body).context("cannot write the first checkpoint")?;
    say!("{name} holds a new world: start it with `myriad serve --data {name}`");
    Ok(())
}
