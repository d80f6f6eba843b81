//! Clients that watch a changing world: what tests of interest draw.

use gpu_kernels::{Frame, Holder, Observer, ObserverChange, Region, RegionChange, Target};
use shared::{ClientRow, EntityId, WorldConfig};

use crate::dice::Dice;
use crate::oracle::OracleOutput;

/// Has an observer of a client watch, or no more.
pub fn watch(
    client: u32,
    index: u32,
    target: impl Into<Option<Target>>,
    radius: i32,
) -> ObserverChange {
    let target = target.into();
    ObserverChange {
        client: ClientRow(client),
        index,
        observer: target.map(|target| Observer { target, radius }),
    }
}

/// Has so many clients watch from an entity each, those of the first slots.
pub fn watch_from_first(frame: &mut Frame, clients: u32) {
    let own = |client| Target::Entity(EntityId::new(client, 1));
    let watched = (0..clients).map(|client| watch(client, 0, own(client), i32::MAX));
    frame.observers.extend(watched);
}

/// Entities that live, and dead ones whose slots are not released.
#[derive(Default)]
pub struct Lives {
    pub alive: Vec<EntityId>,
    pub dead: Vec<EntityId>,
}

impl Lives {
    /// Follows the births and deaths of a tick.
    pub fn follow(&mut self, output: &OracleOutput) {
        self.alive
            .extend(output.births.iter().filter_map(|birth| birth.entity));
        self.alive.retain(|entity| !output.deaths.contains(entity));
        self.dead.extend(output.deaths.iter().copied());
    }

    /// Releases the slots of the dead.
    pub fn release(&mut self, frame: &mut Frame) {
        let slots = self.dead.drain(..).map(|entity| entity.slot);
        frame.release.extend(slots);
    }
}

/// How much happens in a tick: mostly little, with a busy one now and then.
pub fn acts(dice: &mut Dice) -> usize {
    match dice.below(20) {
        0 => 300,
        1 => 30,
        _ => dice.below(6),
    }
}

/// A place of the world.
pub fn place(config: &WorldConfig, dice: &mut Dice) -> [i32; 3] {
    config
        .size_raw()
        .map(|size| dice.within(0..=size.max(1) - 1))
}

/// A region of edges up to a length, published or subscribed to by an entity or a client; or none.
pub fn region(
    config: &WorldConfig,
    dice: &mut Dice,
    edge_max: i32,
    entity: EntityId,
    client: u32,
) -> RegionChange {
    let low = place(config, dice);
    let region = Region {
        low,
        high: low.map(|low| low + dice.within(1..=edge_max)),
        follows: None,
    };
    let holder = match dice.below(3) {
        0 => Holder::Publication(entity),
        1 => Holder::Subscription(EntityId::new(client, 1)),
        _ => Holder::Client {
            client: ClientRow(client),
            index: dice.below(2) as u32,
        },
    };
    let region = (!dice.once_in(3)).then_some(region);
    RegionChange { holder, region }
}
