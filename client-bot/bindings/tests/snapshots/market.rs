//! The world `market` as its clients know it. Written by `myriad bindings --lang rs`.

// A game uses what it needs.
#![allow(dead_code, unreachable_code, unused_imports, unused_variables, clippy::all)]

use std::ops::Deref;

use client_bot::bindings::{self, Argument, Entities, News, Plays, Seen, Sight, Symbols};
use client_bot::client_core::{Event as ClientEvent, GameOptions, GivenCommand, NamedEvent};
use client_bot::named::NamedError;
use client_bot::shared::{EntityId, Tick};

/// What these bindings need of a server's world.
pub const BINDINGS: &str = "\
bindings of market for rs, hash 82c2a7e5af27ead3\n\
axes 2\n\
kind player\n\
attribute player.gold i32 private\n\
attribute player.hand entity\n\
attribute player.looks_into entity private\n\
kind stall\n\
attribute stall.lot entity\n\
attribute stall.seller entity\n\
attribute stall.bidder entity\n\
attribute stall.bid i32\n\
attribute stall.ends_at i32\n\
kind bag\n\
attribute bag.room i32\n\
attribute bag.holder entity\n\
kind sword\n\
attribute sword.holder entity\n\
kind letter\n\
attribute letter.holder entity\n\
attribute letter.words text\n\
command move(x: fixed, y: fixed)\n\
command offer(stall: entity, it: entity)\n\
command bid(stall: entity, gold: i32)\n\
command look(stall: entity)\n\
command wield(it: entity)\n\
command take_paper()\n\
command write(letter: entity, words: text)\n\
command hand_over(to: entity, it: entity)\n\
command put(bag: entity, it: entity)\n\
command take_out(bag: entity, it: entity)\n\
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

    /// A stall holds what it offers, and the gold of the one who bids most.
    pub fn stalls(&self) -> Entities<'a, Stall<'a>> {
        self.0.all()
    }

    pub fn bags(&self) -> Entities<'a, Bag<'a>> {
        self.0.all()
    }

    pub fn swords(&self) -> Entities<'a, Sword<'a>> {
        self.0.all()
    }

    pub fn letters(&self) -> Entities<'a, Letter<'a>> {
        self.0.all()
    }
}

#[derive(Clone, Copy)]
pub struct Player<'a>(Seen<'a>);

impl<'a> Player<'a> {
    /// At least 0. Only the entity's own client knows it.
    pub fn gold(&self) -> Option<i32> {
        self.0.is_own().then(|| self.0.value("gold").whole())
    }

    /// One of the things that it holds.
    pub fn hand(&self) -> Option<EntityId> {
        self.0.value("hand").entity()
    }

    /// Into which stall it looks. Only the entity's own client knows it.
    pub fn looks_into(&self) -> Option<EntityId> {
        self.0.is_own().then(|| self.0.value("looks_into").entity()).flatten()
    }
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

/// A stall holds what it offers, and the gold of the one who bids most.
#[derive(Clone, Copy)]
pub struct Stall<'a>(Seen<'a>);

impl<'a> Stall<'a> {
    pub fn lot(&self) -> Option<EntityId> {
        self.0.value("lot").entity()
    }

    pub fn seller(&self) -> Option<EntityId> {
        self.0.value("seller").entity()
    }

    pub fn bidder(&self) -> Option<EntityId> {
        self.0.value("bidder").entity()
    }

    /// At least 0.
    pub fn bid(&self) -> i32 {
        self.0.value("bid").whole()
    }

    pub fn ends_at(&self) -> i32 {
        self.0.value("ends_at").whole()
    }
}

impl<'a> Deref for Stall<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Stall<'a> {
    const NAME: &'static str = "stall";

