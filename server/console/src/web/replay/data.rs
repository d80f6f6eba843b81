//! Answers to the page, as JSON.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use frontend::mirror::Spot;
use gpu_kernels::Command;
use hyper::StatusCode;
use platform::http::Page;
use script::watched::Run;
use serde::Serialize;
use shared::world::value::words_at;
use shared::world::words::TextHandle;
use shared::{AttributeType, ClientRow, EntityId, Fixed, Name, Slot, Text, WorldConfig};

use super::query::{Look, Query};
use crate::playback::moment::{AttributeChange, Sight};
use crate::playback::names::Names;
use crate::playback::surveyor::{self, Progress, SharedProgress};
use crate::playback::texts::Texts;
use crate::playback::{Moment, Player};
use crate::web::dashboard::JSON;
use crate::web::dashboard::data::{
    Attribute, SharedEntity, THINGS_MAX, Thing, Value, attributes, things, value,
};
use crate::web::dashboard::survey::{Area, Crowd, Density, survey_of};

/// Where answers come from.
pub struct Source {
    name: String,
    world: Arc<WorldConfig>,
    progress: SharedProgress,
    names: Arc<Names>,
    texts: Arc<Texts>,
    /// All viewers share it.
    player: Mutex<Player>,
}

/// Facts that do not change, and the progress.
#[derive(Debug, Serialize)]
struct World {
    recording: String,
    name: String,
    version: &'static str,
    size: Vec<f64>,
    aoi: f64,
    tick_hz: u32,
    capacity: u32,
    kinds: Vec<String>,
    shared: Option<SharedEntity>,
    progress: Progress,
}

/// The world at a position.
#[derive(Debug, Serialize)]
struct Shown {
    /// Ticks that were run.
    tick: u64,
    density: Density,
    /// The area that is listed, and its entities.
    area: Option<[f64; 3]>,
    crowd: Option<Crowd>,
    entity: Option<Entity>,
    view: Option<View>,
    /// Those of the chosen entity first. At most [`CHANGES_MAX`].
    changes: Vec<Changed>,
    changes_total: usize,
    /// The tick's commands that changes name.
    commands: Vec<CausingCommand>,
    commands_total: usize,
    /// Slot, generation, kind. At most [`CHANGES_MAX`].
    births: Vec<(u32, u32, u16)>,
    births_total: usize,
    /// Slot, generation. At most [`CHANGES_MAX`].
    deaths: Vec<(u32, u32)>,
    deaths_total: usize,
    notifications: usize,
    /// Row, slot of the entity that it follows, and name. At most [`CLIENTS_MAX`].
    clients: Vec<(u32, Option<u32>, Option<Name>)>,
    progress: Progress,
}

/// The entity that is chosen.
#[derive(Debug, Serialize)]
struct Entity {
    slot: u32,
    generation: u32,
    kind: String,
    /// Of its player.
    name: Option<Name>,
    attributes: Vec<Attribute>,
    /// What it holds.
    things: Vec<Thing>,
}

/// The view of a client.
#[derive(Debug, Serialize)]
struct View {
    client: u32,
    /// x, y, radius.
    sights: Vec<[f64; 3]>,
    entities: usize,
}

/// An attribute that has another value.
#[derive(Debug, Serialize)]
struct Changed {
    slot: u32,
    attribute: String,
    old: Value,
    new: Value,
    /// Each command that updated it: its place in `commands`, and the update's value.
    causes: Vec<(usize, Value)>,
}

/// A command of the tick.
#[derive(Debug, Serialize)]
struct CausingCommand {
    /// Its place among the tick's commands.
    number: u32,
    name: String,
    /// Slot and generation; none gives the command of a birth.
    entity: Option<(u32, u32)>,
    /// Of the entity's player.
    player: Option<Name>,
    words: Vec<(String, Value)>,
}

impl Source {
    pub fn new(name: String, player: Player) -> Source {
        Source {
            name,
            world: player.world().clone(),
            progress: player.progress(),
            names: player.names(),
            texts: player.texts(),
            player: Mutex::new(player),
        }
    }

    pub fn answer(&self, query: &Query) -> Page {
        let bytes = match query {
            Query::World => serde_json::to_vec(&self.world()),
            Query::Moment(look) => match self.moment(look) {
                Ok(shown) => serde_json::to_vec(&shown),
                Err(reason) => return Page::error(StatusCode::CONFLICT, reason),
            },
            Query::Run { tick, command } => match self.run(*tick, *command) {
                Ok(shown) => serde_json::to_vec(&shown),
                Err(reason) => return Page::error(StatusCode::CONFLICT, reason),
            },
        };
        // Numbers and text are always written.
        Page::new(JSON, bytes.unwrap_or_default())
    }

    fn world(&self) -> World {
        let info = &self.world.schema.world;
        let kinds = self.world.schema.kinds.iter();
        World {
            recording: self.name.clone(),
            name: info.name.clone(),
            version: env!("CARGO_PKG_VERSION"),
            size: info.size.iter().map(|size| size.to_f64()).collect(),
            aoi: info.aoi.to_f64(),
            tick_hz: info.tick_hz,
            capacity: info.capacity - u32::from(self.world.schema.world_kind.is_some()),
            shared: SharedEntity::of(&self.world.schema),
            kinds: kinds.map(|kind| kind.name.clone()).collect(),
            progress: surveyor::read(&self.progress),
        }
    }

