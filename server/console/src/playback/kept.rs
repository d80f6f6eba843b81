//! The ticks of a kept world, from its oldest checkpoint on.
//!
//! Its server may still run: what it writes after the folder was opened is not shown.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use durability::checkpoint;
use durability::disk::Folder;
use durability::log::{self, Log};
use durability::recovered::Stored;
use durability::recovery;
use durability::recovery::open;
use gpu_kernels::Frame;
use gpu_kernels::tick::VERSION;
use gpu_kernels::tick::frame::PersonChange;
use shared::wire::codec;

use super::found::{Found, Written};

/// Reads the ticks of a kept world.
pub struct Kept {
    disk: Arc<Folder>,
    capacity: u32,
    log: Option<Log<Arc<Folder>>>,
    /// The record after the last that was asked for.
    ahead: Option<log::Read>,
}

impl Kept {
    /// Opens the folder of a kept world, and compares the checksums of all records.
    pub fn open(path: &Path) -> Result<(Kept, Found)> {
        let disk = open(path)?;
        let oldest = checkpoint::ticks(&disk)?.first().copied();
        let stored = recovery::newest(&disk, oldest)?.context("there is no checkpoint")?;
        let Stored { head, body } = stored;
        let kept = Kept {
            capacity: body.world.schema.world.capacity,
            disk: Arc::new(disk),
            log: None,
            ahead: None,
        };
        let (end, broken_off) = kept.find_end(head.tick, head.previous)?;
        let beginning = (head.tick, head.epoch.0, head.previous, &body.hash);
        let clients = body.roster.clients.iter();
        let people = clients.map(|(client, known)| PersonChange {
            client: *client,
            person: known.row.person.clone(),
        });
        let found = Found {
            identity: crc32c::crc32c(&codec::to_bytes(&beginning)),
            people: people.collect(),
            world: body.world,
            snapshot: Some(body.snapshot),
            first: head.tick,
            end,
            broken_off,
        };
        Ok((kept, found))
    }

    pub fn again(&self) -> Kept {
        Kept {
            disk: self.disk.clone(),
            capacity: self.capacity,
            log: None,
            ahead: None,
        }
    }

    pub fn read(&mut self, tick: u64) -> Result<(Arc<Frame>, Written)> {
        let ahead = self.ahead.take().filter(|ahead| ahead.place.tick == tick);
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
        // The last record has none after it that tells its state.
        let written = match log.read() {
            Ok(Ok(next)) => {
                let before = next.entry.before.clone();
                self.ahead = Some(next);
                Written::ButForKnown(before)
            }
            Ok(Err(_)) | Err(_) => Written::Nothing,
        };
        self.log = Some(log);
        Ok((record.entry.frame, written))
    }

    /// The tick behind the last that can be run, and why it is the last, if it should not be.
    fn find_end(&self, first: u64, previous: u32) -> Result<(u64, Option<String>)> {
        let mut log = Log::open(&*self.disk, self.capacity, first, Some(previous))?;
        loop {
            let tick = log.next_tick();
            let found = match log.next_record() {
                Ok(Ok(found)) => found,
                Ok(Err(end)) => return Ok((end.tick, None)),
                Err(error) => return Ok((tick, Some(error.to_string()))),
            };
            let version = found.place.tick_version;
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