    fn of(seen: Seen<'a>) -> Stall<'a> {
        Stall(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Bag<'a>(Seen<'a>);

impl<'a> Bag<'a> {
    /// How many more things fit. From 0 to 3.
    pub fn room(&self) -> i32 {
        self.0.value("room").whole()
    }

    pub fn holder(&self) -> Option<EntityId> {
        self.0.value("holder").entity()
    }
}

impl<'a> Deref for Bag<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Bag<'a> {
    const NAME: &'static str = "bag";

    fn of(seen: Seen<'a>) -> Bag<'a> {
        Bag(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Sword<'a>(Seen<'a>);

impl<'a> Sword<'a> {
    pub fn holder(&self) -> Option<EntityId> {
        self.0.value("holder").entity()
    }
}

impl<'a> Deref for Sword<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Sword<'a> {
    const NAME: &'static str = "sword";

    fn of(seen: Seen<'a>) -> Sword<'a> {
        Sword(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Letter<'a>(Seen<'a>);

impl<'a> Letter<'a> {
    pub fn holder(&self) -> Option<EntityId> {
        self.0.value("holder").entity()
    }

    /// At most 120 bytes.
    pub fn words(&self) -> Option<&'a str> {
        self.0.value("words").text()
    }
}

impl<'a> Deref for Letter<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Letter<'a> {
    const NAME: &'static str = "letter";

    fn of(seen: Seen<'a>) -> Letter<'a> {
        Letter(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

/// An entity in view, by its kind.
#[derive(Clone, Copy)]
pub enum Entity<'a> {
    Player(Player<'a>),
    Stall(Stall<'a>),
    Bag(Bag<'a>),
    Sword(Sword<'a>),
    Letter(Letter<'a>),
    /// Of a kind that these bindings don't have.
    Other(Seen<'a>),
}

impl<'a> Entity<'a> {
    fn of(seen: Seen<'a>) -> Entity<'a> {
        match seen.kind_name() {
            "player" => Entity::Player(Player(seen)),
            "stall" => Entity::Stall(Stall(seen)),
            "bag" => Entity::Bag(Bag(seen)),
            "sword" => Entity::Sword(Sword(seen)),
            "letter" => Entity::Letter(Letter(seen)),
            _ => Entity::Other(seen),
        }
    }
}

impl<'a> Deref for Entity<'a> {
    type Target = Seen<'a>;
    fn deref(&self) -> &Seen<'a> {
        match self {
            Entity::Player(entity) => &entity.0,
            Entity::Stall(entity) => &entity.0,
            Entity::Bag(entity) => &entity.0,
            Entity::Sword(entity) => &entity.0,
            Entity::Letter(entity) => &entity.0,
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

    /// Offers a thing. Its bidder pays at least one piece of gold.
    pub fn offer(&mut self, stall: EntityId, it: EntityId) -> Result<u32, NamedError> {
        self.0.give("offer", &[stall.into(), it.into()])
    }

    /// Bids more than the one before, who has the gold back. The stall keeps it until the end.
    pub fn bid(&mut self, stall: EntityId, gold: i32) -> Result<u32, NamedError> {
        self.0.give("bid", &[stall.into(), gold.into()])
    }

    /// Looks into a stall, or away from all.
    pub fn look(&mut self, stall: EntityId) -> Result<u32, NamedError> {
        self.0.give("look", &[stall.into()])
    }

    /// Takes a sword in hand; the same one again puts it away.
    pub fn wield(&mut self, it: EntityId) -> Result<u32, NamedError> {
        self.0.give("wield", &[it.into()])
    }

    /// Takes a sheet of paper, of which one has at most five.
    pub fn take_paper(&mut self) -> Result<u32, NamedError> {
        self.0.give("take_paper", &[])
    }

    /// Writes a letter, once.
    pub fn write(&mut self, letter: EntityId, words: &str) -> Result<GivenCommand, NamedError> {
        self.0.give_with("write", &[letter.into(), words.into()])
    }

    /// Gives a thing to another player.
    pub fn hand_over(&mut self, to: EntityId, it: EntityId) -> Result<u32, NamedError> {
        self.0.give("hand_over", &[to.into(), it.into()])
    }

    /// Puts a thing into a bag, if one more fits, whoever else puts in something at the same time.
    pub fn put(&mut self, bag: EntityId, it: EntityId) -> Result<u32, NamedError> {
        self.0.give("put", &[bag.into(), it.into()])
    }

    pub fn take_out(&mut self, bag: EntityId, it: EntityId) -> Result<u32, NamedError> {
        self.0.give("take_out", &[bag.into(), it.into()])
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
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Gold { old: i32, new: i32 },
    Hand { old: Option<EntityId>, new: Option<EntityId> },
    LooksInto { old: Option<EntityId>, new: Option<EntityId> },
    Lot { old: Option<EntityId>, new: Option<EntityId> },
    Seller { old: Option<EntityId>, new: Option<EntityId> },
    Bidder { old: Option<EntityId>, new: Option<EntityId> },
    Bid { old: i32, new: i32 },
    EndsAt { old: i32, new: i32 },
    Room { old: i32, new: i32 },
    Holder { old: Option<EntityId>, new: Option<EntityId> },
    Words { old: Option<String>, new: Option<String> },
}

impl Change {
    fn of(news: News<'_>) -> Option<Change> {
        let News::Changed { name, old, new } = news else {
            return None;
        };
        Some(match name {
            "gold" => Change::Gold { old: old.whole(), new: new.whole() },
            "hand" => Change::Hand { old: old.entity(), new: new.entity() },
            "looks_into" => Change::LooksInto { old: old.entity(), new: new.entity() },
            "lot" => Change::Lot { old: old.entity(), new: new.entity() },
            "seller" => Change::Seller { old: old.entity(), new: new.entity() },
            "bidder" => Change::Bidder { old: old.entity(), new: new.entity() },
            "bid" => Change::Bid { old: old.whole(), new: new.whole() },
            "ends_at" => Change::EndsAt { old: old.whole(), new: new.whole() },
            "room" => Change::Room { old: old.whole(), new: new.whole() },
            "holder" => Change::Holder { old: old.entity(), new: new.entity() },
            "words" => Change::Words { old: old.text().map(str::to_owned), new: new.text().map(str::to_owned) },
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
