"""The messages of one world: frames and datagrams."""

from dataclasses import dataclass, field
from typing import Any, Callable

from .bits import Bits, Malformed, near, unzigzag, zigzag
from .layers import BITS as LAYER_BITS
from .serial import Serial
from .shapes import INTERFACE

Place = list[int]


@dataclass
class Course:
    """A position, in raw units, and a velocity that hold from a tick on."""

    tick: int
    position: Place
    velocity: Place

    def at(self, tick: int, edges: Place) -> Place:
        """Where it leads to in a tick from its own on."""
        ticks = max(tick - self.tick, 0)
        return clamp([p + v * ticks for p, v in zip(self.position, self.velocity)], edges)


@dataclass
class Movement:
    """The content of a datagram."""

    tick: int = 0
    part: int = 0
    last: bool = True
    whole: bool = False
    processed_low: int = 0
    kept: int | None = None
    margin: int | None = None
    # 1, or a busy server sends about every so many ticks.
    send_every: int = 1
    base: int | None = None
    entities: list[tuple[int, Course, list[tuple[int, int]]]] = field(default_factory=list)
    # Entities that are left out, as no course of theirs was known.
    unknown: int = 0


Known = Callable[[int, int], Course | None]


def signed(word: int) -> int:
    """A number of 32 bits in two's complement."""
    return word - (1 << 32) if word >> 31 else word


def clamp(place: Place, edges: Place) -> Place:
    return [min(max(p, 0), edge) for p, edge in zip(place, edges)]


