//! Answers to the page, as JSON.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use frontend::mirror::{Mirror, SharedMirror, Spot};
use platform::log::script_lines::ScriptLines;
use platform::metrics::web::{WebRefusal, WebRefusals};
use serde::Serialize;
use shared::world::columns::Columns;
use shared::world::schema::HOLDER;
use shared::world::value::words_at;
use shared::world::words::TextHandle;
use shared::{
    AttributeType, AttributeValue, Audience, ClientRow, EntityRef, Fixed, Schema, Slot, Text,
    WorldConfig,
};
use tick::operator::ClientFilter;

use super::commands::Row;
use super::history::Samples;
use super::query::Query;
use super::series::Series;
use super::survey::{Area, Crowd, Density};
use super::viewers::{Viewer, Viewers};
use super::watch::Watched;
use crate::admin::desk::{Desk, whom_of};
use crate::admin::request::{Client, ListedClient, Request, Response};

/// Where answers come from.
pub struct Source {
    pub facts: Facts,
    pub watched: Arc<Watched>,
    pub viewers: Arc<Mutex<Viewers>>,
    pub refusals: Arc<WebRefusals>,
    pub mirror: SharedMirror,
    pub script_lines: ScriptLines,
    pub desk: Desk,
    /// Held while all of the world is read: one request at a time does so.
    pub reading: Mutex<()>,
}

/// Facts of the server from its start.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    pub backend: &'static str,
    pub version: &'static str,
    pub shards: usize,
    pub clients_max: u32,
}

/// An answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Data {
    World(World),
    Health(Health),
    Log(Log),
    Map(Map),
    Entity(Entity),
    Clients(Clients),
    Client(Box<Inspected>),
    Done { clients: usize },
}

/// Facts that do not change.
#[derive(Debug, Serialize)]
pub struct World {
    name: String,
    size: Vec<f64>,
    aoi: f64,
    tick_hz: u32,
    /// Without the slot of what the whole world shares.
    capacity: u32,
    kinds: Vec<String>,
    player_kind: u16,
    shared: Option<SharedEntity>,
    series: Vec<Series>,
    #[serde(flatten)]
    facts: Facts,
}

/// The entity that has what the whole world shares.
#[derive(Debug, Serialize)]
pub struct SharedEntity {
    slot: u32,
    kind: u16,
}

impl SharedEntity {
    pub fn of(schema: &Schema) -> Option<SharedEntity> {
        let slot = schema.world_entity()?.slot.0;
        schema.world_kind.map(|kind| SharedEntity { slot, kind })
    }
}

/// The server's health.
#[derive(Debug, Serialize)]
pub struct Health {
    #[serde(flatten)]
    samples: Samples,
    commands: Vec<Row>,
    /// Refusals of the web port since the start, by reason.
    refused: Vec<(&'static str, u64)>,
    dashboards: usize,
}

/// What scripts have logged.
#[derive(Debug, Serialize)]
pub struct Log {
    /// The number of the first line.
    first: u64,
    lines: Vec<LogLine>,
}

#[derive(Debug, Serialize)]
pub struct LogLine {
    tick: u64,
    command: String,
    /// The slot of the entity that gave the command.
    entity: Option<u32>,
    text: String,
}

/// The world from above.
#[derive(Debug, Serialize)]
pub struct Map {
    density: Density,
    /// The newest surveyed area of this dashboard.
    area: Option<[f64; 3]>,
    crowd: Option<Crowd>,
}

/// An entity, with all its attributes.
#[derive(Debug, Serialize)]
pub struct Entity {
    slot: u32,
    generation: u32,
    kind: String,
    name: Option<String>,
    /// Units a second, as clients take it.
    velocity: Vec<f64>,
    attributes: Vec<Attribute>,
    /// What it holds.
    things: Vec<Thing>,
}

/// A thing, with what it holds itself.
#[derive(Debug, Serialize)]
pub struct Thing {
    slot: u32,
    kind: String,
    attributes: Vec<Attribute>,
    things: Vec<Thing>,
}

#[derive(Debug, Serialize)]
pub struct Attribute {
    name: String,
    #[serde(rename = "type")]
    ty: AttributeType,
    audience: Audience,
    value: Value,
}

/// An attribute's value, in the world's units.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    Bool(bool),
    Text(String),
    /// The slot of an entity that lives, or lived.
    Entity {
        slot: u32,
    },
    Nothing,
}

