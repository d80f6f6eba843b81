//! The messages and the state between the tick's thread and the journal's.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use gpu_kernels::{Birth, Snapshot, StateHash};
use shared::{EntityId, Tick, WorldConfig};

use crate::characters::character::Character;
use crate::elsewhere::{Replica, Validity};
use crate::level::Level;
use crate::record::Entry;

/// Settings of the durability worker.
#[derive(Clone, Debug)]
pub struct DurabilityOptions {
    pub level: Level,
    /// Nothing is removed.
    pub keeps_all: bool,
    /// The tick of the checkpoint with which the world continued.
    pub from: u64,
    /// Ticks from one checkpoint to the next.
    pub checkpoint_ticks: u64,
    /// Where a standby gets records from.
    pub feed: Option<Arc<dyn Replica>>,
    /// Nothing is sent to clients once another server may have it.
    pub lease: Option<Arc<dyn Validity>>,
}

/// The moment between two ticks at which a checkpoint is made.
pub struct Boundary {
    pub world: WorldConfig,
    /// The tick that comes next.
    pub tick: Tick,
    /// Of the whole state.
    pub hash: StateHash,
    /// Of the tick before.
    pub births: Vec<Birth>,
    pub deaths: Vec<EntityId>,
    /// The changes of characters since then.
    pub characters: Vec<(String, Character)>,
}

pub enum Message {
    Record(Entry),
    Boundary(Box<Boundary>),
    /// The state at the boundary.
    Snapshot(Box<Snapshot>),
    /// A checkpoint was written, or not.
    Written(u64, Result<()>, Batch),
    Finish,
}

/// Changed characters.
pub type Batch = BTreeMap<String, Character>;

/// State shared by the threads.
pub struct Shared {
    pub state: Mutex<State>,
    pub changed: Condvar,
}

#[derive(Default)]
pub struct State {
    /// The first tick whose record may be lost.
    pub unsynced: u64,
    /// Why the journal has ended.
    pub ended: Option<String>,
    /// Why the world must end before its journal does.
    pub must_end: Option<String>,
    /// The next segment has no room, and clients were not notified yet.
    pub is_room_missing: bool,
    /// Why the newest checkpoint is not written, if it is not.
    pub checkpoint_failure: Option<String>,
    /// Checkpoints that are being written: the last one does not wait for one before it.
    pub writing: u32,
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, State> {
        // Each change is whole, so a panic elsewhere does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}
