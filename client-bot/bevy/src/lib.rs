//! A plugin for Bevy: the entities in view of a [`GameClient`] are entities of the app.
//!
//! An entity that comes into view is spawned with a [`Seen`] and a [`Transform`], and is
//! despawned when it is no longer in view. The transform follows what the client shows in every
//! frame, one unit of Bevy to a unit of the world, on the same axes. A thing that the client sees
//! has a [`Seen`] and no transform; [`HeldBy`] names its holder, whose [`Holds`] lists its things.
//!
//! ```no_run
//! use bevy_app::{App, Update};
//! use bevy_ecs::prelude::*;
//! use bevy_myriad::client_bot::client_core::GameOptions;
//! use bevy_myriad::client_bot::connect::addresses_of;
//! use bevy_myriad::client_bot::{GameClient, Trust};
//! use bevy_myriad::{Myriad, MyriadEvent, MyriadPlugin};
//!
//! fn walk(mut myriad: ResMut<Myriad>) {
//!     if myriad.client.input_due().is_some() {
//!         let _ = myriad.command("move", &[1.0, 0.0]);
//!     }
//! }
//!
//! fn print(mut events: MessageReader<MyriadEvent>) {
//!     for event in events.read() {
//!         println!("{:?} {:?}", event.event, event.entity);
//!     }
//! }
//!
//! let server = addresses_of("localhost:4433")?;
//! let trust = Trust::AnyCertificate;
//! let client = GameClient::new(server, "localhost", &trust, GameOptions::default())?;
//! App::new()
//!     .add_plugins(MyriadPlugin)
//!     .insert_resource(Myriad::new(client))
//!     .add_systems(Update, (walk, print))
//!     .run();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![warn(missing_docs)]
#![forbid(unsafe_code)]

use std::collections::HashMap;

use bevy_app::{App, Plugin, PostUpdate, PreUpdate};
use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use client_bot::GameClient;
use client_bot::client_core::{Event, EventType, NamedEvent, View};
use client_bot::named::{NamedError, kind_name, referenced};
use shared::EntityId;

/// The client, and all that it is made of.
pub use client_bot;

/// Polls the [`Myriad`] of the app before its updates, and sends its commands after them. An
/// app without that resource is left alone: insert it when the player wants to connect.
pub struct MyriadPlugin;

impl Plugin for MyriadPlugin {
    fn build(&self, app: &mut App) {
        app.add_message::<MyriadEvent>()
            .add_systems(PreUpdate, follow.run_if(resource_exists::<Myriad>))
            .add_systems(PostUpdate, flush.run_if(resource_exists::<Myriad>));
    }
}

/// The client, and which entity of the app stands for which of the world.
#[derive(Resource)]
pub struct Myriad {
    /// For all that has no method here.
    pub client: GameClient,
    entities: HashMap<EntityId, Entity>,
}

impl Myriad {
    /// What the app plays by; its connection begins with the next poll.
    pub fn new(client: GameClient) -> Myriad {
        Myriad {
            client,
            entities: HashMap::new(),
        }
    }

    /// Queues a command by its name, with its numbers in units, and gives its sequence number.
    pub fn command(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        self.client.command_named(name, numbers)
    }

    /// The entity of the app that stands for one of the world, while that is in view.
    pub fn entity(&self, id: EntityId) -> Option<Entity> {
        self.entities.get(&id).copied()
    }

    /// The entity of the app that the client plays.
    pub fn own(&self) -> Option<Entity> {
        self.entity(self.client.view()?.entity())
    }
}

/// The app's entity for an entity of the world.
#[derive(Component, Clone, Debug)]
pub struct Seen {
    /// The entity of the world.
    pub id: EntityId,
    /// The name of its kind.
    pub kind: String,
    /// The raw words of its attributes, by the schema's columns.
    row: Vec<i32>,
}

impl Seen {
    /// The newest value of an attribute that this entity has and the client may know.
    pub fn value(&self, myriad: &Myriad, attribute: &str) -> Result<f64, NamedError> {
        myriad.client.value(self.id, attribute)
    }
}

/// The holder of a thing, as long as that is in view: an entity, or another thing.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[relationship(relationship_target = Holds)]
pub struct HeldBy(pub Entity);

/// The things that an entity holds itself, as far as the client sees them.
#[derive(Component, Debug)]
#[relationship_target(relationship = HeldBy)]
pub struct Holds(Vec<Entity>);

impl Holds {
    /// In no particular order.
    pub fn things(&self) -> &[Entity] {
        &self.0
    }
}

