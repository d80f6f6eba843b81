"""The world `hollow` as its clients know it. Written by `myriad bindings --lang py`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from myriad import Client
from myriad.bindings import Entities, Seen, changed, column_of, symbol_of, value, word

# What these bindings need of a server's world, for `connect`.
BINDINGS = (
    "bindings of hollow for py, hash 8d475559e9953da6\n"
    "axes 2\n"
    "kind player\n"
    "attribute player.hp i32\n"
    "attribute player.shield i32\n"
    "attribute player.ready_at i32 private\n"
    "attribute player.side symbol\n"
    "attribute player.score i32\n"
    "attribute player.gold i32 private\n"
    "attribute player.herbs i32 private\n"
    "attribute player.buyer entity\n"
    "attribute player.bundle i32\n"
    "attribute player.price i32\n"
    "kind wolf\n"
    "attribute wolf.hp i32\n"
    "kind whelp\n"
    "attribute whelp.hp i32\n"
    "kind warden\n"
    "attribute warden.hp i32\n"
    "attribute warden.mood symbol\n"
    "kind herb\n"
    "attribute herb.ripe bool\n"
    "attribute herb.owner entity\n"
    "kind world\n"
    "attribute world.won.elm i32\n"
    "attribute world.won.oak i32\n"
    "attribute world.best.elm i32\n"
    "attribute world.best.oak i32\n"
    "command move(x: fixed, y: fixed)\n"
    "command strike(target: entity)\n"
    "command heal(target: entity)\n"
    "command pick(herb: entity)\n"
    "command raise()\n"
    "command offer(to: entity, herbs: i32, price: i32)\n"
    "command accept(seller: entity, most: i32)\n"
    "notification fall(kind: i32)\n"
    "notification bite(prey: entity)\n"
    "notification felled(by: entity)\n"
    "notification deal(buyer: entity, herbs: i32, price: i32)\n"
    "notification phase(mood: symbol)\n"
    "symbol angry\n"
    "symbol calm\n"
    "symbol elm\n"
    "symbol oak\n"
    "symbol raging\n"
)


class Symbol(Enum):
    """A symbol of the world."""

    ANGRY = "angry"
    CALM = "calm"
    ELM = "elm"
    OAK = "oak"
    RAGING = "raging"


class Player(Seen):
    """An entity of the kind `player`."""

    NAME = "player"

    @property
    def hp(self) -> int:
        """From 0 to 100."""
        return self._whole("hp")

    @property
    def shield(self) -> int:
        """What a shield still soaks. From 0 to 30."""
        return self._whole("shield")

    @property
    def ready_at(self) -> int | None:
        """The tick from which a shield can be raised again, and that until which no poison
        works. Only the entity's own client knows it."""
        return self._whole("ready_at") if self.is_own else None

    @property
    def side(self) -> Symbol | None:
        """The team, and what the player has won for it in this life. One of `elm`, `oak`."""
        return symbol_of(self._symbol("side"), Symbol)

    @property
    def score(self) -> int:
        """At least 0."""
        return self._whole("score")

    @property
    def gold(self) -> int | None:
        """At least 0. Only the entity's own client knows it."""
        return self._whole("gold") if self.is_own else None

    @property
    def herbs(self) -> int | None:
        """At least 0. Only the entity's own client knows it."""
        return self._whole("herbs") if self.is_own else None

    @property
    def buyer(self) -> Seen | None:
        """An offer: to whom, how many herbs, for how much gold. Of several in a tick, the first
        counts, with all that it says."""
        return self._entity("buyer")

    @property
    def bundle(self) -> int:
        """At least 0."""
        return self._whole("bundle")

    @property
    def price(self) -> int:
        """At least 0."""
        return self._whole("price")


class Wolf(Seen):
    """An entity of the kind `wolf`."""

    NAME = "wolf"

    @property
    def hp(self) -> int:
        """From 0 to 30."""
        return self._whole("hp")


class Whelp(Seen):
    """Wolves that the warden calls. They are not reborn."""

    NAME = "whelp"

    @property
    def hp(self) -> int:
        """From 0 to 10."""
        return self._whole("hp")


