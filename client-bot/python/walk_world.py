"""The world `walk` as its clients know it. Written by `myriad bindings --lang py`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from myriad import Client
from myriad.bindings import Entities, Seen, changed, column_of, symbol_of, value, word

# What these bindings need of a server's world, for `connect`.
BINDINGS = (
    "bindings of walk for py, hash f60a133cc4e87341\n"
    "axes 2\n"
    "kind player\n"
    "command move(x: fixed, y: fixed)\n"
)


class Symbol(Enum):
    """A symbol of the world."""



class Player(Seen):
    """An entity of the kind `player`."""

    NAME = "player"


# By name.
KINDS: dict[str, type[Seen]] = {each.NAME: each for each in (Player,)}
CHANGES: dict[str, Any] = {
}
NOTIFICATIONS: dict[str, Any] = {
}


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

    def players(self) -> Entities[Player]:
        return Entities(self.client.view, Player)


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
