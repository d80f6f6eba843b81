//! Checkpoints: the state of a world before a tick, in a file.
//!
//! | part | bytes |
//! | --- | --- |
//! | `MYRIADC4` | 8 |
//! | the tick that comes next | 8 |
//! | epoch of the server that wrote it, version of the tick | 4, 4 |
//! | CRC-32C of the record before | 4 |
//! | CRC-32C of what follows the head, and its length | 4, 8 |
//! | CRC-32C of the head up to here | 4 |
//! | the world, its state and its clients | |
//! | what few worlds have: texts, fields | |
//! | what fewer have: edited cells | |

use std::collections::BTreeMap;
use std::io;

use gpu_kernels::tick::state::FieldState;
use gpu_kernels::{Birth, Snapshot, StateHash};
use serde::{Deserialize, Serialize};
use shared::wire::{DecodeError, codec};
use shared::world::edit::Edit;
use shared::world::words::TextHandle;
use shared::{EntityId, Text, WorldConfig};
use thiserror::Error;
use world_file::StoredWorld;

use super::disk::{Disk, DiskFile};
use super::epoch::Epoch;
use super::roster::Roster;

/// The head of a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The tick that comes next.
    pub tick: u64,
    pub epoch: Epoch,
    pub tick_version: u32,
    /// The checksum of the record before.
    pub previous: u32,
}

/// What a checkpoint holds. `W` is a world, or one as it is stored.
#[derive(Debug, Deserialize)]
pub struct Body<W = WorldConfig> {
    pub world: W,
    /// Without the known sets of clients.
    pub snapshot: Snapshot,
    /// Of the whole state.
    pub hash: StateHash,
    /// As the records before the tick have made it.
    pub roster: Roster,
    /// Births and deaths of the tick before, which the next record would settle.
    pub births: Vec<Birth>,
    pub deaths: Vec<EntityId>,
}

/// [`Body`], as it is written.
#[derive(Serialize)]
struct Written<'a> {
    world: StoredWorld,
    snapshot: &'a Snapshot,
    hash: &'a StateHash,
    roster: &'a Roster,
    births: &'a [Birth],
    deaths: &'a [EntityId],
}

/// What few worlds have. It stands behind the body, if there is some, so that the checkpoints of other
/// worlds are as they were before.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Extras {
    texts: BTreeMap<TextHandle, Text>,
    fields: Vec<FieldState>,
}

impl Extras {
    fn of(body: &Body) -> Extras {
        Extras {
            texts: body.roster.texts.clone(),
            fields: body.snapshot.fields.clone(),
        }
    }
}

/// Why a checkpoint can't be read.
#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("{name} is damaged: {reason}")]
    Damaged { name: String, reason: &'static str },
    #[error(
        "{name} is a checkpoint of another version of Myriad: expected {expected}, found {found}; \
         only the version that wrote it continues with it"
    )]
    Version {
        name: String,
        expected: String,
        found: String,
    },
    #[error(
        "{name} is a checkpoint of another version of Myriad: its checksum is right, and it can't \
         be read ({reason}); only the version that wrote it continues with it"
    )]
    Layout { name: String, reason: DecodeError },
    #[error("cannot read {name}: {error}")]
    Disk { name: String, error: io::Error },
}

/// The name of the checkpoint before a tick.
pub fn name_of(tick: u64) -> String {
    format!("{PREFIX}{tick:020}")
}

/// The ticks of all checkpoints, ascending.
pub fn ticks(disk: &impl Disk) -> io::Result<Vec<u64>> {
    let names = disk.names()?;
    let ticks = names.iter().filter_map(|name| name.strip_prefix(PREFIX));
    let mut ticks: Vec<u64> = ticks.filter_map(|tick| tick.parse().ok()).collect();
    ticks.sort_unstable();
    Ok(ticks)
}

/// The tick of the newest checkpoint, good or not.
pub fn newest_name(disk: &impl Disk) -> io::Result<Option<u64>> {
    Ok(ticks(disk)?.pop())
}

/// The bytes of a checkpoint's body.
pub fn encode(body: &Body) -> Vec<u8> {
    let mut bytes = codec::to_bytes(&Written {
        world: StoredWorld::of(&body.world),
        snapshot: &body.snapshot,
        hash: &body.hash,
        roster: &body.roster,
        births: &body.births,
        deaths: &body.deaths,
    });
    let (extras, edits) = (Extras::of(body), &body.snapshot.edits);
    if extras != Extras::default() || !edits.is_empty() {
        bytes.extend(codec::to_bytes(&extras));
    }
    if !edits.is_empty() {
        bytes.extend(codec::to_bytes(edits));
    }
    bytes
}

