//! Durability of a persistent world: its ticks go to the journal, its state to checkpoints.

use anyhow::Result;
use durability::record::Entry;
use durability::worker::{Boundary, DurabilityWorker};
use gpu_kernels::{Birth, TickOutput};
use shared::{EntityId, Tick};

use super::TickLoop;

/// The data of the last tick for a checkpoint.
#[derive(Default)]
pub(super) struct LastTick {
    tick: Tick,
    births: Vec<Birth>,
    deaths: Vec<EntityId>,
}

impl TickLoop {
    /// Fails if persistence requires that the world ends.
    pub(super) fn check_durability(&self) -> Result<()> {
        self.worker.as_ref().map_or(Ok(()), DurabilityWorker::check)
    }

    /// Hands the tick to the journal, which writes it while the engine runs.
    pub(super) fn journal(&mut self) -> Result<()> {
        let Some(worker) = &mut self.worker else {
            return Ok(());
        };
        worker.record(Entry {
            frame: self.frame.clone(),
            annotations: self.annotations.clone(),
            before: self.before.clone(),
            changes: self.clients.save(),
        })
    }

    /// Begins a checkpoint if one is due, and continues one that is under way.
    pub(super) fn copy_for_checkpoint(&mut self, output: &TickOutput) -> Result<()> {
        let Some(mut worker) = self.worker.take() else {
            return Ok(());
        };
        self.note_last(output);
        let mut copied = Ok(());
        if worker.wants_checkpoint(output.tick.next()) {
            copied = self.begin_checkpoint(&mut worker);
        }
        if copied.is_ok()
            && worker.is_copying()
            && let Some(snapshot) = self.backend.continue_copy()?
        {
            copied = worker.finish_copy(snapshot);
        }
        self.worker = Some(worker);
        copied
    }

    /// The checkpoint of a clean stop, from which any later version can continue.
    pub(super) fn last_checkpoint(&mut self, worker: &mut DurabilityWorker) -> Result<()> {
        if worker.is_copying() {
            // It would be older than this one.
            worker.drop_copy();
        }
        if self.last.is_none() {
            // Nothing has happened since the world was recovered.
            return Ok(());
        }
        self.begin_checkpoint(worker)?;
        loop {
            if let Some(snapshot) = self.backend.continue_copy()? {
                return worker.finish_copy(snapshot);
            }
        }
    }

    fn begin_checkpoint(&mut self, worker: &mut DurabilityWorker) -> Result<()> {
        let Some(LastTick {
            tick,
            births,
            deaths,
        }) = &self.last
        else {
            return Ok(());
        };
        self.backend.start_copy()?;
        worker.begin_checkpoint(Boundary {
            world: self.config.clone(),
            tick: tick.next(),
            hash: self.before.clone(),
            births: births.clone(),
            deaths: deaths.clone(),
            characters: self.clients.unsaved_characters().collect(),
        })
    }

    /// Notes the data of the newest tick for a checkpoint.
    pub(super) fn note_last(&mut self, output: &TickOutput) {
        self.before.clone_from(&output.hash);
        // The output itself is the backend's, which uses its memory again.
        let last = self.last.get_or_insert_default();
        last.tick = output.tick;
        last.births.clone_from(&output.births);
        last.deaths.clone_from(&output.deaths);
    }
}
