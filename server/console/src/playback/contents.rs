//! The contents of a recording or a journal, and the recorded hashes of its states.

use std::sync::Arc;

use anyhow::{Result, ensure};
use durability::annotations::PersonChange;
use gpu_kernels::{Frame, Snapshot, StateHash};
use shared::world::words::TextHandle;
use shared::{Schema, Text, WorldConfig};

use super::difference::differing_parts;

/// The contents of a recording or a journal.
pub struct Contents {
    /// As it was before the first tick.
    pub world: WorldConfig,
    /// The state before the first tick; `None`: that of a new world.
    pub snapshot: Option<Snapshot>,
    /// The clients before the first tick.
    pub people: Vec<PersonChange>,
    /// The texts before the first tick.
    pub texts: Vec<(TextHandle, Text)>,
    /// The first tick, and the one behind the last.
    pub first: u64,
    pub end: u64,
    /// The checksum of the world and its first state, which identifies it.
    pub identity: u32,
    /// Why it ends early, if it does.
    pub broken_off: Option<String>,
}

/// A tick of a recording or a journal.
pub struct ReadTick {
    pub frame: Arc<Frame>,
    /// Clients that were admitted.
    pub people: Vec<PersonChange>,
    /// Texts that clients gave.
    pub texts: Vec<(TextHandle, Text)>,
    pub written: RecordedHash,
}

/// The recorded hash of the state after a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedHash {
    Hash(StateHash),
    /// Known sets are not compared: they are empty after a restart.
    ButForKnown(StateHash),
    Nothing,
}

impl RecordedHash {
    /// Fails if the state after a tick differs.
    pub fn compare(&self, schema: &Schema, tick: u64, found: &StateHash) -> Result<()> {
        let (written, is_same) = match self {
            RecordedHash::Hash(hash) => (hash, hash == found),
            RecordedHash::ButForKnown(hash) => (hash, hash.agrees_but_for_known(found)),
            RecordedHash::Nothing => return Ok(()),
        };
        ensure!(
            is_same,
            "tick {tick}: the state differs from the recorded one in {}",
            differing_parts(schema, written, found)
        );
        Ok(())
    }
}