/// Clients, in the order of their rows.
#[derive(Debug, Serialize)]
pub struct Clients {
    clients: Vec<ListedClient>,
    /// Of one tick.
    tick_ms: f64,
    /// Where the next ones begin, if there may be more.
    next: Option<u32>,
}

/// A client, and its view.
#[derive(Debug, Serialize)]
pub struct Inspected {
    client: ListedClient,
    tick_ms: f64,
    /// The entities within its sight, the nearest first: slot, kind, distance. At most
    /// [`SEEN_MAX`].
    seen: Vec<(u32, u16, f64)>,
    /// How many there are.
    within_sight: usize,
}

impl Source {
    /// Answers a query; errors are sentences.
    pub fn data(&self, viewer: Viewer, query: Query, peer: IpAddr) -> Result<Data, String> {
        Ok(match query {
            Query::World => Data::World(self.world()),
            Query::Health { since } => Data::Health(self.health(since)),
            Query::Log { since } => Data::Log(self.log(since)),
            Query::Map { area } => Data::Map(self.map(viewer, area)),
            Query::Entity { slot } => Data::Entity(self.entity(Slot(slot))?),
            Query::Clients { first } => Data::Clients(self.clients(first)?),
            Query::Client { whom } => Data::Client(Box::new(self.client(&whom)?)),
            Query::Act(request) => self.act(&request, peer)?,
        })
    }

    fn world(&self) -> World {
        let config = self.watched.world();
        let info = &config.schema.world;
        World {
            name: info.name.clone(),
            size: info.size.iter().map(|size| size.to_f64()).collect(),
            aoi: info.aoi.to_f64(),
            tick_hz: info.tick_hz,
            capacity: info.capacity - u32::from(config.schema.world_kind.is_some()),
            shared: SharedEntity::of(&config.schema),
            kinds: config.schema.kinds.iter().map(|k| k.name.clone()).collect(),
            player_kind: config.player_kind,
            series: self.watched.recorded().history.series().to_vec(),
            facts: self.facts.clone(),
        }
    }

    fn health(&self, since: u64) -> Health {
        let recorded = self.watched.recorded();
        let refused = WebRefusal::ALL.map(|why| (why.name(), self.refusals.of(why)));
        Health {
            samples: recorded.history.since(since),
            commands: recorded.commands.top(),
            refused: refused.into(),
            dashboards: self.viewers(|viewers| viewers.count(Instant::now())),
        }
    }

    fn log(&self, since: u64) -> Log {
        let tick_hz = self.watched.world().schema.world.tick_hz;
        let found = self.script_lines.since(since, LOG_SECONDS * tick_hz);
        let lines = found.lines.into_iter().map(|line| LogLine {
            tick: line.tick,
            command: line.command,
            entity: line.entity,
            text: line.text,
        });
        Log {
            first: found.first,
            lines: lines.collect(),
        }
    }

    fn map(&self, viewer: Viewer, area: Option<Area>) -> Map {
        self.viewers(|viewers| viewers.want_map(viewer, area, Instant::now()));
        let map = self.watched.map();
        let own = map.crowds.get(&viewer);
        Map {
            density: map.density.clone(),
            area: own.map(|(area, _)| [area.centre[0], area.centre[1], area.edge]),
            crowd: own.map(|(_, crowd)| crowd.clone()),
        }
    }

