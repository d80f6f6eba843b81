//! What the bindings of a world in Rust stand on: `myriad bindings --lang rs` writes them.

use std::collections::hash_map;
use std::marker::PhantomData;

use client_core::{Entity, EventType, Game, GivenCommand, NamedEvent, View};
use shared::world::attribute::joined;
use shared::{AttributeValue, EntityId, Fixed};

use crate::GameClient;
use crate::named::{self, NamedArgument, NamedError};

/// A client that bindings can be used with.
pub trait Plays {
    /// The state behind the client.
    fn game(&self) -> &Game;

    /// Queues a command by its name, with its numbers.
    fn give_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError>;

    /// The same with texts among the arguments.
    fn give_named_with(
        &mut self,
        name: &str,
        arguments: &[NamedArgument<'_>],
    ) -> Result<GivenCommand, NamedError>;

    /// In how many ticks of input a command can be used again.
    fn rests(&self, name: &str) -> Result<u32, NamedError>;

    /// Queues a command by its name, with its arguments.
    fn give(&mut self, name: &str, arguments: &[Argument<'_>]) -> Result<u32, NamedError> {
        let numbers = arguments
            .iter()
            .map(|argument| argument.number(self.game()));
        let numbers = numbers.collect::<Result<Vec<f64>, _>>()?;
        self.give_named(name, &numbers)
    }

    /// The same with texts among the arguments: it goes out once the server has these.
    fn give_with(
        &mut self,
        name: &str,
        arguments: &[Argument<'_>],
    ) -> Result<GivenCommand, NamedError> {
        let arguments = arguments.iter().map(|argument| match argument {
            Argument::Text(text) => Ok(NamedArgument::Text(text)),
            other => other.number(self.game()).map(NamedArgument::Number),
        });
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        self.give_named_with(name, &arguments)
    }
}

impl Plays for GameClient {
    fn game(&self) -> &Game {
        GameClient::game(self)
    }

    fn give_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        self.command_named(name, numbers)
    }

    fn give_named_with(
        &mut self,
        name: &str,
        arguments: &[NamedArgument<'_>],
    ) -> Result<GivenCommand, NamedError> {
        self.command_named_with(name, arguments)
    }

    fn rests(&self, name: &str) -> Result<u32, NamedError> {
        self.ready_ticks_named(name)
    }
}

#[cfg(feature = "tokio")]
impl Plays for crate::Client {
    fn game(&self) -> &Game {
        crate::Client::game(self)
    }

    fn give_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        self.command_named(name, numbers)
    }

    fn give_named_with(
        &mut self,
        name: &str,
        arguments: &[NamedArgument<'_>],
    ) -> Result<GivenCommand, NamedError> {
        self.command_named_with(name, arguments)
    }

    fn rests(&self, name: &str) -> Result<u32, NamedError> {
        self.ready_ticks_named(name)
    }
}

/// An argument of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'t> {
    /// In units, or an entity's reference.
    Number(f64),
    /// The name of a symbol.
    Symbol(&'static str),
    /// Of a command that takes texts.
    Text(&'t str),
}

impl Argument<'_> {
    /// As commands without texts take it; there is no number of a text.
    fn number(&self, game: &Game) -> Result<f64, NamedError> {
        match *self {
            Argument::Number(number) => Ok(number),
            Argument::Symbol(symbol) => {
                let view = game.view().ok_or(NamedError::NotInWorld)?;
                named::symbol(view, symbol).ok_or_else(|| NamedError::Unknown {
                    what: "symbol",
                    name: symbol.to_owned(),
                    nearest: None,
                })
            }
            Argument::Text(text) => Err(NamedError::NoText(text.to_owned())),
        }
    }
}

impl From<i32> for Argument<'_> {
    fn from(number: i32) -> Self {
        Argument::Number(number.into())
    }
}

impl From<f64> for Argument<'_> {
    fn from(number: f64) -> Self {
        Argument::Number(number)
    }
}

impl From<bool> for Argument<'_> {
    fn from(truth: bool) -> Self {
        Argument::Number(f64::from(u8::from(truth)))
    }
}

impl From<EntityId> for Argument<'_> {
    fn from(entity: EntityId) -> Self {
        Argument::Number(named::reference(entity))
    }
}

impl<'t> From<&'t str> for Argument<'t> {
    fn from(text: &'t str) -> Self {
        Argument::Text(text)
    }
}