    /// An error is a sentence.
    fn run(&self, tick: u64, command: usize) -> Result<ShownRun, String> {
        let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
        let found = player.inspect(tick, command);
        let found = found.map_err(|error| format!("{error:#}"))?;
        let texts = found.texts.into_iter().map(|text| ShownText {
            lines: text.text.lines().map(str::to_owned).collect(),
            file: text.file,
        });
        Ok(ShownRun {
            command: found.command,
            texts: texts.collect(),
            run: found.run,
        })
    }

    /// An error is a sentence.
    fn moment(&self, look: &Look) -> Result<Shown, String> {
        let moment = {
            let mut player = self.player.lock().unwrap_or_else(PoisonError::into_inner);
            player.at(look.tick)
        };
        let moment = moment.map_err(|error| format!("{error:#}"))?;
        let progress = surveyor::read(&self.progress);
        Ok(shown(
            &moment,
            look,
            &Known::of(&moment, &self.names, &self.texts.read()),
            progress,
        ))
    }
}

/// A command that ran again.
#[derive(Debug, Serialize)]
struct ShownRun {
    command: String,
    texts: Vec<ShownText>,
    #[serde(flatten)]
    run: Run,
}

#[derive(Debug, Serialize)]
struct ShownText {
    file: String,
    lines: Vec<String>,
}

/// What is known of a moment besides its state: the names of players, and texts.
struct Known<'a> {
    names: &'a Names,
    texts: &'a HashMap<TextHandle, Text>,
    position: u64,
    clients: HashMap<EntityId, ClientRow>,
}

impl Known<'_> {
    fn of<'a>(
        moment: &Moment,
        names: &'a Names,
        texts: &'a HashMap<TextHandle, Text>,
    ) -> Known<'a> {
        let clients = moment.clients();
        Known {
            names,
            texts,
            position: moment.position,
            clients: clients.filter_map(|(row, id)| Some((id?, row))).collect(),
        }
    }

    fn client(&self, client: ClientRow) -> Option<Name> {
        self.names.at(client, self.position)
    }

    fn entity(&self, entity: EntityId) -> Option<Name> {
        self.client(*self.clients.get(&entity)?)
    }
}

fn shown(moment: &Moment, look: &Look, known: &Known<'_>, progress: Progress) -> Shown {
    let view = look.client.map(|client| Seen {
        sights: moment.sights(client),
        known: moment.known(client),
    });
    let spots = moment.spots();
    let spots = spots.filter(|spot| view.as_ref().is_none_or(|view| view.has(spot)));
    let areas: Vec<Area> = look.area.into_iter().collect();
    let mut found = survey_of(&moment.world, moment.position, spots, &areas);
    let entities: u32 = found.density.kinds.iter().sum();
    let (changes, commands) = changed(moment, known, look.slot);
    let of_area = |area: &Area| [area.centre[0], area.centre[1], area.edge];
    let births = moment.births.iter();
    let deaths = moment.deaths.iter();
    Shown {
        tick: moment.position,
        density: found.density,
        area: look.area.as_ref().map(of_area),
        crowd: found.crowds.pop(),
        entity: look.slot.and_then(|slot| entity(moment, known, slot)),
        view: look.client.zip(view).map(|(client, view)| View {
            client: client.0,
            sights: view.sights.iter().map(circle).collect(),
            entities: entities as usize,
        }),
        changes,
        changes_total: moment.changes.len(),
        commands,
        commands_total: moment.trace.commands.len(),
        births: births
            .map(|(id, kind)| (id.slot.0, id.generation, *kind))
            .take(CHANGES_MAX)
            .collect(),
        births_total: moment.births.len(),
        deaths: deaths
            .map(|id| (id.slot.0, id.generation))
            .take(CHANGES_MAX)
            .collect(),
        deaths_total: moment.deaths.len(),
        notifications: moment.notifications,
        clients: moment
            .clients()
            .map(|(row, entity)| {
                let slot = entity.map(|entity| entity.slot.0);
                (row.0, slot, known.client(row))
            })
            .take(CLIENTS_MAX)
            .collect(),
        progress,
    }
}

/// The view of one client.
struct Seen<'a> {
    sights: Vec<Sight>,
    known: Option<&'a [u32]>,
}

impl Seen<'_> {
    fn has(&self, spot: &Spot) -> bool {
        if let Some(known) = self.known {
            return known.binary_search(&spot.entity.slot.0).is_ok();
        }
        let place = spot.position.map(|raw| Fixed::from_raw(raw).to_f64());
        let is_within = |sight: &Sight| {
            let [x, y] = [0, 1].map(|axis| place[axis] - sight.centre[axis]);
            x.hypot(y) <= sight.radius
        };
        self.sights.iter().any(is_within)
    }
}

fn circle(sight: &Sight) -> [f64; 3] {
    [sight.centre[0], sight.centre[1], sight.radius]
}

