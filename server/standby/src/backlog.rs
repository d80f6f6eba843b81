//! At the primary: the records and checkpoint that a standby lacks, from the folder.

use anyhow::{Result, bail};
use durability::characters::{CharacterStore, Texts};
use durability::checkpoint;
use durability::disk::Disk;
use durability::log::Log;

use super::link::{Has, ToStandby, record};

/// How a standby comes to the state of the world.
#[derive(Debug, PartialEq, Eq)]
pub enum Plan {
    /// It continues where its records end.
    GoOn(u64),
    /// It begins with the checkpoint before this tick, which are these bytes, and with the
    /// characters of accounts, if the world has some.
    Begin(u64, Vec<u8>, Option<Texts>),
}

impl Plan {
    /// Decides by the records of a standby.
    pub fn new<D: Disk>(
        disk: &D,
        capacity: u32,
        characters: Option<&CharacterStore>,
        has: Option<Has>,
    ) -> Result<Plan> {
        if let Some(has) = has
            && is_part(disk, capacity, has)?
        {
            return Ok(Plan::GoOn(has.next));
        }
        let Some(tick) = checkpoint::newest_name(disk)? else {
            bail!("there is no checkpoint");
        };
        let bytes = disk.read(&checkpoint::name_of(tick))?;
        // They are written before a checkpoint is, so later changes are in later records.
        let texts = characters.map(CharacterStore::texts).transpose()?;
        Ok(Plan::Begin(tick, bytes, texts))
    }

    pub fn checkpoint_bytes(&self) -> Option<u64> {
        match self {
            Plan::GoOn(_) => None,
            Plan::Begin(_, bytes, _) => Some(bytes.len() as u64),
        }
    }

    /// How many characters are sent, if the world has some and the standby lacks them.
    pub fn characters(&self) -> Option<u64> {
        match self {
            Plan::Begin(_, _, Some(texts)) => Some(texts.len() as u64),
            _ => None,
        }
    }

    /// Sends everything before a tick, as long as `send` takes it.
    pub fn send<D: Disk>(
        self,
        disk: &D,
        capacity: u32,
        until: u64,
        send: &mut dyn FnMut(Vec<u8>) -> bool,
    ) -> Result<()> {
        let first = match self {
            Plan::GoOn(first) => first,
            Plan::Begin(first, bytes, texts) => {
                for part in bytes.chunks(PART_BYTES) {
                    if !send(ToStandby::Part(part.to_vec()).encode()) {
                        return Ok(());
                    }
                }
                let texts = Vec::from_iter(texts.unwrap_or_default());
                for some in texts.chunks(CHARACTERS) {
                    if !send(ToStandby::Characters(some.to_vec()).encode()) {
                        return Ok(());
                    }
                }
                first
            }
        };
        let mut log = Log::open(disk, capacity, first, None)?;
        while log.next_tick() < until {
            let (bytes, begins_segment) = match log.read_bytes()? {
                Ok(read) => read,
                Err(end) => bail!("the journal ends before tick {}", end.tick),
            };
            if !send(record(&bytes, begins_segment)) {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Whether a standby's records are a part of this journal.
fn is_part<D: Disk>(disk: &D, capacity: u32, has: Has) -> Result<bool> {
    if checkpoint::ticks(disk)?
        .first()
        .is_none_or(|&first| has.next < first)
    {
        return Ok(false);
    }
    let mut log = Log::open(disk, capacity, has.next, Some(has.previous))?;
    match log.read_bytes() {
        Ok(Ok(_)) => Ok(true),
        // There is no record after it yet.
        Ok(Err(end)) if end.tick == has.next => match log.checksum_at_end() {
            Some(previous) => Ok(previous == has.previous),
            None => Ok(checkpoint::read(disk, has.next)
                .is_ok_and(|(head, _)| head.previous == has.previous)),
        },
        // It has different records, or more than this journal.
        _ => Ok(false),
    }
}

const PART_BYTES: usize = 256 << 10;
/// In a message.
const CHARACTERS: usize = 1024;
