"""What the bindings of a world in Python stand on: `myriad bindings --lang py` writes them."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

from .close import CLOSES, SCHEMA_MISMATCH, Ended
from .view import View

UNIT, NONE, NAMED_MAX = 4096, -1, 5
# (what it is, its name, its form)
Line = tuple[str, str, str]


def outline(schema: dict[str, Any]) -> list[Line]:
    """The parts of a world that bindings name. Names may be any text."""
    axes = len(schema["world"]["size"])
    lines = [("axes", str(axes), "")]
    for kind in schema["kinds"]:
        lines.append(("kind", kind["name"], ""))
        for column in (own["column"] for own in kind["attributes"]):
            own = schema["attributes"][column]
            if column >= axes and own["audience"] != "hidden" and own["ty"] != "high":
                private = " private" if own["audience"] == "private" else ""
                lines.append(("attribute", f"{kind['name']}.{own['name']}", f" {own['ty']}{private}"))
    lines += [("command", each["name"], listed(each["words"])) for each in schema["commands"]
              if each["senders"]["clients"]]
    lines += [("notification", each["name"], listed(each["fields"]))
              for each in schema["notifications"]]
    lines += [("symbol", name, "") for name in schema["symbols"]]
    return [(what, one_line(name), form) for what, name, form in lines]


def one_line(name: str) -> str:
    """A name as a part of a line."""
    return "".join(" " if unicodedata.category(letter) == "Cc" else letter for letter in name)


def listed(words: list[dict[str, str]]) -> str:
    return f"({', '.join(word['name'] + ': ' + word['ty'] for word in words)})"


def fnv(text: str) -> int:
    number = 0xcbf29ce484222325
    for byte in text.encode():
        number = (number ^ byte) * 0x100000001b3 % 2**64
    return number


def check(bindings: str, schema: dict[str, Any]) -> None:
    """Raises `Ended` if a world lacks some of what bindings name."""
    head, _, text = bindings.partition("\n")
    world, _, digits = head.removeprefix("bindings of ").partition(" for py, hash ")
    if digits != f"{fnv(text):016x}":
        raise ended("the bindings can't be read: expected the text that `myriad bindings` has written")
    found = outline(schema)
    if text == "".join(f"{what} {name}{form}\n" for what, name, form in found):
        return
    if differences := differing([parsed(line) for line in text.splitlines()], found):
        more = len(differences) - NAMED_MAX
        rest = f"; and {more} more" if more > 0 else ""
        raise ended(f"the world is not that of the game's bindings of `{world}`: "
                    f"{'; '.join(differences[:NAMED_MAX])}{rest}. Generate the bindings again with "
                    "`myriad bindings --lang py`")


def ended(reason: str) -> Ended:
    return Ended(CLOSES[SCHEMA_MISMATCH], reason, SCHEMA_MISMATCH)


def parsed(line: str) -> Line:
    what, _, rest = line.partition(" ")
    end = {"attribute": rest.find(" "), "command": rest.find("("),
           "notification": rest.find("(")}.get(what, len(rest))
    return what, rest[:end], rest[end:]


def differing(needed: list[Line], found: list[Line]) -> list[str]:
    """What a world lacks or has otherwise, as parts of a sentence."""
    forms = {(what, name): form for what, name, form in found}
    names = {(what, name) for what, name, _ in needed}
    missing = [line for line in needed if line[:2] not in forms]
    new = [line for line in found if line[:2] not in names]
    differences = []
    for what, name, form in needed:
        owner = name.rpartition(".")[0] if what == "attribute" else ""
        if ("kind", owner, "") in missing:
            continue
        part = f"a world of {name} axes" if what == "axes" else f"{what} `{name}`"
        if (what, name) not in forms:
            likes = [[line[1] for line in lines if (line[0], line[2]) == (what, form)
                      and (what != "attribute" or line[1].rpartition(".")[0] == owner)]
                     for lines in (missing, new)]
            is_renamed = [len(like) for like in likes] == [1, 1]
            differences.append(f"{part} is now called `{likes[1][0]}`" if is_renamed
                               else f"{part} is missing")
        elif forms[what, name] != form:
            now = forms[what, name]
            differences.append(f"{part} is `{now.strip()}` now, and was `{form.strip()}`")
    return differences


Kind = TypeVar("Kind", bound="Seen")


class Seen:
    """An entity in view, or what the whole world shares. Without its entity, it has zeros."""

    NAME = ""

    def __init__(self, view: View, slot: int, generation: int, values: dict[int, int]) -> None:
        self.view, self.slot, self.generation, self._values = view, slot, generation, values

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and self.reference == other.reference

    def __hash__(self) -> int:
        return hash(self.reference)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.slot}.{self.generation})"

    @property
    def reference(self) -> int:
        """What stands for it in values and commands."""
        word = (self.generation & 0xff) << 24 | self.slot
        return word - (1 << 32) if word >> 31 else word

    @property
    def is_own(self) -> bool:
        """Whether it is the client's own, or a thing that this holds, also in other things."""
        own, one = self.view.own, self
        # Things hold only those of kinds behind theirs.
        for _ in self.view.world.schema["kinds"]:
            if (own["slot"], own["generation"]) == (one.slot, one.generation):
                return True
            thing = self.view.things.get(one.slot)
            holder = thing and referenced(self.view, thing.values.get(self.view.world.holder(), NONE))
            if not holder:
                return False
            one = holder
        return False

    def held(self, of: type[Kind]) -> list[Kind]:
        """The things of a kind that it holds itself, as far as the client sees them, by slot."""
        names = [kind["name"] for kind in self.view.world.schema["kinds"]]
        things = ((slot, self.view.things[slot]) for slot in self.view.held_by(self.slot))
        return [of(self.view, slot, thing.generation, thing.values) for slot, thing in things
                if names[thing.kind] == of.NAME]

    @property
    def position(self) -> tuple[float, ...]:
        """Where it is in the newest tick, in units."""
        place = self.view.position(self.slot, self.view.newest) or self.view.world.axes
        return tuple(raw / UNIT if isinstance(raw, int) else 0.0 for raw in place)

    def distance(self, place: tuple[float, ...]) -> float:
        return math.dist(self.position[:len(place)], place[:len(self.position)])

    def _whole(self, attribute: str) -> int:
        return self._values.get(column_of(self.view, attribute), 0)

    def _long(self, attribute: str) -> int:
        """A number of 64 bits: its low half is in its own column, the high one in the next."""
        column = column_of(self.view, attribute)
        return joined([self._values.get(half, 0) for half in (column, column + 1)])

    def _text(self, attribute: str) -> str | None:
        return self.view.text(self._whole(attribute))

    def _entity(self, attribute: str) -> Seen | None:
        return referenced(self.view, self._whole(attribute))

    def _symbol(self, attribute: str) -> str:
        return self.view.world.schema["symbols"][self._whole(attribute)]


