//! `myriad verify`: checks every byte of a persistent world.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use durability::characters;
use durability::checkpoint;
use durability::disk::Folder;
use durability::log::{self, Log};
use durability::recovery;
use durability::recovery::open;
use program::printable::Lines;
use program::say;

#[derive(Debug, Args)]
pub struct VerifyArguments {
    /// Folder of `myriad serve --data`
    folder: PathBuf,
}

/// Checks a folder. False if something in it is damaged.
pub fn run(arguments: &VerifyArguments) -> Result<bool> {
    let disk = open(&arguments.folder)?;
    let mut is_good = true;
    for tick in checkpoint::ticks(&disk)? {
        if let Err(error) = recovery::read(&disk, tick) {
            is_good = false;
            say!(
                "checkpoint before tick {tick}: {}",
                Lines(&format!("{error:#}"))
            );
        }
    }
    match check_characters(&arguments.folder, &disk) {
        Ok(Some((tick, count))) => {
            say!("characters before tick {tick}: {count}, every checksum is right");
        }
        Ok(None) => {}
        Err(error) => {
            is_good = false;
            say!("{}", Lines(&format!("{error:#}")));
        }
    }
    let records = check_records(&disk);
    match records {
        Ok((first, next)) => say!("records of ticks {first} to {next}: every checksum is right"),
        Err(error) => {
            is_good = false;
            say!("{}", Lines(&format!("{error:#}")));
        }
    }
    Ok(is_good)
}

/// The tick and the number of characters; none where the world has none, or a database has them.
fn check_characters(folder: &Path, disk: &Folder) -> Result<Option<(u64, usize)>> {
    let stored = recovery::newest(disk, None)?.context("there is no world in it")?;
    if !stored.body.world.has_characters() || characters::are_elsewhere(folder) {
        return Ok(None);
    }
    characters::file::check(folder, stored.head.tick).map(Some)
}

/// Reads all records. Returns the first tick, and the one behind the last.
fn check_records(disk: &Folder) -> Result<(u64, u64)> {
    let stored = recovery::newest(disk, None)?.context("there is no world in it")?;
    let capacity = stored.body.world.schema.world.capacity;
    let first = log::first(disk)?.unwrap_or(stored.head.tick);
    let mut log = Log::open(disk, capacity, first, None)?;
    while let Ok(_read) = log.read()? {}
    Ok((first, log.next_tick()))
}