/// Reads the bytes of a checkpoint's body.
pub fn decode(bytes: &[u8]) -> Result<Body<StoredWorld>, DecodeError> {
    let (mut body, rest) = codec::split_first::<BODY_BYTES_MAX, Body<StoredWorld>>(bytes)?;
    if !rest.is_empty() {
        let (extras, rest) = codec::split_first::<BODY_BYTES_MAX, Extras>(rest)?;
        body.roster.texts = extras.texts;
        body.snapshot.fields = extras.fields;
        if !rest.is_empty() {
            body.snapshot.edits = codec::from_bytes::<BODY_BYTES_MAX, Vec<Edit>>(rest)?;
        }
    }
    Ok(body)
}

/// Writes a checkpoint. It is there as a whole, or not at all.
pub fn write<D: Disk>(disk: &D, head: &Head, body: &[u8]) -> io::Result<()> {
    let name = name_of(head.tick);
    let new = format!("new-{name}");
    // The file of an earlier attempt.
    if disk.names()?.contains(&new) {
        disk.remove(&new)?;
    }
    let head = head_bytes(head, body);
    let length = (head.len() + body.len()) as u64;
    let mut file = disk.create(&new, length)?;
    let written = file
        .write_at(&head, 0)
        .and_then(|()| file.write_at(body, head.len() as u64))
        .and_then(|()| file.sync());
    drop(file);
    if let Err(error) = written {
        // The journal may need the room.
        let _ = disk.remove(&new);
        return Err(error);
    }
    disk.rename(&new, &name)?;
    disk.sync_names()
}

/// Reads the bytes of a checkpoint's body.
pub fn read(disk: &impl Disk, tick: u64) -> Result<(Head, Vec<u8>), CheckpointError> {
    let name = name_of(tick);
    let mut bytes = match disk.read(&name) {
        Ok(bytes) => bytes,
        Err(error) => return Err(CheckpointError::Disk { name, error }),
    };
    let damaged = |reason| CheckpointError::Damaged {
        name: name.clone(),
        reason,
    };
    if let Some(found) = bytes.get(..MAGIC.len()).filter(|&found| found != MAGIC)
        && found.starts_with(KIND)
    {
        let show = |magic: &[u8]| String::from_utf8_lossy(magic).into_owned();
        let (expected, found) = (show(MAGIC), show(found));
        return Err(CheckpointError::Version {
            name,
            expected,
            found,
        });
    }
    let head = bytes.first_chunk().ok_or(damaged("it is too short"))?;
    let (head, checksum, length) = parse_head(head).ok_or(damaged("its head is not right"))?;
    if head.tick != tick {
        return Err(damaged("it is of another tick"));
    }
    let body = bytes.split_off(HEAD_BYTES);
    if body.len() as u64 != length {
        return Err(damaged("its length is not right"));
    }
    if crc32c::crc32c(&body) != checksum {
        return Err(damaged("its checksum is wrong"));
    }
    Ok((head, body))
}

fn head_bytes(head: &Head, body: &[u8]) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&head.tick.to_le_bytes());
    let numbers = [head.epoch.0, head.tick_version, head.previous];
    for (number, at) in numbers.into_iter().zip((16..).step_by(4)) {
        bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
    bytes[28..32].copy_from_slice(&crc32c::crc32c(body).to_le_bytes());
    bytes[32..40].copy_from_slice(&(body.len() as u64).to_le_bytes());
    let checksum = crc32c::crc32c(&bytes[..40]);
    bytes[40..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The head, and the checksum and length of the body.
fn parse_head(bytes: &[u8; HEAD_BYTES]) -> Option<(Head, u32, u64)> {
    let short = |at: usize| Some(u32::from_le_bytes(*bytes[at..].first_chunk()?));
    let long = |at: usize| Some(u64::from_le_bytes(*bytes[at..].first_chunk()?));
    if &bytes[..8] != MAGIC || short(40)? != crc32c::crc32c(&bytes[..40]) {
        return None;
    }
    let head = Head {
        tick: long(8)?,
        epoch: Epoch(short(16)?),
        tick_version: short(20)?,
        previous: short(24)?,
    };
    Some((head, short(28)?, long(32)?))
}

/// The most bytes of a body.
const BODY_BYTES_MAX: usize = 1 << 40;
const PREFIX: &str = "checkpoint-";
pub const MAGIC: &[u8; 8] = b"MYRIADC4";
/// What the checkpoints of all versions begin with.
const KIND: &[u8] = b"MYRIADC";
const HEAD_BYTES: usize = 44;
