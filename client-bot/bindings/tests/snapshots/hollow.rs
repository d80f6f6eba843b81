//! The world `hollow` as its clients know it. Written by `myriad bindings --lang rs`.

// A game uses what it needs.
#![allow(dead_code, unreachable_code, unused_imports, unused_variables, clippy::all)]

use std::ops::Deref;

use client_bot::bindings::{self, Argument, Entities, News, Plays, Seen, Sight, Symbols};
use client_bot::client_core::{Event as ClientEvent, GameOptions, GivenCommand, NamedEvent};
use client_bot::named::NamedError;
use client_bot::shared::{EntityId, Tick};

/// What these bindings need of a server's world.
pub const BINDINGS: &str = "\
bindings of hollow for rs, hash 8d475559e9953da6\n\
axes 2\n\
kind player\n\
attribute player.hp i32\n\
attribute player.shield i32\n\
attribute player.ready_at i32 private\n\
attribute player.side symbol\n\
attribute player.score i32\n\
attribute player.gold i32 private\n\
attribute player.herbs i32 private\n\
attribute player.buyer entity\n\
attribute player.bundle i32\n\
attribute player.price i32\n\
kind wolf\n\
attribute wolf.hp i32\n\
kind whelp\n\
attribute whelp.hp i32\n\
kind warden\n\
attribute warden.hp i32\n\
attribute warden.mood symbol\n\
kind herb\n\
attribute herb.ripe bool\n\
attribute herb.owner entity\n\
kind world\n\
attribute world.won.elm i32\n\
attribute world.won.oak i32\n\
attribute world.best.elm i32\n\
attribute world.best.oak i32\n\
command move(x: fixed, y: fixed)\n\
command strike(target: entity)\n\
command heal(target: entity)\n\
command pick(herb: entity)\n\
command raise()\n\
command offer(to: entity, herbs: i32, price: i32)\n\
command accept(seller: entity, most: i32)\n\
notification fall(kind: i32)\n\
notification bite(prey: entity)\n\
notification felled(by: entity)\n\
notification deal(buyer: entity, herbs: i32, price: i32)\n\
notification phase(mood: symbol)\n\
symbol angry\n\
symbol calm\n\
symbol elm\n\
symbol oak\n\
symbol raging\n\
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

    /// What the whole world shares.
    pub fn world(&self) -> Option<World<'a>> {
        self.0.world().map(World)
    }

    pub fn players(&self) -> Entities<'a, Player<'a>> {
        self.0.all()
    }

    pub fn wolves(&self) -> Entities<'a, Wolf<'a>> {
        self.0.all()
    }

    /// Wolves that the warden calls. They are not reborn.
    pub fn whelps(&self) -> Entities<'a, Whelp<'a>> {
        self.0.all()
    }

    pub fn wardens(&self) -> Entities<'a, Warden<'a>> {
        self.0.all()
    }

    pub fn herbs(&self) -> Entities<'a, Herb<'a>> {
        self.0.all()
    }
}

#[derive(Clone, Copy)]
pub struct Player<'a>(Seen<'a>);

impl<'a> Player<'a> {
    /// From 0 to 100.
    pub fn hp(&self) -> i32 {
        self.0.value("hp").whole()
    }

    /// What a shield still soaks. From 0 to 30.
    pub fn shield(&self) -> i32 {
        self.0.value("shield").whole()
    }

    /// The tick from which a shield can be raised again, and that until which no poison works.
    /// Only the entity's own client knows it.
    pub fn ready_at(&self) -> Option<i32> {
        self.0.is_own().then(|| self.0.value("ready_at").whole())
    }

    /// The team, and what the player has won for it in this life. One of `elm`, `oak`.
    pub fn side(&self) -> Option<Symbol> {
        self.0.value("side").symbol()
    }

    /// At least 0.
    pub fn score(&self) -> i32 {
        self.0.value("score").whole()
    }

    /// At least 0. Only the entity's own client knows it.
    pub fn gold(&self) -> Option<i32> {
        self.0.is_own().then(|| self.0.value("gold").whole())
    }

    /// At least 0. Only the entity's own client knows it.
    pub fn herbs(&self) -> Option<i32> {
        self.0.is_own().then(|| self.0.value("herbs").whole())
    }

    /// An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first
    /// counts, with all that it says.
    pub fn buyer(&self) -> Option<EntityId> {
        self.0.value("buyer").entity()
    }

    /// At least 0.
    pub fn bundle(&self) -> i32 {
        self.0.value("bundle").whole()
    }

    /// At least 0.
    pub fn price(&self) -> i32 {
        self.0.value("price").whole()
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

#[derive(Clone, Copy)]
pub struct Wolf<'a>(Seen<'a>);

impl<'a> Wolf<'a> {
    /// From 0 to 30.
    pub fn hp(&self) -> i32 {
        self.0.value("hp").whole()
    }
}

impl<'a> Deref for Wolf<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Wolf<'a> {
    const NAME: &'static str = "wolf";