    fn entity(&self, slot: Slot) -> Result<Entity, String> {
        let config = self.watched.world();
        let mirror = self.mirror.read();
        let entity = mirror
            .living(slot)
            .ok_or_else(|| format!("no entity lives in slot {}", slot.0))?;
        let tick_hz = f64::from(config.schema.world.tick_hz);
        let velocity = mirror.course(slot).velocity;
        let velocity = velocity[..config.schema.dimensions()].iter();
        Ok(Entity {
            slot: slot.0,
            generation: entity.generation,
            kind: config.schema.kinds[usize::from(mirror.kind(slot))]
                .name
                .clone(),
            name: mirror.name(slot).map(|name| name.to_string()),
            velocity: velocity
                .map(|&raw| Fixed::from_raw(raw).to_f64() * tick_hz)
                .collect(),
            attributes: attributes(
                &config,
                mirror.kind_columns(slot),
                mirror.row(slot),
                &mirror.texts,
            ),
            things: self.things(&config, &mirror, slot),
        })
    }

    /// What an entity holds, in worlds that show things to somebody.
    fn things(&self, config: &WorldConfig, mirror: &Mirror, holder: Slot) -> Vec<Thing> {
        let Some(holders) = mirror.things() else {
            return vec![];
        };
        let show = |slot| {
            let (kind, row) = (mirror.kind(slot), mirror.row(slot));
            let columns = mirror.kind_columns(slot);
            (kind, attributes(config, columns, row, &mirror.texts))
        };
        let held = |slot| holders.held_by(slot).collect();
        things(config, holder, &held, &show, &mut { THINGS_MAX })
    }

    fn clients(&self, first: ClientRow) -> Result<Clients, String> {
        let most = CLIENTS_AT_ONCE;
        let clients = self.desk.list(ClientFilter::From { first, most })?;
        let is_full = clients.len() == most;
        let last = clients.last().filter(|_| is_full);
        Ok(Clients {
            tick_ms: self.tick_ms(),
            next: last.map(|last| last.number + 1),
            clients,
        })
    }

    fn client(&self, whom: &Client) -> Result<Inspected, String> {
        let listed = self.desk.list(ClientFilter::One(whom_of(whom)?))?;
        let no_such = || "there is no such client".to_owned();
        let client = listed.into_iter().next().ok_or_else(no_such)?;
        let mut seen = self.seen(&client);
        let within_sight = seen.len();
        seen.sort_by(|a, b| a.2.total_cmp(&b.2));
        seen.truncate(SEEN_MAX);
        Ok(Inspected {
            client,
            tick_ms: self.tick_ms(),
            seen,
            within_sight,
        })
    }

