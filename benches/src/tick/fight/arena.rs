use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use gpu_kernels::{Backend, Delivery, Frame, TickOutput};
use shared::world::logic::LogicConfig;
use shared::world::mix::mix;
use shared::{ClientRow, Tick, WorldConfig};

use super::scenario::{self, Frames};
use crate::counting::Allocated;
use crate::report::Sample;
use crate::tick::backends::Candidate;
use crate::tick::checks::ensure_nothing_dropped;

/// A world in which all clients are born, with the frames of their fight.
pub struct Arena {
    pub backend: Box<dyn Backend>,
    pub frames: Frames,
    /// The output of the last tick.
    pub output: Arc<TickOutput>,
    /// What the backend allocated for it on this thread.
    pub allocated: Allocated,
}

impl Arena {
    pub fn populated(clients: u32, seed: u64, candidate: &Candidate) -> anyhow::Result<Arena> {
        Arena::of(&scenario::config(clients, seed)?, candidate)
    }

    /// The same in a world of the scenario with other scripts.
    pub fn of(config: &WorldConfig, candidate: &Candidate) -> anyhow::Result<Arena> {
        let mut backend = candidate.start(config)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(config);
        let output = backend.tick(&frame)?;
        ensure!(output.counts.births == u64::from(config.schema.world.capacity));
        let frames = Frames::after_births(config, &output)?;
        Ok(Arena {
            backend,
            frames,
            output,
            allocated: Allocated::default(),
        })
    }

    /// Runs the next tick; only the backend's work is timed.
    pub fn tick(&mut self) -> anyhow::Result<Sample> {
        self.tick_with(None)
    }

    /// The same, with other scripts from this tick on.
    pub fn tick_with(&mut self, logic: Option<&LogicConfig>) -> anyhow::Result<Sample> {
        let frame = self.frames.next(&self.output);
        frame.logic = logic.cloned().map(Box::new);
        let frame = &*frame;
        let before = Allocated::here();
        let begin = Instant::now();
        self.output = self.backend.tick(frame).context("the tick failed")?;
        let total = begin.elapsed();
        self.allocated = Allocated::here().since(before);
        ensure_nothing_dropped(&self.output)?;
        Ok(Sample::of(&self.output, total))
    }
}

/// The deliveries of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    pub updates: u64,
    pub enters: u64,
    pub leaves: u64,
    /// The sum of the hashes of all (client, delivery), whatever their order.
    pub sum: u64,
}

impl Delivered {
    pub fn by(output: &TickOutput) -> Delivered {
        let mut delivered = Delivered::default();
        for client in 0..output.deliveries.clients() as u32 {
            for delivery in output.deliveries.of(ClientRow(client)) {
                match delivery.kind() {
                    Delivery::ENTER => delivered.enters += 1,
                    Delivery::LEAVE => delivered.leaves += 1,
                    _ => delivered.updates += 1,
                }
                let pair = mix(u64::from(client), u64::from(delivery.0));
                delivered.sum = delivered.sum.wrapping_add(pair);
            }
        }
        delivered
    }

    pub fn total(&self) -> u64 {
        self.updates + self.enters + self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tick::backends::BASELINE;

    #[test]
    fn clients_move_fight_enter_and_leave_as_often_as_the_bench_says() {
        let clients = 4096;
        let mut arena = Arena::populated(clients, 3, &BASELINE).unwrap();
        arena.tick().unwrap();
        let first = Delivered::by(&arena.output);
        // Every delivery of the first tick is an enter.
        assert_eq!((first.updates, first.leaves), (0, 0));
        for _ in 0..5 {
            arena.tick().unwrap();
            let (delivered, counts) = (Delivered::by(&arena.output), arena.output.counts);
            let each = |n: u64| n as f64 / f64::from(clients);
            // The frames know where each entity is, which is where it blasts.
            for (slot, _, values) in arena.output.changes.iter() {
                assert_eq!(values[..2], arena.frames.positions()[slot.index()]);
            }
            // 27 far from the edge of the map, fewer near it.
            let deliveries = each(delivered.total());
            assert!((22.0..29.0).contains(&deliveries), "{deliveries}");
            assert!(
                each(delivered.enters) > 0.2 && each(delivered.leaves) > 0.2,
                "{delivered:?}"
            );
            // All move, and 5 in 8 do more, except those whose target is themselves or
            // has left.
            let commands = each(counts.commands);
            assert!((1.55..1.63).contains(&commands), "{commands}");
            assert_eq!(counts.commands, counts.applied);
            // Two axes of each entity, and blows.
            assert!(each(counts.updates) > 2.5, "{counts:?}");
            assert!(each(counts.changes) > 2.3, "{counts:?}");
        }
    }
}