class World:
    """The messages of one world."""

    def __init__(self, schema: dict[str, Any]) -> None:
        world, self.columns, self.schema = schema["world"], schema["attributes"], schema
        self.edges = [size - 1 for size in world["size"]]
        self.axes = self.columns[:len(self.edges)]
        self.leave, self.capacity = world["aoi_leave"], world["capacity"]
        self.kind_bits = (len(schema["kinds"]) - 1).bit_length()
        self.column_bits = 6 if len(self.columns) <= 64 else 8
        # Which kinds are of things: they have no place.
        self.things = [self.is_thing(kind) for kind in range(len(schema["kinds"]))]
        self.others = [c for c in range(len(self.axes), len(self.columns))
                       if self.columns[c]["audience"] == "movement"]

    def is_thing(self, kind: int) -> bool:
        x = self.schema["kinds"][kind]["attributes"][0]
        return x["column"] == 0 and x["max"] == 0 and kind != self.schema["world_kind"]

    def holder(self) -> int | None:
        """The column of things that refers to their holder."""
        names = (c for c, column in enumerate(self.columns) if column["name"] == "holder")
        return next(names, None)

    def slot(self, bits: Bits) -> int:
        return bits.get((self.capacity - 1).bit_length())

    def entity(self, bits: Bits) -> dict[str, int]:
        return {"slot": self.slot(bits), "generation": bits.small()}

    def column(self, bits: Bits) -> int:
        column = bits.get(self.column_bits)
        if column >= len(self.columns):
            raise Malformed(f"column {column} of {len(self.columns)}")
        return column

    def value(self, bits: Bits, column: int, step: int = 0) -> int:
        own = self.columns[column]
        width = max((own["max"] - own["min"]).bit_length() - step, 0)
        value = own["min"] + (bits.get(width) << step)
        if value > own["max"]:
            raise Malformed(f"{own['name']} is {value}")
        return value

    def word(self, bits: Bits, ty: str) -> int:
        if ty in ("i32", "fixed"):
            return unzigzag(bits.small())
        word = bits.get(1 if ty == "bool" else 32)
        return signed(word) if ty in ("entity", "text") else word

    def velocity(self, bits: Bits) -> Place:
        width = 5 + bits.get(4) if bits.get(1) else 0
        return [unzigzag(bits.get(width)) for _ in self.axes]

    def frame(self, data: bytes, newest: int) -> tuple[int, list[tuple[str, dict[str, Any]]]]:
        """The tick of a frame, and its messages by name."""
        bits, messages = Bits(data), []
        tick = near(bits.get(16), newest)
        while tag := bits.get(4):
            messages.append(self.message(bits, tag))
        bits.finish()
        return tick, messages

    def message(self, bits: Bits, tag: int) -> tuple[str, dict[str, Any]]:
        match tag:
            case 1:
                return "leave", {"slot": self.slot(bits)}
            case 2:
                return "enter", self.enter(bits)
            case 3:
                return "state", {"slot": self.slot(bits), "values": self.values(bits)}
            case 4:
                return "reborn", {"entity": self.entity(bits)}
            case 5:
                request, granted = bits.get(32), bits.get(1)
                return "answer", {"request": request,
                                  "refusal": None if granted else bits.bytes(10).decode()}
            case 6:
                return self.notice(bits)
            case 7:
                return "full", {}
            case 8:
                return "lost", {"subscription": bits.get(32)}
            case 9:
                return "interface", Serial(bits.bytes(20)).read(INTERFACE)
            case 10:
                first, count = bits.get(16), bits.rice(1) + 1
                reasons = ("Idle", "Dead", "OverPerTick", "Resting", "BeyondLimits", "OverQuota",
                           "TooEarly", "TooLate", "Unmet", "Moved")
                reason, because = bits.get(4), None
                # Idle and unmet ones with the number of one of the world's own reasons.
                if reason in (14, 15):
                    reason, because = 0 if reason == 14 else 8, bits.get(8)
                if reason >= len(reasons):
                    raise Malformed(f"the reason {reason} of a refusal")
                return "refused", {"first_low": first, "count": count, "reason": reasons[reason],
                                   "because": because}
            case 11:
                count = bits.get(4)
                return "servers", {"servers": [bits.bytes(8).decode() for _ in range(count)]}
            case 12:
                match rare := bits.get(4):
                    case 0:
                        return "restart", {}
                    case 1:
                        return "ranking", self.ranking(bits)
                    case 2:
                        return "texts", self.texts(bits)
                    case 4:
                        return "edits", self.edits(bits)
                    case 5:
                        return self.members(bits)
                raise Malformed(f"rare message {rare}")
            case 13:
                return "layer", {"hash": bits.get(64), "offset": bits.get(32),
                                 "bytes": list(bits.bytes(16))}
            case 14:
                return "name", {"slot": self.slot(bits), "name": bits.bytes(6).decode()}
            case 15:
                return "talk", {"bytes": bits.bytes(16)}
        raise Malformed(f"tag {tag}")

    def values(self, bits: Bits) -> list[tuple[int, int]]:
        numbers = (self.column(bits) for _ in range(bits.get(6)))
        return [(c, self.value(bits, c)) for c in numbers]

    def members(self, bits: Bits) -> tuple[str, dict[str, Any]]:
        match what := bits.get(2):
            case 0:
                return "member_left", {"slot": self.slot(bits)}
            case 1:
                return "member_changed", {"slot": self.slot(bits), "values": self.values(bits)}
            case 2:
                entity, groups = self.entity(bits), range(bits.get(3))
                groups = [self.column(bits) for _ in groups]
                name = bits.bytes(6).decode() if bits.get(1) else None
                return "member", {"entity": entity, "groups": groups, "name": name,
                                  "values": self.values(bits)}
        raise Malformed(f"the message {what} about members")

    def ranking(self, bits: Bits) -> dict[str, Any]:
        number, own = bits.get(3), bits.small()
        first = [self.ranked(bits) for _ in range(bits.get(9))] if bits.get(1) else None
        return {"ranking": number, "own": own, "first": first}

    def ranked(self, bits: Bits) -> dict[str, Any]:
        return {"entity": self.entity(bits), "value": unzigzag(bits.small()),
                "name": bits.bytes(6).decode() if bits.get(1) else None}

    def texts(self, bits: Bits) -> dict[str, Any]:
        request, texts = bits.get(32), []
        for _ in range(bits.get(6)):
            handle, text = signed(bits.get(32)), bits.bytes(8).decode()
            texts.append({"handle": handle, "text": text or None})
        return {"request": request, "texts": texts}

    def edits(self, bits: Bits) -> dict[str, Any]:
        edits = []
        for _ in range(bits.get(16)):
            number, cell = bits.get(2), bits.get(26)
            if number > 2:
                raise Malformed(f"the layer {number} of an edit")
            kind = ("Blocked", "Height", "Tag")[number]
            value = bits.get(LAYER_BITS[kind])
            if kind == "Height" and value >> 15:
                value -= 1 << 16
            edits.append({"layer": kind, "cell": cell, "value": value})
        return {"edits": edits}

    def enter(self, bits: Bits) -> dict[str, Any]:
        entity, kind, own = self.entity(bits), bits.get(self.kind_bits), bits.get(1) == 1
        seen = ("movement", "state", "private") if own else ("movement", "state")
        first = len(self.axes) if self.things[kind] else 0
        columns = [a["column"] for a in self.schema["kinds"][kind]["attributes"]]
        values = [(c, self.value(bits, c)) for c in columns
                  if c >= first and self.columns[c]["audience"] in seen]
        velocity = [0] * len(self.axes) if self.things[kind] else self.velocity(bits)
        return {"entity": entity, "kind": kind, "own": own, "values": values,
                "velocity": velocity}

    def notice(self, bits: Bits) -> tuple[str, dict[str, Any]]:
        form, heard = bits.get(1), bits.get(1) == 1
        notice = {"heard": heard, "subscriptions": [bits.get(32) for _ in range(bits.get(11))]}
        if form == 0:
            entity, kind, column = self.entity(bits), bits.get(self.kind_bits), self.column(bits)
            old, new = self.value(bits, column), self.value(bits, column)
            command = bits.get(9) - 1
            by = self.entity(bits) if bits.get(1) else None
            return "change", notice | {"entity": entity, "kind": kind, "column": column, "old": old,
                                       "new": new, "command": None if command < 0 else command,
                                       "by": by}
        number = bits.get(8)
        source = self.entity(bits) if bits.get(1) else None
        [own] = [n for n in self.schema["notifications"] if n["kind"] == number]
        words = [self.word(bits, each["ty"]) for each in own["fields"]]
        return "notification", notice | {"kind": number, "source": source, "words": words}

    def movement(self, data: bytes, newest: int, known: Known) -> Movement:
        """Reads a datagram. `known` gives the newest course of a slot as of a tick."""
        bits, read = Bits(data), Movement()
        read.tick = near(bits.get(16), newest)
        if not bits.get(1):
            read.part, read.last = bits.get(4), bits.get(1) == 1
        read.whole = read.last and bits.get(1) == 1
        read.processed_low = bits.get(16)
        read.kept = self.kept(bits, read.tick)
        read.margin = bits.get(7) - 64 if bits.get(1) else None
        read.send_every = bits.get(3) + 2 if bits.get(1) else 1
        length = bits.get(4)
        count = 1 << length - 1 | bits.get(length - 1) if length else 0
        if count:
            parameter, forms, slot = bits.get(5), Forms(bits, self), -1
            base = read.tick - forms.base_ticks
            read.base = base if forms.base_ticks else None
            for _ in range(count):
                slot += 1 + bits.rice(parameter)
                difference = forms.difference(bits)
                place = None if difference else forms.full(bits)
                others = [(c, self.value(bits, c, self.columns[c]["step"]))
                          for c in self.others if bits.get(1)]
                velocity = self.velocity(bits)
                if difference:
                    place = self.differing(difference, known(slot, base), read.tick, velocity)
                if place is None:
                    read.unknown += 1
                    continue
                if slot >= self.capacity or place != clamp(place, self.edges):
                    raise Malformed(f"slot {slot} at {place}")
                read.entities.append((slot, Course(read.tick, place, velocity), others))
        bits.finish()
        return read

    def kept(self, bits: Bits, tick: int) -> int | None:
        """The newest tick that can't be lost."""
        match bits.get(2):
            case 0:
                return None
            case 1:
                return tick
            case 2:
                return tick - 1 - bits.get(6)
        raise Malformed("the form of the kept tick")

    def differing(self, difference: Place, course: Course | None, tick: int,
                  velocity: Place) -> Place | None:
        """The place that differs so from where an entity of this course is expected."""
        if course is None:
            return None
        expected = course.at(tick - 1, self.edges)
        if any(velocity):
            expected = clamp([p + v for p, v in zip(expected, velocity)], self.edges)
        steps = zip(expected, difference, self.axes)
        return [place + (away << axis["step"]) for place, away, axis in steps]

    def datagram(self, epoch: int, newest: int, mask: int, stream: int, first: int,
                 commands: list[tuple[int, list[int]]], ticks: list[int] | None = None) -> bytes:
        """What a client sends: its acknowledgement, and (number, words) of commands, with the
        ticks that they are meant for."""
        bits = Bits()
        for value, width in ((epoch, 8), (newest, 32), (mask, 32), (stream, 32),
                             (len(commands), 8)):
            bits.put(value, width)
        if commands:
            bits.put(first, 32)
            bits.put(1 if ticks else 0, 1)
        if ticks:
            bits.put(ticks[0], 16)
        for i, (number, words) in enumerate(commands):
            if ticks and i > 0:
                bits.put_unary(ticks[i] - ticks[i - 1])
            if i > 0:
                # A walking player gives the same command again and again.
                is_repeated = commands[i] == commands[i - 1]
                bits.put(int(is_repeated), 1)
                if is_repeated:
                    continue
            bits.put(number, 8)
            for word, ty in zip(words, self.command(number)["words"], strict=True):
                if ty["name"] == "seen" and ty["ty"] == "i32":
                    # The tick that the player saw.
                    word = (newest - word + 2**31) % 2**32 - 2**31
                if ty["ty"] in ("i32", "fixed"):
                    bits.put_small(zigzag(word))
                else:
                    bits.put(word, 1 if ty["ty"] == "bool" else 32)
        return bits.written()

    def command(self, name: int | str) -> dict[str, Any]:
        """A command by its name or number."""
        return next(c for c in self.schema["commands"] if name in (c["name"], c["kind"]))


