//! Copies of the state, made by all threads at once: it is memory that they wait for, and
//! one thread does not keep a processor's memory busy.

use device::cpu::Workers;
use device::cpu::ranges;
use shared::Tick;

use super::CpuBackend;
use crate::tick::state::Snapshot;

impl CpuBackend {
    /// The state, without known sets.
    pub(super) fn copy_state(&self) -> Snapshot {
        let (workers, state) = (&self.workers, &self.state);
        let slots = &state.slots;
        let mut due = vec![Tick(0); slots.states().len()];
        for (&slot, &tick) in &state.due {
            due[slot as usize] = tick;
        }
        Snapshot {
            tick: state.tick,
            states: copy(workers, slots.states()),
            generations: copy(workers, slots.generations()),
            kinds: copy(workers, slots.kinds()),
            due,
            rows: copy(workers, &state.rows),
            tracks: copy(workers, &state.tracks),
            past: copy(workers, state.past.positions()),
            ready: copy(workers, state.ready.ticks()),
            observers: copy(workers, &state.observers),
            regions: copy(workers, state.regions.clients()),
            publications: copy(workers, state.regions.publications()),
            subscriptions: copy(workers, state.regions.subscriptions()),
            known: vec![vec![]; self.config.limits.clients as usize],
            behind: vec![],
            timed: state.timed.pending(),
            next_sequence: state.timed.next_sequence(),
            deferred: state.deferred.clone(),
            fields: state.fields.states().to_vec(),
            edits: state.layers.edits().collect(),
            logic: self.config.logic.clone(),
        }
    }
}

fn copy<T: Copy + Default + Send + Sync>(workers: &Workers, from: &[T]) -> Vec<T> {
    // Memory from the system is zero, and costs nothing before a thread writes it.
    let mut to = vec![T::default(); from.len()];
    let parts = workers.parts_of(size_of_val(from), COPY_GRAIN);
    let mut rest = &mut to[..];
    let tasks = ranges(from.len(), parts).map(|range| {
        let own = device::cpu::take(&mut rest, range.len());
        (own, &from[range])
    });
    workers.run(tasks.collect(), |(to, from)| to.copy_from_slice(from));
    to
}

/// Bytes that take a thread about 20 µs.
const COPY_GRAIN: usize = 128 << 10;
