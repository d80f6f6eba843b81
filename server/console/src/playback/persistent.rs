//! The ticks of a persistent world, from its oldest checkpoint on.
//!
//! Its server may still run: later ticks than those at the opening are not shown.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use durability::annotations::PersonChange;
use durability::checkpoint;
use durability::disk::Folder;
use durability::log::{self, Log};
use durability::recovered::Stored;
use durability::recovery;
use durability::recovery::open;
use gpu_kernels::tick::VERSION;
use shared::wire::codec;

use super::contents::{Contents, ReadTick, RecordedHash};

/// Reads the ticks of a persistent world.
pub struct Persistent {
    disk: Arc<Folder>,
    capacity: u32,
    log: Option<Log<Arc<Folder>>>,
    /// The record after the last that was requested.
    ahead: Option<log::DecodedRecord>,
}

impl Persistent {
    /// Opens the folder of a persistent world, and compares the checksums of all records.
    pub fn open(path: &Path) -> Result<(Persistent, Contents)> {
        let disk = open(path)?;
        let oldest = checkpoint::ticks(&disk)?.first().copied();
        let stored = recovery::newest(&disk, oldest)?.context("there is no checkpoint")?;
        let Stored { head, body } = stored;
        let persistent = Persistent {
            capacity: body.world.schema.world.capacity,
            disk: Arc::new(disk),
            log: None,
            ahead: None,
        };
        let (end, broken_off) = persistent.find_end(head.tick, head.previous)?;
        let beginning = (head.tick, head.epoch.0, head.previous, &body.hash);
        let clients = body.roster.clients.iter();
        let people = clients.map(|(client, known)| PersonChange {
            client: *client,
            person: known.row.person.clone(),
        });
        let contents = Contents {
            identity: crc32c::crc32c(&codec::to_bytes(&beginning)),
            people: people.collect(),
            texts: body.roster.texts.into_iter().collect(),
            world: body.world,
            snapshot: Some(body.snapshot),
            first: head.tick,
            end,
            broken_off,
        };
        Ok((persistent, contents))
    }

    pub fn again(&self) -> Persistent {
        Persistent {
            disk: self.disk.clone(),
            capacity: self.capacity,
            log: None,
            ahead: None,
        }
    }

    pub fn read(&mut self, tick: u64) -> Result<ReadTick> {
        let ahead = self.ahead.take().filter(|ahead| ahead.head.tick == tick);
        let mut log = match self.log.take() {
            Some(log) if ahead.is_some() || log.next_tick() == tick => log,
            _ => Log::open(self.disk.clone(), self.capacity, tick, None)?,
        };
        let record = match ahead {
            Some(ahead) => ahead,
            None => match log.read()? {
                Ok(record) => record,
                Err(_) => bail!("the journal ends before tick {tick}"),
            },
        };
        // The last record has none after it with the hash of its state.
        let written = match log.read() {
            Ok(Ok(next)) => {
                let before = next.entry.before.clone();
                self.ahead = Some(next);
                RecordedHash::ButForKnown(before)
            }
            Ok(Err(_)) | Err(_) => RecordedHash::Nothing,
        };
        self.log = Some(log);
        Ok(ReadTick {
            frame: record.entry.frame,
            texts: record.entry.annotations.texts(),
            people: record.entry.annotations.people,
            written,
        })
    }

    /// The tick behind the last that can be run, and why, if more records follow.
    fn find_end(&self, first: u64, previous: u32) -> Result<(u64, Option<String>)> {
        let mut log = Log::open(&*self.disk, self.capacity, first, Some(previous))?;
        loop {
            let tick = log.next_tick();
            let found = match log.next_record() {
                Ok(Ok(found)) => found,
                Ok(Err(end)) => return Ok((end.tick, None)),
                Err(error) => return Ok((tick, Some(error.to_string()))),
            };
            let version = found.head.tick_version;
            if !found.is_before && version != VERSION {
                let reason = format!(
                    "tick {tick} was run by version {version} of the tick, and this is version \
                     {VERSION}"
                );
                return Ok((tick, Some(reason)));
            }
        }
    }
}