fn entity(moment: &Moment, known: &Known<'_>, slot: Slot) -> Option<Entity> {
    let spot = moment.spot(slot)?;
    let schema = &moment.world.schema;
    let columns = schema.kind_columns();
    Some(Entity {
        slot: slot.0,
        generation: spot.entity.generation,
        name: known.entity(spot.entity),
        kind: schema.kinds[usize::from(spot.kind)].name.clone(),
        attributes: attributes(
            &moment.world,
            columns[usize::from(spot.kind)],
            moment.row(slot),
            known.texts,
        ),
        things: things_of(moment, known, slot),
    })
}

/// What an entity holds.
fn things_of(moment: &Moment, known: &Known<'_>, holder: Slot) -> Vec<Thing> {
    let (world, columns) = (&moment.world, moment.world.schema.kind_columns());
    let held = moment.held();
    let show = |slot| {
        let kind = moment.spot(slot).map_or(0, |spot| spot.kind);
        let columns = columns[usize::from(kind)];
        let own = attributes(world, columns, moment.row(slot), known.texts);
        (kind, own)
    };
    let held = |holder: Slot| held.get(&holder).cloned().unwrap_or_default();
    things(world, holder, &held, &show, &mut { THINGS_MAX })
}

/// The changes to list, and the commands that they name.
fn changed(
    moment: &Moment,
    known: &Known<'_>,
    chosen: Option<Slot>,
) -> (Vec<Changed>, Vec<CausingCommand>) {
    let (mut changes, mut commands, mut numbers) = (vec![], vec![], vec![]);
    let is_chosen = |change: &&AttributeChange| Some(change.slot) == chosen;
    let own = moment.changes.iter().filter(is_chosen);
    let others = moment.changes.iter().filter(|change| !is_chosen(change));
    for change in own.chain(others).take(CHANGES_MAX) {
        let attribute = &moment.world.schema.attributes[usize::from(change.column)];
        let of = |column: u16| {
            let mut all = moment.changes.iter();
            all.find(|other| (other.slot, other.column) == (change.slot, column))
        };
        // The two halves of a number are one change.
        let (attribute, low, high) = match attribute.ty {
            AttributeType::High => match of(change.column - 1) {
                Some(_) => continue,
                None => {
                    let low = usize::from(change.column) - 1;
                    (&moment.world.schema.attributes[low], None, Some(change))
                }
            },
            AttributeType::I64 => (attribute, Some(change), of(change.column + 1)),
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text => (attribute, Some(change), None),
        };
        let first = change.column - u16::from(low.is_none());
        let still = words_at(moment.row(change.slot), first.into());
        let both =
            |of: fn(&AttributeChange) -> i32| [low.map_or(still[0], of), high.map_or(still[1], of)];
        let value = |words: [i32; 2]| value(&moment.world, known.texts, attribute.ty, words);
        let mut place = |number: u32| {
            let before = numbers.iter().position(|&before| before == number);
            before.unwrap_or_else(|| {
                numbers.push(number);
                let command = &moment.trace.commands[number as usize];
                commands.push(given(moment, known, number, command));
                numbers.len() - 1
            })
        };
        let causes = change.causes.iter().take(CAUSES_MAX);
        let cause = |(at, &(n, raw)): (usize, &(u32, i32))| {
            let other = match (low, high) {
                (Some(_), Some(high)) => high.causes.get(at).map(|cause| [raw, cause.1]),
                _ if attribute.ty.is_half() => None,
                _ => Some([raw, 0]),
            };
            // By one half alone, nobody knows the number.
            (place(n), other.map_or(Value::Nothing, value))
        };
        changes.push(Changed {
            slot: change.slot.0,
            attribute: attribute.name.clone(),
            old: value(both(|change| change.old)),
            new: value(both(|change| change.new)),
            causes: causes.enumerate().map(cause).collect(),
        });
    }
    (changes, commands)
}

fn given(moment: &Moment, known: &Known<'_>, number: u32, command: &Command) -> CausingCommand {
    let schemas = moment.world.schema.commands.iter();
    let mut own = schemas.filter(|schema| schema.kind.id() == command.kind);
    let schema = own.next();
    let raw = moment.trace.words_of(command);
    let words = schema
        .into_iter()
        .flat_map(|schema| &schema.words)
        .enumerate();
    let words = words.filter(|(at, word)| *at < raw.len() && word.ty != AttributeType::High);
    let entity = Some(command.entity).filter(|&entity| entity != EntityId::NONE);
    CausingCommand {
        number,
        name: schema.map_or_else(|| format!("command {}", command.kind), |s| s.name.clone()),
        entity: entity.map(|entity| (entity.slot.0, entity.generation)),
        player: entity.and_then(|entity| known.entity(entity)),
        words: words
            .map(|(at, word)| {
                let value = value(&moment.world, known.texts, word.ty, words_at(raw, at));
                (word.name.clone(), value)
            })
            .collect(),
    }
}

/// Listed of one tick.
const CHANGES_MAX: usize = 200;
/// Listed of one change.
const CAUSES_MAX: usize = 32;
const CLIENTS_MAX: usize = 5000;
