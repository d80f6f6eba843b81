//! The file `synced`: a tick that the journal has come to, known apart from the journal. So a
//! folder that was restored without its newest records is not mistaken for an earlier world.
//!
//! It has two slots, written in turn: one that is torn leaves the other. A slot is written after
//! the sync of the records before its tick, and is not synced itself, since an older tick is still
//! true.
//!
//! | part of a slot | bytes |
//! | --- | --- |
//! | `MYRIADT1` | 8 |
//! | the first tick that may not be synced | 8 |
//! | CRC-32C of the slot up to here | 4 |

use std::io;

use super::checkpoint;
use super::disk::{Disk, DiskFile};

/// The file, open for writing.
pub struct Mark<F> {
    file: F,
    slot: u64,
}

impl<F: DiskFile> Mark<F> {
    /// Writes the file anew. It can't be lost once this returns.
    pub fn begin<D: Disk<File = F>>(disk: &D, tick: u64) -> io::Result<Mark<F>> {
        // The file of an earlier attempt.
        if disk.names()?.iter().any(|name| name == NEW) {
            disk.remove(NEW)?;
        }
        let mut file = disk.create(NEW, SLOTS * SLOT_BYTES as u64)?;
        let written = (0..SLOTS)
            .try_for_each(|slot| file.write_at(&encode(tick), slot * SLOT_BYTES as u64))
            .and_then(|()| file.sync());
        if let Err(error) = written {
            let _ = disk.remove(NEW);
            return Err(error);
        }
        disk.rename(NEW, FILE)?;
        disk.sync_names()?;
        Ok(Mark { file, slot: 0 })
    }

    /// All records before this tick are synced.
    pub fn note(&mut self, tick: u64) -> io::Result<()> {
        self.slot = (self.slot + 1) % SLOTS;
        self.file
            .write_at(&encode(tick), self.slot * SLOT_BYTES as u64)
    }
}

/// The tick in the file; `None`: there is no file, or it is damaged.
pub fn read(disk: &impl Disk) -> io::Result<Option<u64>> {
    if !disk.names()?.iter().any(|name| name == FILE) {
        return Ok(None);
    }
    let bytes = match disk.read(FILE) {
        Ok(bytes) => bytes,
        // A server writes it anew meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let slots = bytes.chunks(SLOT_BYTES);
    Ok(slots.filter_map(decode).max())
}

/// The first tick whose record may never have been synced, by this file and by the newest
/// checkpoint.
pub fn synced(disk: &impl Disk) -> io::Result<u64> {
    let checkpoint = checkpoint::newest_name(disk)?;
    Ok(checkpoint.max(read(disk)?).unwrap_or(0))
}

fn encode(tick: u64) -> [u8; USED_BYTES] {
    let mut slot = [0; USED_BYTES];
    slot[..8].copy_from_slice(MAGIC);
    slot[8..16].copy_from_slice(&tick.to_le_bytes());
    let checksum = crc32c::crc32c(&slot[..16]);
    slot[16..].copy_from_slice(&checksum.to_le_bytes());
    slot
}

fn decode(slot: &[u8]) -> Option<u64> {
    let found = slot.first_chunk::<USED_BYTES>()?;
    let tick = u64::from_le_bytes(*found[8..].first_chunk()?);
    (*found == encode(tick)).then_some(tick)
}

pub const FILE: &str = "synced";
const NEW: &str = "new-synced";
const MAGIC: &[u8; 8] = b"MYRIADT1";
const SLOTS: u64 = 2;
/// A slot is within one sector of a disk.
const SLOT_BYTES: usize = 512;
const USED_BYTES: usize = 20;
