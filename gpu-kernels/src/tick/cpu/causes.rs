use std::sync::atomic::{AtomicU64, Ordering};

use shared::WorldConfig;

/// The first command that updated each attribute, in worlds whose clients may subscribe to
/// causes. Threads record updates in any order, and the lowest place wins.
pub struct Causes {
    /// By slot and column: the tick, counted down so that a later one is less, then
    /// the command's place.
    first: Vec<AtomicU64>,
    ticks: u32,
}

/// The causes of one tick.
#[derive(Clone, Copy)]
pub struct TickCauses<'a> {
    first: &'a [AtomicU64],
    tick: u64,
}

impl Causes {
    /// `None` in worlds where nobody can ask for causes.
    pub fn new(config: &WorldConfig) -> Option<Causes> {
        let attributes = config.schema.world.capacity as usize * config.schema.attributes.len();
        let never = || AtomicU64::new(u64::MAX);
        config.causes.then(|| Causes {
            first: std::iter::repeat_with(never).take(attributes).collect(),
            ticks: 0,
        })
    }

    /// Begins a tick: no attribute has been updated yet.
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
    /// Records that a command updates an attribute.
    pub fn note(&self, key: usize, command: u32) {
        self.first[key].fetch_min(self.tick | u64::from(command), Ordering::Relaxed);
    }

    /// Records that a command is the cause, whichever updated the attribute before.
    pub fn set(&self, key: usize, command: u32) {
        self.first[key].store(self.tick | u64::from(command), Ordering::Relaxed);
    }

    /// The place of the first command that updated an attribute in this tick.
    pub fn first(&self, key: usize) -> usize {
        self.first[key].load(Ordering::Relaxed) as u32 as usize
    }
}
