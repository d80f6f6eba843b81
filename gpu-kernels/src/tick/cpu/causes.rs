use std::sync::atomic::{AtomicU64, Ordering};

use shared::WorldConfig;

/// Which command was the first to want an attribute changed, in worlds whose clients
/// may subscribe to that. Threads store updates in any order, and the least wins.
pub struct Causes {
    /// By slot and column: the tick, counted down so that a later one is less, then
    /// the command's place.
    first: Vec<AtomicU64>,
    ticks: u32,
}

/// One tick's part of it.
#[derive(Clone, Copy)]
pub struct TickCauses<'a> {
    first: &'a [AtomicU64],
    tick: u64,
}

impl Causes {
    /// None where nobody can ask for it.
    pub fn new(config: &WorldConfig) -> Option<Causes> {
        let attributes = config.schema.world.capacity as usize * config.schema.attributes.len();
        let never = || AtomicU64::new(u64::MAX);
        (config.limits.subscriptions_per_client > 0).then(|| Causes {
            first: std::iter::repeat_with(never).take(attributes).collect(),
            ticks: 0,
        })
    }

    /// Nothing is wanted yet.
    pub fn next_tick(&mut self) {
        if self.ticks == u32::MAX {
            self.first.fill_with(|| AtomicU64::new(u64::MAX));
            self.ticks = 0;
        }
        self.ticks += 1;
    }

    pub fn of_tick(&self) -> TickCauses<'_> {
        TickCauses {
            first: &self.first,
            tick: u64::from(!self.ticks) << 32,
        }
    }
}

impl TickCauses<'_> {
    /// Takes down that a command updates an attribute.
    pub fn note(&self, key: usize, command: u32) {
        self.first[key].fetch_min(self.tick | u64::from(command), Ordering::Relaxed);
    }

    /// The place of the first command that updated an attribute in this tick.
    pub fn first(&self, key: u32) -> usize {
        self.first[key as usize].load(Ordering::Relaxed) as u32 as usize
    }
}
