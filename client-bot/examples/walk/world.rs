//! The world `walk` as its clients know it. Written by `myriad bindings --lang rs`.

// A game uses what it needs.
#![allow(dead_code, unreachable_code, unused_imports, unused_variables, clippy::all)]

use std::ops::Deref;

use client_bot::bindings::{self, Argument, Entities, News, Plays, Seen, Sight, Symbols};
use client_bot::client_core::{Event as ClientEvent, GameOptions, GivenCommand, NamedEvent};
use client_bot::named::NamedError;
use client_bot::shared::{EntityId, Tick};

/// What these bindings need of a server's world.
pub const BINDINGS: &str = "\
bindings of walk for rs, hash f60a133cc4e87341\n\
axes 2\n\
kind player\n\
command move(x: fixed, y: fixed)\n\
";

/// The options of a client with these bindings: a server whose world lacks some of what they name
/// is left, with an event `Lost` that names it.
pub fn options() -> GameOptions {
    GameOptions {
        bindings: BINDINGS.to_owned(),
        ..GameOptions::default()
    }
}

/// What a client sees.
pub fn view(client: &impl Plays) -> View<'_> {
    View(Sight::of(client))
}

/// The commands that a client can give.
pub fn give<C: Plays>(client: &mut C) -> Commands<'_, C> {
    Commands(client)
}

/// What a client sees: nothing before it is welcomed.
#[derive(Clone, Copy)]
pub struct View<'a>(Sight<'a>);

impl<'a> View<'a> {
    /// The player's own entity, while it lives.
    pub fn own(&self) -> Option<Player<'a>> {
        self.0.own().and_then(bindings::typed)
    }

    /// An entity in view.
    pub fn entity(&self, id: EntityId) -> Option<Entity<'a>> {
        self.0.entity(id).map(Entity::of)
    }

    pub fn players(&self) -> Entities<'a, Player<'a>> {
        self.0.all()
    }
}

#[derive(Clone, Copy)]
pub struct Player<'a>(Seen<'a>);

impl<'a> Player<'a> {
}

impl<'a> Deref for Player<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Player<'a> {
    const NAME: &'static str = "player";

    fn of(seen: Seen<'a>) -> Player<'a> {
        Player(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

/// An entity in view, by its kind.
#[derive(Clone, Copy)]
pub enum Entity<'a> {
    Player(Player<'a>),
    /// Of a kind that these bindings don't have.
    Other(Seen<'a>),
}

impl<'a> Entity<'a> {
    fn of(seen: Seen<'a>) -> Entity<'a> {
        match seen.kind_name() {
            "player" => Entity::Player(Player(seen)),
            _ => Entity::Other(seen),
        }
    }
}

impl<'a> Deref for Entity<'a> {
    type Target = Seen<'a>;
    fn deref(&self) -> &Seen<'a> {
        match self {
            Entity::Player(entity) => &entity.0,
            Entity::Other(seen) => seen,
        }
    }
}

/// The commands that a client can give. Each gives its sequence number; one with texts goes out once
/// the server has these.
pub struct Commands<'a, C>(&'a mut C);

impl<C: Plays> Commands<'_, C> {
    /// In how many ticks of input a command can be used again, by its name; 0: now.
    pub fn ready_ticks(&self, command: &str) -> Result<u32, NamedError> {
        self.0.rests(command)
    }

    /// A step by an offset, each axis clamped to `SPEED_MAX`.
    pub fn move_(&mut self, x: f64, y: f64) -> Result<u32, NamedError> {
        self.0.give("move", &[x.into(), y.into()])
    }
}

/// The events of a client's `poll`.
pub fn events(client: &impl Plays, polled: Vec<ClientEvent>) -> Vec<Event> {
    bindings::events(client, polled, Event::of, Event::Other)
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An attribute of an entity has changed, in view or subscribed to.
    Changed { tick: Tick, entity: EntityId, change: Change },
    /// A notification of the world's scripts; `source` is the entity that caused it.
    Notified { tick: Tick, source: Option<EntityId>, what: Notification },
    /// Anything else.
    Other(ClientEvent),
}

impl Event {
    fn of(named: &NamedEvent, news: News<'_>) -> Option<Event> {
        let (tick, entity) = (named.tick, named.entity.filter(|id| *id != EntityId::NONE));
        Some(match news {
            News::Changed { .. } => {
                let (entity, change) = (entity?, Change::of(news)?);
                Event::Changed { tick, entity, change }
            }
            News::Notified { .. } => {
                let (source, what) = (entity, Notification::of(news)?);
                Event::Notified { tick, source, what }
            }
        })
    }
}

/// A change of an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
}

impl Change {
    fn of(news: News<'_>) -> Option<Change> {
        let News::Changed { name, old, new } = news else {
            return None;
        };
        Some(match name {
            _ => return None,
        })
    }
}

/// A notification of the world's scripts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notification {
}

impl Notification {
    fn of(news: News<'_>) -> Option<Notification> {
        let News::Notified { name, fields } = news else {
            return None;
        };
        Some(match (name, &fields[..]) {
            _ => return None,
        })
    }
}

/// A symbol of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
}

impl Symbols for Symbol {
    const ALL: &'static [Symbol] = &[];
    fn name(self) -> &'static str {
        match self {
        }
    }
}

impl From<Symbol> for Argument<'_> {
    fn from(symbol: Symbol) -> Self {
        Argument::Symbol(symbol.name())
    }
}