class Warden(Seen):
    """An entity of the kind `warden`."""

    NAME = "warden"

    @property
    def hp(self) -> int:
        """From 0 to 300."""
        return self._whole("hp")

    @property
    def mood(self) -> Symbol | None:
        """One of `angry`, `calm`, `raging`."""
        return symbol_of(self._symbol("mood"), Symbol)


class Herb(Seen):
    """An entity of the kind `herb`."""

    NAME = "herb"

    @property
    def ripe(self) -> bool:
        return self._whole("ripe") != 0

    @property
    def owner(self) -> Seen | None:
        """Who picks it."""
        return self._entity("owner")


class World_(Seen):
    """An entity of the kind `world`."""

    NAME = "world"

    @property
    def won_elm(self) -> int:
        """At least 0."""
        return self._whole("won.elm")

    @property
    def won_oak(self) -> int:
        """At least 0."""
        return self._whole("won.oak")

    @property
    def best_elm(self) -> int:
        return self._whole("best.elm")

    @property
    def best_oak(self) -> int:
        return self._whole("best.oak")


@dataclass(frozen=True)
class HpChanged:
    """The attribute `hp` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class ShieldChanged:
    """The attribute `shield` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class ReadyAtChanged:
    """The attribute `ready_at` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class SideChanged:
    """The attribute `side` of an entity in view has changed."""

    entity: Seen
    old: Symbol | None
    new: Symbol | None


@dataclass(frozen=True)
class ScoreChanged:
    """The attribute `score` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class GoldChanged:
    """The attribute `gold` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class HerbsChanged:
    """The attribute `herbs` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class BuyerChanged:
    """The attribute `buyer` of an entity in view has changed."""

    entity: Seen
    old: Seen | None
    new: Seen | None


@dataclass(frozen=True)
class BundleChanged:
    """The attribute `bundle` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class PriceChanged:
    """The attribute `price` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class MoodChanged:
    """The attribute `mood` of an entity in view has changed."""

    entity: Seen
    old: Symbol | None
    new: Symbol | None


@dataclass(frozen=True)
class RipeChanged:
    """The attribute `ripe` of an entity in view has changed."""

    entity: Seen
    old: bool
    new: bool


@dataclass(frozen=True)
class OwnerChanged:
    """The attribute `owner` of an entity in view has changed."""

    entity: Seen
    old: Seen | None
    new: Seen | None


@dataclass(frozen=True)
class WonElmChanged:
    """The attribute `won.elm` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class WonOakChanged:
    """The attribute `won.oak` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class BestElmChanged:
    """The attribute `best.elm` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class BestOakChanged:
    """The attribute `best.oak` of an entity in view has changed."""

    entity: Seen
    old: int
    new: int


@dataclass(frozen=True)
class FallNotified:
    """The notification `fall` of the world's scripts; `source` is the entity that caused it."""

    source: Seen | None
    kind: int


@dataclass(frozen=True)
class BiteNotified:
    """The notification `bite` of the world's scripts; `source` is the entity that caused it."""

    source: Seen | None
    prey: Seen | None


@dataclass(frozen=True)
class FelledNotified:
    """The notification `felled` of the world's scripts; `source` is the entity that caused it."""

    source: Seen | None
    by: Seen | None


@dataclass(frozen=True)
class DealNotified:
    """The notification `deal` of the world's scripts; `source` is the entity that caused it."""

    source: Seen | None
    buyer: Seen | None
    herbs: int
    price: int


@dataclass(frozen=True)
class PhaseNotified:
    """The notification `phase` of the world's scripts; `source` is the entity that caused it."""

    source: Seen | None
    mood: Symbol | None


# By name.
KINDS: dict[str, type[Seen]] = {each.NAME: each for each in (Player, Wolf, Whelp, Warden, Herb, World_,)}
CHANGES: dict[str, Any] = {
"hp": HpChanged, "shield": ShieldChanged, "ready_at": ReadyAtChanged, "side": SideChanged, "score": ScoreChanged, "gold": GoldChanged, "herbs": HerbsChanged, "buyer": BuyerChanged, "bundle": BundleChanged, "price": PriceChanged, "mood": MoodChanged, "ripe": RipeChanged, "owner": OwnerChanged, "won.elm": WonElmChanged, "won.oak": WonOakChanged, "best.elm": BestElmChanged, "best.oak": BestOakChanged}
NOTIFICATIONS: dict[str, Any] = {
"fall": FallNotified, "bite": BiteNotified, "felled": FelledNotified, "deal": DealNotified, "phase": PhaseNotified}


