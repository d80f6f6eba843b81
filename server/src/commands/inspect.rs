//! `myriad inspect`: the contents of the folder of a persistent world.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;
use durability::disk::{Disk, Folder};
use durability::log::{Log, LogError};
use durability::recovery;
use durability::recovery::open;
use durability::roster::{Roster, RowState};
use durability::{checkpoint, segment};
use program::printable::Lines;
use program::say;

use super::persistent::size_text;

#[derive(Debug, Args)]
pub struct InspectArguments {
    /// Folder of `myriad serve --data`
    folder: PathBuf,
}

/// Prints the contents of a folder. False if something in it is damaged.
pub fn run(arguments: &InspectArguments) -> Result<bool> {
    let disk = open(&arguments.folder)?;
    let checkpoints_are_good = print_checkpoints(&disk)?;
    let segments_are_good = print_segments(&disk)?;
    Ok(checkpoints_are_good && segments_are_good)
}

fn print_checkpoints(disk: &Folder) -> Result<bool> {
    let mut are_good = true;
    for tick in checkpoint::ticks(disk)? {
        let bytes = size_text(disk.length(&checkpoint::name_of(tick))?);
        match recovery::read(disk, tick) {
            Ok(stored) => {
                let clients = clients_text(&stored.body.roster);
                let epoch = stored.head.epoch;
                say!("checkpoint before tick {tick}: {bytes}, epoch {epoch}, {clients}");
            }
            Err(error) => {
                are_good = false;
                say!(
                    "checkpoint before tick {tick}: {bytes}, {}",
                    Lines(&format!("{error:#}"))
                );
            }
        }
    }
    Ok(are_good)
}

fn print_segments(disk: &Folder) -> Result<bool> {
    let stored = recovery::newest(disk, None)?.context("there is no world in it")?;
    let capacity = stored.body.world.schema.world.capacity;
    let segments = segment::segments(disk)?;
    let mut roster = Roster::default();
    for (i, name) in segments.iter().enumerate() {
        let mut log = Log::open(disk, capacity, name.first, None)?;
        let end = segments.get(i + 1).map(|next| next.first);
        let (mut records, mut bytes) = (0u64, 0);
        let stopped = loop {
            if end == Some(log.next_tick()) {
                break Ok(None);
            }
            match log.read() {
                Ok(Ok(read)) => {
                    records += 1;
                    bytes += read.length as u64;
                    let changes = &read.entry.changes;
                    changes.iter().for_each(|change| roster.apply(change));
                }
                Ok(Err(end)) => break Ok(end.reason),
                Err(error) => break Err(error),
            }
        };
        let used = size_text(bytes);
        let (first, next) = (name.first, log.next_tick());
        match stopped {
            Ok(None) => say!("journal of ticks {first} to {next}: {records} records, {used}"),
            Ok(Some(reason)) => {
                say!(
                    "journal of ticks {first} to {next}: {records} records, {used}; then {reason}"
                );
            }
            Err(error @ LogError::Disk(_)) => return Err(error.into()),
            Err(error) => {
                say!("journal of ticks {first} to {next}: {records} records, {used}; then {error}");
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn clients_text(roster: &Roster) -> String {
    let count = |is_it: fn(&RowState) -> bool| {
        let states = roster.clients.values().map(|client| &client.row.state);
        states.filter(|state| is_it(state)).count()
    };
    let live = count(|state| matches!(state, RowState::Live(_)));
    let lost = count(|state| matches!(state, RowState::Lost { .. }));
    let waiting =
        count(|state| matches!(state, RowState::Joining { .. } | RowState::Fallen { .. }));
    format!("clients: {live} in the world, {lost} lost, {waiting} waiting for a birth")
}