class Forms:
    """How a datagram writes positions."""

    def __init__(self, bits: Bits, world: World) -> None:
        self.base_ticks, self.world = bits.get(4), world
        self.all_differ = self.base_ticks > 0 and bits.get(1) == 1
        self.bits = bits.get(5) if self.base_ticks else 0
        self.steps = [axis["step"] for axis in world.axes]
        if self.all_differ:
            return
        if any(self.steps) and bits.get(1):
            self.steps = [0 for _ in self.steps]
        self.wide = bits.get(1) == 1
        self.all_bits = [(edge >> s).bit_length() for edge, s in zip(world.edges, self.steps)]
        if not self.wide:
            spans = [((2 * world.leave + 4096) >> s) + (s > 0) for s in self.steps]
            self.low_bits = [min(a, span.bit_length()) for a, span in zip(self.all_bits, spans)]
            self.corner = [bits.get(0 if low == a else max(a - 12 + s, 0)) << 12 - s
                           for low, a, s in zip(self.low_bits, self.all_bits, self.steps)]

    def difference(self, bits: Bits) -> Place | None:
        """A difference in steps, if there is one."""
        if not (self.all_differ or self.base_ticks and bits.get(1)):
            return None
        width = self.bits if self.bits and bits.get(1) else 0
        return [unzigzag(bits.get(width)) for _ in self.steps]

    def full(self, bits: Bits) -> Place:
        if self.wide:
            return [bits.get(width) << s for width, s in zip(self.all_bits, self.steps)]
        axes = zip(self.low_bits, self.corner, self.steps)
        return [c + (bits.get(width) - c) % (1 << width) << s for width, c, s in axes]
