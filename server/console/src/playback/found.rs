//! What is found of ticks when they are opened, and what was written of the state after each.

use anyhow::{Result, ensure};
use gpu_kernels::tick::frame::PersonChange;
use gpu_kernels::{Snapshot, StateHash};
use shared::{Schema, WorldConfig};

use super::difference::differing_parts;

/// What was found when it was opened.
pub struct Found {
    /// As it was before the first tick.
    pub world: WorldConfig,
    /// The state before the first tick; `None`: that of a new world.
    pub snapshot: Option<Snapshot>,
    /// Who is there before the first tick.
    pub people: Vec<PersonChange>,
    /// The first tick, and the one behind the last.
    pub first: u64,
    pub end: u64,
    /// Of the world and how it begins: what tells this from others.
    pub identity: u32,
    /// Why it ends early, if it does.
    pub broken_off: Option<String>,
}

/// What was written of the state after a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    Hash(StateHash),
    /// What clients know is not compared: after a restart all are told anew.
    ButForKnown(StateHash),
    Nothing,
}

impl Written {
    /// Fails if the state after a tick is another one.
    pub fn compare(&self, schema: &Schema, tick: u64, found: &StateHash) -> Result<()> {
        let (written, is_same) = match self {
            Written::Hash(hash) => (hash, hash == found),
            Written::ButForKnown(hash) => (hash, hash.agrees_but_for_known(found)),
            Written::Nothing => return Ok(()),
        };
        ensure!(
            is_same,
            "tick {tick}: the state differs from the recorded one in {}",
            differing_parts(schema, written, found)
        );
        Ok(())
    }
}