    /// The entities within a client's sight, without those that only its regions show.
    fn seen(&self, client: &ListedClient) -> Vec<(u32, u16, f64)> {
        let units = |raw: [i32; 3]| raw.map(|raw| Fixed::from_raw(raw).to_f64());
        let mirror = &self.mirror;
        let own = client.entity.map(|[slot, _]| Slot(slot));
        let own = own.filter(|&slot| mirror.read().living(slot).is_some());
        let from = own.map(|slot| units(mirror.read().position(slot)));
        let Some(from) = from.or(client.watches) else {
            return vec![];
        };
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut seen, mut spots): (Vec<_>, Vec<Spot>) = (vec![], vec![]);
        let schema = &self.watched.world().schema;
        let shared = schema.world_entity();
        let capacity = mirror.read().capacity();
        for first in (0..capacity).step_by(SLOTS_AT_ONCE) {
            spots.clear();
            let slots = first..(first + SLOTS_AT_ONCE).min(capacity);
            mirror.read().spots(slots, &mut spots);
            seen.extend(spots.iter().filter_map(|spot| {
                let to = units(spot.position);
                let squares = [0, 1, 2].map(|axis| (to[axis] - from[axis]).powi(2));
                let distance = squares.iter().sum::<f64>().sqrt();
                let is_placed = Some(spot.entity) != shared && !schema.is_thing(spot.kind);
                let is_within = is_placed && distance <= client.sight;
                is_within.then_some((spot.entity.slot.0, spot.kind, distance))
            }));
        }
        seen
    }

    fn act(&self, request: &Request, peer: IpAddr) -> Result<Data, String> {
        let by = format!("dashboard, {peer}");
        match self.desk.answer(request, &by) {
            Response::Done { clients } => Ok(Data::Done { clients }),
            Response::Error(reason) => Err(reason),
            _ => Err("unexpected answer of the server".to_owned()),
        }
    }

    fn tick_ms(&self) -> f64 {
        1000.0 / f64::from(self.watched.world().schema.world.tick_hz)
    }

    fn viewers<T>(&self, with: impl FnOnce(&mut Viewers) -> T) -> T {
        with(&mut self.viewers.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The attributes that an entity's kind has, those of these columns. A text that is not known is its
/// handle.
pub fn attributes(
    config: &WorldConfig,
    columns: Columns,
    row: &[i32],
    texts: &HashMap<TextHandle, Text>,
) -> Vec<Attribute> {
    let all = config.schema.attributes.iter().zip(row).enumerate();
    let own = all.filter(|(column, (attribute, _))| {
        columns.has(*column) && attribute.ty != AttributeType::High
    });
    own.map(|(column, (attribute, _))| Attribute {
        name: attribute.name.clone(),
        ty: attribute.ty,
        audience: attribute.audience,
        value: value(config, texts, attribute.ty, words_at(row, column)),
    })
    .collect()
}

/// The things of an entity, each with what it holds itself. `held` gives the slots of those that an
/// entity holds, and `show` the kind and the attributes of one; `room` is for how many there is room.
pub fn things(
    config: &WorldConfig,
    holder: Slot,
    held: &dyn Fn(Slot) -> Vec<Slot>,
    show: &dyn Fn(Slot) -> (u16, Vec<Attribute>),
    room: &mut usize,
) -> Vec<Thing> {
    let mut shown = vec![];
    for slot in held(holder) {
        if *room == 0 {
            break;
        }
        *room -= 1;
        let (kind, attributes) = show(slot);
        shown.push(Thing {
            slot: slot.0,
            kind: config.schema.kinds[usize::from(kind)].name.clone(),
            // Where it stands says who holds it.
            attributes: attributes
                .into_iter()
                .filter(|own| own.name != HOLDER)
                .collect(),
            things: things(config, slot, held, show, room),
        });
    }
    shown
}

/// An attribute's value, with the word after it.
pub fn value(
    config: &WorldConfig,
    texts: &HashMap<TextHandle, Text>,
    ty: AttributeType,
    words: [i32; 2],
) -> Value {
    match AttributeValue::of(ty, words) {
        // A page has no other numbers.
        AttributeValue::I64(number) => Value::Number(number as f64),
        AttributeValue::I32(number) | AttributeValue::High(number) => Value::Number(number.into()),
        AttributeValue::Text(TextHandle::EMPTY) => Value::Text(String::new()),
        AttributeValue::Text(handle) => match texts.get(&handle) {
            Some(text) => Value::Text(text.to_string()),
            None => Value::Number(handle.0.into()),
        },
        AttributeValue::Fixed(number) => Value::Number(number.to_f64()),
        AttributeValue::Bool(truth) => Value::Bool(truth),
        AttributeValue::Entity(EntityRef::NONE) => Value::Nothing,
        AttributeValue::Entity(entity) => Value::Entity {
            slot: entity.slot().0,
        },
        AttributeValue::Symbol(symbol) => {
            let name = symbol.name(&config.schema.symbols);
            name.map_or(Value::Nothing, |name| Value::Text(name.to_owned()))
        }
    }
}

/// Things of one entity that are listed.
pub const THINGS_MAX: usize = 200;
/// Lines of scripts are kept for so long after a dashboard has asked for them.
const LOG_SECONDS: u32 = 5;
/// Clients of one answer.
const CLIENTS_AT_ONCE: usize = 100;
/// Entities of one answer.
pub const SEEN_MAX: usize = 200;
/// Reading so many takes some ten microseconds, for which the tick thread may wait.
const SLOTS_AT_ONCE: usize = 1024;