def column_of(view: View, attribute: str) -> int:
    columns = enumerate(view.world.columns)
    return next((column for column, own in columns if own["name"] == attribute), -1)


def referenced(view: View, reference: int) -> Seen | None:
    """The entity in view that a value stands for."""
    slot = reference & 0xffffff
    found = view.found(slot)
    if reference == NONE or not found or found.generation & 0xff != reference >> 24 & 0xff:
        return None
    return Seen(view, slot, found.generation, found.values)


class Entities(Generic[Kind]):
    """The entities of a kind in view, or all things of one."""

    def __init__(self, view: View, of: type[Kind]) -> None:
        self.view, self.of = view, of

    def __iter__(self) -> Iterator[Kind]:
        names = [kind["name"] for kind in self.view.world.schema["kinds"]]
        for slot, entity in [*self.view.entities.items(), *self.view.things.items()]:
            if names[entity.kind] == self.of.NAME:
                yield self.of(self.view, slot, entity.generation, entity.values)

    def within(self, place: tuple[float, ...], radius: float) -> Iterator[Kind]:
        """Those that are at most so far from a place, in units."""
        return (one for one in self if one.distance(place) <= radius)

    def nearest(self, place: tuple[float, ...]) -> Kind | None:
        """The one that is nearest to a place."""
        return min(self, key=lambda one: one.distance(place), default=None)


def value(view: View, ty: str, raw: int, symbols: Any) -> Any:
    """A word as a value: `symbols` is the enumeration of the bindings."""
    match ty:
        case "fixed":
            return raw / UNIT
        case "bool":
            return raw != 0
        case "entity":
            return referenced(view, raw)
        case "text":
            return view.text(raw)
        case "symbol":
            return symbol_of(view.world.schema["symbols"][raw], symbols)
    return raw


def changed(view: View, content: dict[str, Any]) -> list[tuple[dict[str, Any], int, int]]:
    """The attributes of a message `state`, with their values before and after. Half of a number
    of 64 bits changes with the other one."""
    after, columns = dict(content["values"]), view.world.columns
    found = view.found(content["slot"])
    now = found.values if found else {}
    numbers: dict[int, tuple[int, int]] = {}
    for column in after:
        first = column - 1 if columns[column]["ty"] == "high" else column
        halves = [first, first + 1] if columns[first]["ty"] == "i64" else [first]
        old = [content["old"].get(half, now.get(half, 0)) for half in halves]
        new = [after.get(half, now.get(half, 0)) for half in halves]
        numbers[first] = joined(old), joined(new)
    return [(columns[column], old, new) for column, (old, new) in numbers.items()]


def joined(words: list[int]) -> int:
    """A word, or the number of two halves."""
    return words[0] if len(words) == 1 else words[1] << 32 | words[0] & 0xffffffff


def symbol_of(name: str, symbols: Any) -> Any:
    """A symbol by its name; `None` for one that the bindings don't have."""
    return next((symbol for symbol in symbols if symbol.value == name), None)


def word(view: View, given: Any) -> int:
    """A value as a word of a command."""
    if isinstance(given, Seen):
        return given.reference
    if isinstance(given, float):
        return round(given * UNIT)
    if isinstance(given, (bool, int)):
        return int(given)
    return view.world.schema["symbols"].index(given.value)