/// An event, in the order in which the client received them. [`Event::Link`] reports that the
/// server falls silent or sends again, and [`Event::Lost`] has the code of a loss.
#[derive(Message, Clone, Debug)]
pub struct MyriadEvent {
    /// What has happened.
    pub event: Event,
    /// The entity of the app that it is about. One that left is despawned in the same frame.
    pub entity: Option<Entity>,
    /// With a changed entity: what its attributes were and are.
    pub changes: Vec<NamedChange>,
}

/// A change of an attribute, by its name, with values as [`number`](client_bot::named::number)
/// gives them.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedChange {
    /// The attribute's name.
    pub attribute: String,
    /// The value before.
    pub old: f64,
    /// The value from now on.
    pub new: f64,
}

fn follow(
    mut myriad: ResMut<Myriad>,
    mut shown: Query<(&mut Seen, Option<&mut Transform>, Option<&HeldBy>)>,
    mut writer: MessageWriter<MyriadEvent>,
    mut commands: Commands,
) {
    let events = myriad.client.poll();
    let Myriad { client, entities } = &mut *myriad;
    let before = entities.clone();
    let mut gone = before.clone();
    let placed = client.view().into_iter().flat_map(|view| view.entities().values());
    let things = client.view().into_iter().flat_map(|view| view.things().values());
    let placed = placed.map(|seen| (seen, Some(client.position(seen.id).unwrap_or_default())));
    for (seen, place) in placed.chain(things.map(|seen| (seen, None))) {
        gone.remove(&seen.id);
        let place = place.map(|[x, y, z]| Transform::from_xyz(x as f32, y as f32, z as f32));
        let known = entities.get(&seen.id).copied();
        if let Some((mut known, transform, _)) = known.and_then(|known| shown.get_mut(known).ok()) {
            // Bevy counts a write as a change.
            if let (Some(mut transform), Some(place)) = (transform, place)
                && transform.translation != place.translation
            {
                transform.translation = place.translation;
            }
            if known.row[..] != seen.row[..] {
                known.row = seen.row.to_vec();
            }
        } else {
            let kind = client.view().and_then(|view| kind_name(view, seen.kind));
            let spawned = Seen {
                id: seen.id,
                kind: kind.unwrap_or_default().to_owned(),
                row: seen.row.to_vec(),
            };
            let mut spawned = commands.spawn(spawned);
            if let Some(place) = place {
                spawned.insert(place);
            }
            entities.insert(seen.id, spawned.id());
        }
    }
    for (thing, holder) in client.view().into_iter().flat_map(holders) {
        let Some(&thing) = entities.get(&thing) else {
            continue;
        };
        let holder = holder.and_then(|holder| entities.get(&holder).copied());
        let known = shown.get(thing).ok().and_then(|(_, _, held)| held);
        if known.map(|held| held.0) == holder {
            continue;
        }
        match holder {
            Some(holder) => drop(commands.entity(thing).insert(HeldBy(holder))),
            None => drop(commands.entity(thing).remove::<HeldBy>()),
        }
    }
    for (id, entity) in gone {
        entities.remove(&id);
        commands.entity(entity).try_despawn();
    }
    writer.write_batch(events.into_iter().map(|event| {
        let id = subject(&event);
        MyriadEvent {
            entity: id.and_then(|id| entities.get(&id).or(before.get(&id)).copied()),
            changes: named_changes(client, &event),
            event,
        }
    }));
}

/// The things in view, each with its holder, if that is in view.
fn holders(view: &View) -> impl Iterator<Item = (EntityId, Option<EntityId>)> {
    let column = view.schema().holder_column();
    view.things().values().map(move |thing| {
        let reference = column.and_then(|column| thing.row.get(column));
        let holder = reference.and_then(|&reference| referenced(view, reference.into()));
        (thing.id, holder)
    })
}

fn flush(mut myriad: ResMut<Myriad>) {
    myriad.client.flush();
}

fn subject(event: &Event) -> Option<EntityId> {
    match event {
        Event::Welcomed(entity) | Event::Resumed(entity) | Event::Reborn(entity) => Some(*entity),
        Event::Entered { entity, .. }
        | Event::Left { entity, .. }
        | Event::Changed { entity, .. }
        | Event::MemberJoined { entity, .. }
        | Event::MemberLeft { entity, .. }
        | Event::MemberChanged { entity, .. } => Some(*entity),
        _ => None,
    }
}

fn named_changes(client: &GameClient, event: &Event) -> Vec<NamedChange> {
    let mut changes = vec![];
    NamedEvent::each(event, client.view(), |event| {
        let is_change = matches!(event.what, EventType::Changed | EventType::MemberChanged);
        if let (true, Some(attribute), Some((old, new))) = (is_change, event.name, event.change) {
            changes.push(NamedChange {
                attribute,
                old: old.number(),
                new: new.number(),
            });
        }
    });
    changes
}
