//! The entities of a persistent world before a tick, for analysts: all attributes, also hidden
//! ones, by the names of the world.
//!
//! | module | holds |
//! | --- | --- |
//! | [`json`] | a line of JSON for each entity |
//! | `parquet` | a Parquet file, where that feature is on |

pub mod json;
#[cfg(feature = "parquet")]
pub mod parquet;

use std::collections::{BTreeMap, HashMap};

use durability::annotations::Person;
use durability::recovered::Recovered;
use gpu_kernels::tick::frame::POPULATION_TOKEN;
use gpu_kernels::{SlotState, Snapshot};
use shared::world::schema::Kind;
use shared::world::value::words_at;
use shared::world::words::TextHandle;
use shared::{ClientRow, EntityId, Slot, Text, WorldConfig};

/// The entities of a world.
pub struct Entities<'a> {
    pub world: &'a WorldConfig,
    /// The tick that comes next.
    pub tick: u64,
    snapshot: &'a Snapshot,
    people: HashMap<EntityId, &'a Person>,
    texts: &'a BTreeMap<TextHandle, Text>,
}

/// One of them.
#[derive(Clone, Copy)]
pub struct Entity<'a> {
    pub id: EntityId,
    pub kind: &'a Kind,
    /// The client whose entity it is.
    pub person: Option<&'a Person>,
    row: &'a [i32],
}

impl<'a> Entities<'a> {
    pub fn of(recovered: &'a Recovered) -> Entities<'a> {
        let clients = &recovered.roster.clients;
        let mut people = HashMap::new();
        for client in clients.values() {
            if let Some(entity) = client.row.entity() {
                people.insert(entity, &client.row.person);
            }
        }
        // The rows lack the births of the last tick.
        for birth in &recovered.last.births {
            let client = clients.get(&ClientRow(birth.token));
            if let (Some(entity), Some(client)) = (birth.entity, client)
                && birth.token != POPULATION_TOKEN
            {
                people.insert(entity, &client.row.person);
            }
        }
        Entities {
            world: &recovered.world,
            tick: recovered.snapshot.tick.0,
            snapshot: &recovered.snapshot,
            people,
            texts: &recovered.roster.texts,
        }
    }

    /// A text of an attribute; `None` if the world has it no more.
    pub fn text(&self, handle: TextHandle) -> Option<&str> {
        match handle.is_empty() {
            true => Some(""),
            false => self.texts.get(&handle).map(|text| &**text),
        }
    }

    /// By slot.
    pub fn iter(&self) -> impl Iterator<Item = Entity<'_>> {
        let snapshot = self.snapshot;
        let schema = &self.world.schema;
        let rows = snapshot.rows.chunks_exact(schema.attributes.len().max(1));
        let slots = (0..).zip(&snapshot.states).zip(rows);
        let living = slots.filter(|((_, state), _)| **state == SlotState::Live);
        living.filter_map(|((slot, _), row)| {
            let place = Slot(slot).index();
            let id = EntityId::new(slot, *snapshot.generations.get(place)?);
            let kind = snapshot.kinds.get(place)?;
            Some(Entity {
                id,
                kind: schema.kinds.get(usize::from(*kind))?,
                person: self.people.get(&id).copied(),
                row,
            })
        })
    }
}

impl Entity<'_> {
    /// Its value of an attribute, and the word in the next column.
    pub fn words(&self, column: usize) -> Option<[i32; 2]> {
        self.value(column).map(|_| words_at(self.row, column))
    }

    /// Its value of an attribute; `None` if its kind lacks it.
    pub fn value(&self, column: usize) -> Option<i32> {
        let mut own = self.kind.attributes.iter();
        let has_it = own.any(|own| usize::from(own.column) == column);
        has_it.then(|| self.row.get(column).copied()).flatten()
    }
}