/// The symbols of a world, as bindings have them.
pub trait Symbols: Copy + 'static {
    /// All of them, in the order of their numbers.
    const ALL: &'static [Self];

    /// Its name in the world.
    fn name(self) -> &'static str;
}

/// A value, in the view that it was received in.
#[derive(Clone, Copy)]
pub struct Value<'a> {
    view: &'a View,
    value: AttributeValue,
}

impl<'a> Value<'a> {
    /// Of an integer.
    pub fn whole(self) -> i32 {
        self.value.raw()
    }

    /// Of an integer of 64 bits.
    pub fn long(self) -> i64 {
        let (low, high) = self.value.words();
        high.map_or(low.into(), |high| joined([low, high]))
    }

    /// In units.
    pub fn fraction(self) -> f64 {
        self.value.number()
    }

    /// Of a truth value.
    pub fn truth(self) -> bool {
        self.value.raw() != 0
    }

    /// `None`: no entity, or one that is not in view.
    pub fn entity(self) -> Option<EntityId> {
        named::referenced(self.view, self.value.number())
    }

    /// Of a text; `None` until it has been received, and for one that the world has no more.
    pub fn text(self) -> Option<&'a str> {
        match self.value {
            AttributeValue::Text(handle) => self.view.text(handle),
            _ => None,
        }
    }

    /// `None`: one that the bindings don't have.
    pub fn symbol<S: Symbols>(self) -> Option<S> {
        let number = usize::try_from(self.value.raw()).ok()?;
        let name = self.view.schema().symbols.get(number)?;
        S::ALL.iter().copied().find(|symbol| symbol.name() == name)
    }
}

/// An entity in view.
#[derive(Clone, Copy)]
pub struct Seen<'a> {
    game: &'a Game,
    view: &'a View,
    entity: &'a Entity,
}

impl<'a> Seen<'a> {
    /// Its identity, which no later entity has.
    pub fn id(&self) -> EntityId {
        self.entity.id
    }

    /// Whether it is the client's own, or a thing that this holds, also in other things.
    pub fn is_own(&self) -> bool {
        self.view.is_own(self.entity)
    }

    /// The things of a kind that it holds itself, as far as the client sees them, by slot.
    pub fn held<K: Kind<'a>>(&self) -> impl Iterator<Item = K> + use<'a, K> {
        let (game, view) = (self.game, self.view);
        let held = view.held_by(self.entity.id);
        held.filter_map(move |entity| typed(Seen { game, view, entity }))
    }

    /// The name of its player, if it has one with a name.
    pub fn player_name(&self) -> Option<&'a str> {
        self.view.name(self.entity.id).map(|name| &**name)
    }

    /// Where it is shown, in units; 0 on axes that the world lacks.
    pub fn position(&self) -> [f64; 3] {
        let shown = self.game.position(self.entity.id);
        shown.unwrap_or_else(|| {
            let raw = self.view.position(self.entity, self.view.newest());
            raw.map(|raw| Fixed::from_raw(raw).to_f64())
        })
    }

    /// Its distance from a point, in units.
    pub fn distance<const N: usize>(&self, point: [f64; N]) -> f64 {
        let offsets = self.position().into_iter().zip(point).map(|(a, b)| a - b);
        offsets.map(|offset| offset * offset).sum::<f64>().sqrt()
    }

    /// The name of its kind.
    pub fn kind_name(&self) -> &'a str {
        named::kind_name(self.view, self.entity.kind).unwrap_or_default()
    }

    /// The newest value of an attribute; 0 if the world has none of this name, which bindings
    /// that were checked never ask for.
    pub fn value(&self, attribute: &str) -> Value<'a> {
        let schema = self.view.schema();
        let column = schema.column(attribute);
        let value = column.map(|column| {
            AttributeValue::in_row(schema.attributes[column].ty, &self.entity.row, column)
        });
        Value {
            view: self.view,
            value: value.unwrap_or(AttributeValue::I32(0)),
        }
    }
}

/// The entities of a kind, as bindings have them.
pub trait Kind<'a>: Sized {
    /// The kind's name in the world.
    const NAME: &'static str;

    /// An entity of the kind.
    fn of(seen: Seen<'a>) -> Self;

    /// The entity, whatever its kind.
    fn seen(&self) -> Seen<'a>;
}

/// An entity as one of a kind, if it is of that.
pub fn typed<'a, K: Kind<'a>>(seen: Seen<'a>) -> Option<K> {
    (seen.kind_name() == K::NAME).then(|| K::of(seen))
}

