//! A world as its last server left it, and the checkpoint that it is made from.

use std::time::Duration;

use anyhow::Result;
use gpu_kernels::tick::VERSION;
use gpu_kernels::{Snapshot, StageTimes, StateHash, TickOutput};
use shared::WorldConfig;

use super::ahead::Work;
use super::characters::settlement::Settlement;
use super::characters::{ByAccount, CharacterStore};
use super::checkpoint::{Body, Head};
use super::epoch::Epoch;
use super::journal::Start;
use super::roster::Roster;

/// A checkpoint from which a world can start.
#[derive(Debug)]
pub struct Stored {
    pub head: Head,
    pub body: Body,
}

/// A world as its last server left it.
pub struct Recovered {
    /// With the scripts of the last tick.
    pub world: WorldConfig,
    pub snapshot: Snapshot,
    pub hash: StateHash,
    /// As the last record has made it: the births and deaths of `last` are not settled.
    pub roster: Roster,
    /// What `last` has done to characters, if no record says so.
    pub settlement: Settlement,
    pub last: TickOutput,
    /// Where the journal continues.
    pub start: Start,
    /// The highest that a record had.
    pub epoch: Epoch,
    pub progress: Progress,
    /// The cost of reading the journal.
    pub work: Work,
    /// The cost of running it.
    pub times: RunTimes,
}

impl Recovered {
    /// All characters of a store. Where they were written after the last tick, for a checkpoint that
    /// failed then, that tick does nothing to them any more.
    pub fn load_characters(&mut self, store: &CharacterStore) -> Result<ByAccount> {
        if store.is_settled(self.start.tick)? {
            self.settlement = Settlement::default();
            self.roster.characters.clear();
            store.restart(self.start.tick)?;
        }
        store.load(&self.world)
    }

    /// A checkpoint of the world as it is, for a folder in which nothing follows it yet.
    pub fn into_stored(self) -> Stored {
        let mut snapshot = self.snapshot;
        snapshot.known.iter_mut().for_each(Vec::clear);
        snapshot.behind.clear();
        Stored {
            head: Head {
                tick: self.start.tick,
                epoch: self.epoch,
                tick_version: VERSION,
                previous: self.start.previous,
            },
            body: Body {
                world: self.world,
                snapshot,
                hash: self.hash,
                roster: self.roster,
                births: self.last.births,
                deaths: self.last.deaths,
            },
        }
    }
}

/// How far a recovery has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The tick of the checkpoint.
    pub from: u64,
    /// The tick that comes next.
    pub tick: u64,
    pub time: Duration,
}

/// The cost of a rerun for its thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunTimes {
    /// Until the backend has the state of the checkpoint.
    pub restoring: Duration,
    /// The hash of that state.
    pub hashing: Duration,
    /// Handing frames to the backend. CPUs run their ticks meanwhile.
    pub submitting: Duration,
    /// Waiting for ticks.
    pub collecting: Duration,
    /// Copying the state at the end.
    pub copying: Duration,
    /// Of all ticks.
    pub stages: StageTimes,
}