    fn of(seen: Seen<'a>) -> Wolf<'a> {
        Wolf(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

/// Wolves that the warden calls. They are not reborn.
#[derive(Clone, Copy)]
pub struct Whelp<'a>(Seen<'a>);

impl<'a> Whelp<'a> {
    /// From 0 to 10.
    pub fn hp(&self) -> i32 {
        self.0.value("hp").whole()
    }
}

impl<'a> Deref for Whelp<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Whelp<'a> {
    const NAME: &'static str = "whelp";

    fn of(seen: Seen<'a>) -> Whelp<'a> {
        Whelp(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Warden<'a>(Seen<'a>);

impl<'a> Warden<'a> {
    /// From 0 to 300.
    pub fn hp(&self) -> i32 {
        self.0.value("hp").whole()
    }

    /// One of `angry`, `calm`, `raging`.
    pub fn mood(&self) -> Option<Symbol> {
        self.0.value("mood").symbol()
    }
}

impl<'a> Deref for Warden<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Warden<'a> {
    const NAME: &'static str = "warden";

    fn of(seen: Seen<'a>) -> Warden<'a> {
        Warden(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct Herb<'a>(Seen<'a>);

impl<'a> Herb<'a> {
    pub fn ripe(&self) -> bool {
        self.0.value("ripe").truth()
    }

    /// Who picks it.
    pub fn owner(&self) -> Option<EntityId> {
        self.0.value("owner").entity()
    }
}

impl<'a> Deref for Herb<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for Herb<'a> {
    const NAME: &'static str = "herb";

    fn of(seen: Seen<'a>) -> Herb<'a> {
        Herb(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

#[derive(Clone, Copy)]
pub struct World<'a>(Seen<'a>);

impl<'a> World<'a> {
    /// At least 0.
    pub fn won_elm(&self) -> i32 {
        self.0.value("won.elm").whole()
    }

    /// At least 0.
    pub fn won_oak(&self) -> i32 {
        self.0.value("won.oak").whole()
    }

    pub fn best_elm(&self) -> i32 {
        self.0.value("best.elm").whole()
    }

    pub fn best_oak(&self) -> i32 {
        self.0.value("best.oak").whole()
    }
}

impl<'a> Deref for World<'a> {
    type Target = Seen<'a>;

    fn deref(&self) -> &Seen<'a> {
        &self.0
    }
}

impl<'a> bindings::Kind<'a> for World<'a> {
    const NAME: &'static str = "world";

    fn of(seen: Seen<'a>) -> World<'a> {
        World(seen)
    }

    fn seen(&self) -> Seen<'a> {
        self.0
    }
}

/// An entity in view, by its kind.
#[derive(Clone, Copy)]
pub enum Entity<'a> {
    Player(Player<'a>),
    Wolf(Wolf<'a>),
    Whelp(Whelp<'a>),
    Warden(Warden<'a>),
    Herb(Herb<'a>),
    World(World<'a>),
    /// Of a kind that these bindings don't have.
    Other(Seen<'a>),
}

impl<'a> Entity<'a> {
    fn of(seen: Seen<'a>) -> Entity<'a> {
        match seen.kind_name() {
            "player" => Entity::Player(Player(seen)),
            "wolf" => Entity::Wolf(Wolf(seen)),
            "whelp" => Entity::Whelp(Whelp(seen)),
            "warden" => Entity::Warden(Warden(seen)),
            "herb" => Entity::Herb(Herb(seen)),
            "world" => Entity::World(World(seen)),
            _ => Entity::Other(seen),
        }
    }
}

impl<'a> Deref for Entity<'a> {
    type Target = Seen<'a>;
    fn deref(&self) -> &Seen<'a> {
        match self {
            Entity::Player(entity) => &entity.0,
            Entity::Wolf(entity) => &entity.0,
            Entity::Whelp(entity) => &entity.0,
            Entity::Warden(entity) => &entity.0,
            Entity::Herb(entity) => &entity.0,
            Entity::World(entity) => &entity.0,
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

    /// Strikes whatever has hit points and is not of one's own team.
    pub fn strike(&mut self, target: EntityId) -> Result<u32, NamedError> {
        self.0.give("strike", &[target.into()])
    }

    /// Eats a herb, or gives it to somebody in reach. What is on offer is not eaten.
    pub fn heal(&mut self, target: EntityId) -> Result<u32, NamedError> {
        self.0.give("heal", &[target.into()])
    }

    /// Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away here: the
    /// first of those who want it becomes its owner, and `grow` gives it to the owner.
    pub fn pick(&mut self, herb: EntityId) -> Result<u32, NamedError> {
        self.0.give("pick", &[herb.into()])
    }

    /// Raises the shield.
    pub fn raise(&mut self) -> Result<u32, NamedError> {
        self.0.give("raise", &[])
    }

    /// Offers herbs to another player.
    pub fn offer(&mut self, to: EntityId, herbs: i32, price: i32) -> Result<u32, NamedError> {
        self.0.give("offer", &[to.into(), herbs.into(), price.into()])
    }

    /// Takes an offer, for so much gold at most.
    pub fn accept(&mut self, seller: EntityId, most: i32) -> Result<u32, NamedError> {
        self.0.give("accept", &[seller.into(), most.into()])
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
    Hp { old: i32, new: i32 },
    Shield { old: i32, new: i32 },
    ReadyAt { old: i32, new: i32 },
    Side { old: Option<Symbol>, new: Option<Symbol> },
    Score { old: i32, new: i32 },
    Gold { old: i32, new: i32 },
    Herbs { old: i32, new: i32 },
    Buyer { old: Option<EntityId>, new: Option<EntityId> },
    Bundle { old: i32, new: i32 },
    Price { old: i32, new: i32 },
    Mood { old: Option<Symbol>, new: Option<Symbol> },
    Ripe { old: bool, new: bool },
    Owner { old: Option<EntityId>, new: Option<EntityId> },
    WonElm { old: i32, new: i32 },
    WonOak { old: i32, new: i32 },
    BestElm { old: i32, new: i32 },
    BestOak { old: i32, new: i32 },
}

impl Change {
    fn of(news: News<'_>) -> Option<Change> {
        let News::Changed { name, old, new } = news else {
            return None;
        };
        Some(match name {
            "hp" => Change::Hp { old: old.whole(), new: new.whole() },
            "shield" => Change::Shield { old: old.whole(), new: new.whole() },
            "ready_at" => Change::ReadyAt { old: old.whole(), new: new.whole() },
            "side" => Change::Side { old: old.symbol(), new: new.symbol() },
            "score" => Change::Score { old: old.whole(), new: new.whole() },
            "gold" => Change::Gold { old: old.whole(), new: new.whole() },
            "herbs" => Change::Herbs { old: old.whole(), new: new.whole() },
            "buyer" => Change::Buyer { old: old.entity(), new: new.entity() },
            "bundle" => Change::Bundle { old: old.whole(), new: new.whole() },
            "price" => Change::Price { old: old.whole(), new: new.whole() },
            "mood" => Change::Mood { old: old.symbol(), new: new.symbol() },
            "ripe" => Change::Ripe { old: old.truth(), new: new.truth() },
            "owner" => Change::Owner { old: old.entity(), new: new.entity() },
            "won.elm" => Change::WonElm { old: old.whole(), new: new.whole() },
            "won.oak" => Change::WonOak { old: old.whole(), new: new.whole() },
            "best.elm" => Change::BestElm { old: old.whole(), new: new.whole() },
            "best.oak" => Change::BestOak { old: old.whole(), new: new.whole() },
            _ => return None,
        })
    }
}

/// A notification of the world's scripts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Notification {
    Fall { kind: i32 },
    Bite { prey: Option<EntityId> },
    Felled { by: Option<EntityId> },
    Deal { buyer: Option<EntityId>, herbs: i32, price: i32 },
    Phase { mood: Option<Symbol> },
}

impl Notification {
    fn of(news: News<'_>) -> Option<Notification> {
        let News::Notified { name, fields } = news else {
            return None;
        };
        Some(match (name, &fields[..]) {
            ("fall", [kind, ..]) => Notification::Fall { kind: kind.whole() },
            ("bite", [prey, ..]) => Notification::Bite { prey: prey.entity() },
            ("felled", [by, ..]) => Notification::Felled { by: by.entity() },
            ("deal", [buyer, herbs, price, ..]) => Notification::Deal { buyer: buyer.entity(), herbs: herbs.whole(), price: price.whole() },
            ("phase", [mood, ..]) => Notification::Phase { mood: mood.symbol() },
            _ => return None,
        })
    }
}

/// A symbol of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Symbol {
    Angry,
    Calm,
    Elm,
    Oak,
    Raging,
}

impl Symbols for Symbol {
    const ALL: &'static [Symbol] = &[Symbol::Angry, Symbol::Calm, Symbol::Elm, Symbol::Oak, Symbol::Raging];
    fn name(self) -> &'static str {
        match self {
            Symbol::Angry => "angry",
            Symbol::Calm => "calm",
            Symbol::Elm => "elm",
            Symbol::Oak => "oak",
            Symbol::Raging => "raging",
        }
    }
}

impl From<Symbol> for Argument<'_> {
    fn from(symbol: Symbol) -> Self {
        Argument::Symbol(symbol.name())
    }
}