class World:
    """A client's world: what it sees, the commands that it can give, and what has happened."""

    def __init__(self, client: Client) -> None:
        self.client, self.give = client, Give(client)

    @property
    def own(self) -> Player | None:
        """The player's own entity, while it is in view."""
        return next((one for one in Entities(self.client.view, Player) if one.is_own), None)

    def entity(self, seen: Seen) -> Any:
        """An entity in view as one of its kind."""
        view = self.client.view
        found = view.found(seen.slot)
        kind = view.world.schema["kinds"][found.kind]["name"] if found else ""
        return KINDS.get(kind, Seen)(view, seen.slot, seen.generation, found.values if found else {})

    def events(self) -> list[Any]:
        """What has happened since the last call: changes and notifications by their classes, and
        all other messages as (name, content)."""
        messages, self.client.messages = self.client.messages, []
        return [event for message in messages for event in self._events(*message)]

    def _events(self, name: str, content: dict[str, Any]) -> list[Any]:
        view = self.client.view
        schema = view.world.schema
        if name == "state" and "old" in content:
            found = view.found(content["slot"])
            entity = self.entity(Seen(view, content["slot"], found.generation if found else 0, {}))
            return [CHANGES[own["name"]](entity, value(view, own["ty"], old, Symbol),
                                         value(view, own["ty"], new, Symbol))
                    for own, old, new in changed(view, content)
                    if own["name"] in CHANGES and old != new]
        if name == "notification":
            of = next(each for each in schema["notifications"] if each["kind"] == content["kind"])
            if of["name"] in NOTIFICATIONS:
                by = content["source"]
                source = Seen(view, by["slot"], by["generation"], {}) if by else None
                words = zip(of["fields"], content["words"])
                values = [value(view, field["ty"], raw, Symbol) for field, raw in words]
                return [NOTIFICATIONS[of["name"]](source and self.entity(source), *values)]
        return [(name, content)]

    @property
    def shared(self) -> World_:
        """What the whole world shares."""
        view = self.client.view
        return World_(view, view.shared_slot, 1, view.shared)

    def players(self) -> Entities[Player]:
        return Entities(self.client.view, Player)

    def wolves(self) -> Entities[Wolf]:
        return Entities(self.client.view, Wolf)

    def whelps(self) -> Entities[Whelp]:
        return Entities(self.client.view, Whelp)

    def wardens(self) -> Entities[Warden]:
        return Entities(self.client.view, Warden)

    def herbs(self) -> Entities[Herb]:
        return Entities(self.client.view, Herb)


class Give:
    """The commands that the client can give. Each gives its sequence number."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def _give(self, name: str, *arguments: Any) -> int:
        view = self._client.view
        return self._client.command(name, *(word(view, argument) for argument in arguments))

    def move(self, x: float, y: float) -> int:
        """A step by an offset, each axis clamped to `SPEED_MAX`."""
        return self._give("move", float(x), float(y))

    def strike(self, target: Seen) -> int:
        """Strikes whatever has hit points and is not of one's own team."""
        return self._give("strike", target)

    def heal(self, target: Seen) -> int:
        """Eats a herb, or gives it to somebody in reach. What is on offer is not eaten."""
        return self._give("heal", target)

    def pick(self, herb: Seen) -> int:
        """Wants a ripe herb. All commands of a tick see it ripe, so it can't be given away
        here: the first of those who want it becomes its owner, and `grow` gives it to the
        owner."""
        return self._give("pick", herb)

    def raise_(self) -> int:
        """Raises the shield."""
        return self._give("raise")

    def offer(self, to: Seen, herbs: int, price: int) -> int:
        """Offers herbs to another player."""
        return self._give("offer", to, herbs, price)

    def accept(self, seller: Seen, most: int) -> int:
        """Takes an offer, for so much gold at most."""
        return self._give("accept", seller, most)