/// What a client sees.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// `None` before the first welcome.
    seen: Option<(&'a Game, &'a View)>,
}

impl<'a> Sight<'a> {
    /// What a client sees now.
    pub fn of(client: &'a impl Plays) -> Sight<'a> {
        let game = client.game();
        Sight {
            seen: game.view().map(|view| (game, view)),
        }
    }

    /// The client's own entity, while it lives.
    pub fn own(&self) -> Option<Seen<'a>> {
        let (game, view) = self.seen?;
        let entity = view.own()?;
        Some(Seen { game, view, entity })
    }

    /// An entity in view.
    pub fn entity(&self, id: EntityId) -> Option<Seen<'a>> {
        let (game, view) = self.seen?;
        let entity = view.get(id.slot).filter(|entity| entity.id == id)?;
        Some(Seen { game, view, entity })
    }

    /// What the whole world shares.
    pub fn world(&self) -> Option<Seen<'a>> {
        let (game, view) = self.seen?;
        let entity = view.world()?;
        Some(Seen { game, view, entity })
    }

    /// All entities of a kind in view, in no particular order, or all things of one.
    pub fn all<K: Kind<'a>>(&self) -> Entities<'a, K> {
        let seen = self.seen.and_then(|(game, view)| {
            let kind = u16::try_from(view.schema().kind(K::NAME)?).ok()?;
            let all = match view.schema().is_thing(kind) {
                true => view.things(),
                false => view.entities(),
            };
            Some((game, view, kind, all.values()))
        });
        Entities {
            seen,
            kind: PhantomData,
        }
    }
}

/// The entities of a kind in view.
pub struct Entities<'a, K> {
    seen: Option<(&'a Game, &'a View, u16, hash_map::Values<'a, u32, Entity>)>,
    kind: PhantomData<K>,
}

impl<'a, K: Kind<'a>> Iterator for Entities<'a, K> {
    type Item = K;

    fn next(&mut self) -> Option<K> {
        let (game, view, kind, entities) = self.seen.as_mut()?;
        let entity = entities.find(|entity| entity.kind == *kind)?;
        Some(K::of(Seen { game, view, entity }))
    }
}

impl<'a, K: Kind<'a>> Entities<'a, K> {
    /// Those that are shown at most so far from a point, in units.
    pub fn within<const N: usize>(
        self,
        point: [f64; N],
        radius: f64,
    ) -> impl Iterator<Item = K> + use<'a, K, N> {
        self.filter(move |entity| entity.seen().distance(point) <= radius)
    }

    /// The one that is shown nearest to a point.
    pub fn nearest<const N: usize>(self, point: [f64; N]) -> Option<K> {
        let distance = |entity: &K| entity.seen().distance(point);
        self.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// A change of an attribute, or a notification, by its names.
pub enum News<'a> {
    /// A change of an attribute.
    Changed {
        /// The attribute's name.
        name: &'a str,
        /// What it was.
        old: Value<'a>,
        /// What it is.
        new: Value<'a>,
    },
    /// A notification.
    Notified {
        /// The notification's name.
        name: &'a str,
        /// Its fields, in order.
        fields: Vec<Value<'a>>,
    },
}

/// Events as bindings have them: `read` makes those of changes and notifications, and `other` all
/// others.
pub fn events<E>(
    client: &impl Plays,
    polled: Vec<client_core::Event>,
    read: impl Fn(&NamedEvent, News<'_>) -> Option<E>,
    other: impl Fn(client_core::Event) -> E,
) -> Vec<E> {
    let view = client.game().view();
    let mut events = vec![];
    for event in polled {
        let mut is_known = true;
        NamedEvent::each(&event, view, |named| {
            let news = view.and_then(|view| news(view, &named));
            let news = news.and_then(|news| read(&named, news));
            is_known &= news.is_some();
            events.extend(news);
        });
        if !is_known {
            events.push(other(event));
        }
    }
    events
}

fn news<'a>(view: &'a View, event: &'a NamedEvent) -> Option<News<'a>> {
    let value = |value| Value { view, value };
    let name = event.name.as_deref()?;
    match (event.what, event.change) {
        (EventType::Changed | EventType::NoticedChange, Some((old, new))) => Some(News::Changed {
            name,
            old: value(old),
            new: value(new),
        }),
        (EventType::Notified, _) => Some(News::Notified {
            name,
            fields: event
                .fields
                .iter()
                .map(|field| value(field.value))
                .collect(),
        }),
        _ => None,
    }
}
