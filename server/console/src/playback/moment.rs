//! A state, the changes of the tick before it, and the commands that caused them.

use std::collections::HashMap;
use std::sync::Arc;

use frontend::mirror::Spot;
use gpu_kernels::{SlotState, Snapshot, Target, TickOutput, Trace};
use shared::{ClientRow, EntityId, EntityRef, Fixed, Slot, WorldConfig};

/// The world at a position of a recording.
pub struct Moment {
    /// The number of ticks that were run.
    pub position: u64,
    /// With the scripts that are in force.
    pub world: Arc<WorldConfig>,
    pub snapshot: Snapshot,
    /// Ascending by entity.
    pub changes: Vec<AttributeChange>,
    pub births: Vec<(EntityId, u16)>,
    pub deaths: Vec<EntityId>,
    pub notifications: usize,
    /// The commands of the tick.
    pub trace: Trace,
}

/// The new value of an attribute of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttributeChange {
    pub slot: Slot,
    pub column: u16,
    pub old: i32,
    pub new: i32,
    /// Each command that updated it, and the value that it gave: places in
    /// [`Trace::commands`]. All of them have made the new value by the merge rule.
    pub causes: Vec<(u32, i32)>,
}

/// The sight of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sight {
    /// In the world's units.
    pub centre: [f64; 2],
    pub radius: f64,
}

impl Moment {
    /// Before the first tick.
    pub fn start(world: Arc<WorldConfig>, snapshot: Snapshot) -> Moment {
        Moment {
            position: 0,
            world,
            snapshot,
            changes: vec![],
            births: vec![],
            deaths: vec![],
            notifications: 0,
            trace: Trace::default(),
        }
    }

    /// After a tick.
    pub fn new(
        world: Arc<WorldConfig>,
        before: &Snapshot,
        after: Snapshot,
        output: &TickOutput,
        trace: Trace,
    ) -> Moment {
        let columns = world.schema.attributes.len();
        let mut causes: HashMap<(Slot, u16), Vec<(u32, i32)>> = HashMap::new();
        for update in &trace.updates {
            let of_attribute = causes.entry((update.slot, update.column)).or_default();
            of_attribute.push((update.command, update.value));
        }
        let mut changes = vec![];
        for (slot, changed, values) in output.changes.iter() {
            for (&column, &new) in changed.iter().zip(values) {
                changes.push(AttributeChange {
                    slot,
                    column,
                    old: before.rows[slot.index() * columns + usize::from(column)],
                    new,
                    causes: causes.remove(&(slot, column)).unwrap_or_default(),
                });
            }
        }
        let births = output.births.iter();
        let births = births.filter_map(|birth| Some((birth.entity?, birth.kind)));
        Moment {
            position: after.tick.0,
            world,
            changes,
            births: births.collect(),
            deaths: output.deaths.clone(),
            notifications: output.notifications.len(),
            trace,
            snapshot: after,
        }
    }

    /// All living entities, ascending by slot.
    pub fn spots(&self) -> impl Iterator<Item = Spot> + '_ {
        let slots = self.snapshot.states.iter().enumerate();
        let living = slots.filter(|(_, state)| **state == SlotState::Live);
        living.filter_map(|(slot, _)| self.spot(Slot(slot as u32)))
    }

    /// The entity that lives in a slot.
    pub fn spot(&self, slot: Slot) -> Option<Spot> {
        let state = self.snapshot.states.get(slot.index())?;
        (*state == SlotState::Live).then(|| {
            let mut position = [0; 3];
            let axes = self.world.dimensions();
            position[..axes].copy_from_slice(&self.row(slot)[..axes]);
            Spot {
                entity: EntityId {
                    slot,
                    generation: self.snapshot.generations[slot.index()],
                },
                kind: self.snapshot.kinds[slot.index()],
                position,
            }
        })
    }

    /// By holder: the slots of its things, ascending. One that can't hold a thing has none.
    pub fn held(&self) -> HashMap<Slot, Vec<Slot>> {
        let schema = &self.world.schema;
        let mut held: HashMap<Slot, Vec<Slot>> = HashMap::new();
        let Some(column) = schema.holder_column() else {
            return held;
        };
        for thing in self.spots().filter(|spot| schema.is_thing(spot.kind)) {
            let slot = thing.entity.slot;
            let reference = EntityRef(self.row(slot)[column]);
            let holder = self.spot(reference.slot());
            let holder = holder.filter(|holder| {
                holder.entity.reference() == reference && schema.can_hold(holder.kind, thing.kind)
            });
            if let Some(holder) = holder {
                held.entry(holder.entity.slot).or_default().push(slot);
            }
        }
        held
    }

    /// All attributes of a slot.
    pub fn row(&self, slot: Slot) -> &[i32] {
        let columns = self.world.schema.attributes.len();
        &self.snapshot.rows[slot.index() * columns..][..columns]
    }

    /// The clients that see something, each with the entity that its first observer follows.
    pub fn clients(&self) -> impl Iterator<Item = (ClientRow, Option<EntityId>)> + '_ {
        let per_client = self.world.limits.observers_per_client.max(1) as usize;
        let clients = (0..).zip(self.snapshot.observers.chunks(per_client));
        clients.filter_map(|(client, observers)| {
            let observer = observers.iter().flatten().next()?;
            let entity = match observer.target {
                Target::Entity(entity) => Some(entity),
                Target::Point(_) => None,
            };
            Some((ClientRow(client), entity))
        })
    }

    /// The place of a client's observer.
    pub fn sights(&self, client: ClientRow) -> Vec<Sight> {
        let per_client = self.world.limits.observers_per_client as usize;
        let own = self.snapshot.observers.iter();
        let own = own.skip(client.index() * per_client).take(per_client);
        let sights = own.flatten().filter_map(|observer| {
            let place = match observer.target {
                Target::Point(place) => place,
                Target::Entity(entity) => {
                    let spot = self.spot(entity.slot)?;
                    (spot.entity == entity).then_some(spot.position)?
                }
            };
            Some(Sight {
                centre: [0, 1].map(|axis| Fixed::from_raw(place[axis]).to_f64()),
                radius: Fixed::from_raw(observer.radius).to_f64(),
            })
        });
        sights.collect()
    }

    /// The slots of a client's known set, ascending. `None` in worlds without known sets.
    pub fn known(&self, client: ClientRow) -> Option<&[u32]> {
        let remembers = self.world.schema.world.visible_max > 0;
        let known = self.snapshot.known.get(client.index())?;
        remembers.then_some(known)
    }
}
