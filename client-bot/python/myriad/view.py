"""The world as a client received it."""

from dataclasses import dataclass, field
from typing import Any, Callable

from .bits import near
from .world import Course, Place, World

COURSES_MAX, EARLY_MAX, MASK = 17, 32768, (1 << 32) - 1


@dataclass
class Entity:
    """An entity in view. The first values are its position when it came into view."""

    generation: int
    kind: int
    values: dict[int, int]
    # The newest comes last.
    courses: list[Course]


@dataclass
class Member:
    """Another member of a group of the own entity, and what it shares, by column."""

    generation: int
    name: str | None
    # The columns that refer to the groups to which both belong.
    groups: list[int]
    values: dict[int, int]


@dataclass
class View:
    """The world as received from the server, and what is to be acknowledged."""

    world: World
    own: dict[str, int]
    newest: int
    entities: dict[int, Entity] = field(default_factory=dict)
    # By slot: what the own entity has, and what it sees of others, which is nowhere.
    things: dict[int, Entity] = field(default_factory=dict)
    # By slot: the other members of the groups of the own entity, wherever they are.
    members: dict[int, Member] = field(default_factory=dict)
    # Movement of entities whose enter is on its way: courses, and the newest other attributes.
    early: dict[int, tuple[list[Course], list[tuple[int, int]]]] = field(default_factory=dict)
    # What the whole world shares, by column, and the slot that has it.
    shared: dict[int, int] = field(default_factory=dict)
    shared_slot: int = -1
    processed: int = 0
    complete: int = 0
    mask: int = 0
    read: int = 0
    # The text of a handle, once it has been received.
    text: Callable[[int], str | None] = lambda _: None
    # The parts of ticks that have arrived in part, and how many there are.
    parts: dict[int, tuple[set[int], int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.complete, self.read = self.newest, self.newest - 1

    def position(self, slot: int, tick: int) -> Place | None:
        """Where an entity in view is in a tick, in raw units."""
        entity = self.entities.get(slot)
        return entity.courses[-1].at(tick, self.world.edges) if entity else None

    def take_datagram(self, data: bytes) -> None:
        movement = self.world.movement(data, self.newest, self.known)
        self.newest = max(self.newest, movement.tick)
        self.processed = max(self.processed, near(movement.processed_low, self.processed))
        kept = [self.move(*entity) for entity in movement.entities]
        if movement.unknown or not all(kept):
            return
        arrived, count = self.parts.get(movement.tick, (set(), 0))
        arrived.add(movement.part)
        count = movement.part + 1 if movement.last else count
        if len(arrived) == count:
            self.complete_tick(movement.tick)
        self.parts[movement.tick] = arrived, count
        self.parts = {t: p for t, p in self.parts.items() if self.newest - t < 64}

    def complete_tick(self, tick: int) -> None:
        """Notes a tick of which everything has arrived, for the acknowledgement."""
        ahead = tick - self.complete
        if ahead > 0:
            self.mask = (self.mask << 1 | 1) << ahead - 1 & MASK
            self.complete = tick
        elif -32 <= ahead < 0:
            self.mask |= 1 << -ahead - 1

    def known(self, slot: int, tick: int) -> Course | None:
        """The newest course of an entity as of a tick."""
        entity = self.entities.get(slot)
        courses = reversed(entity.courses) if entity else ()
        return next((course for course in courses if course.tick <= tick), None)

    def move(self, slot: int, course: Course, others: list[tuple[int, int]]) -> bool:
        """Applies movement. False if there is no room to keep it."""
        entity = self.entities.get(slot)
        if entity is None:
            return self.keep(slot, course, others)
        if course.tick > entity.courses[-1].tick:
            entity.values.update(others)
        if course.tick > entity.courses[0].tick:
            entity.courses = joined(entity.courses, course)
        return True

    def keep(self, slot: int, course: Course, others: list[tuple[int, int]]) -> bool:
        if course.tick <= self.read:
            return True
        if slot not in self.early and len(self.early) >= EARLY_MAX:
            self.early = {s: e for s, e in self.early.items() if e[0][-1].tick > self.read}
            if len(self.early) >= EARLY_MAX:
                return False
        courses, newest = self.early.get(slot, ([], []))
        if not courses or course.tick > courses[-1].tick:
            newest = others
        self.early[slot] = joined(courses, course), newest
        return True

    def take_frame(self, data: bytes) -> list[tuple[str, dict[str, Any]]]:
        """Applies a frame, and gives its messages."""
        tick, messages = self.world.frame(data, self.newest)
        self.newest, self.read = max(self.newest, tick), tick
        for name, message in messages:
            match name:
                case "enter" if message["kind"] == self.world.schema["world_kind"]:
                    self.shared_slot, self.shared = message["entity"]["slot"], dict(message["values"])
                case "state" if message["slot"] == self.shared_slot:
                    self.shared.update(message["values"])
                case "enter" if self.world.things[message["kind"]]:
                    entity, values = message["entity"], dict(message["values"])
                    thing = Entity(entity["generation"], message["kind"], values, [])
                    self.things[entity["slot"]] = thing
                case "leave" | "state" if message["slot"] in self.things:
                    self.change_thing(name, message)
                case "member":
                    entity, values = message["entity"], dict(message["values"])
                    member = (entity["generation"], message["name"], message["groups"], values)
                    self.members[entity["slot"]] = Member(*member)
                case "member_changed" if message["slot"] in self.members:
                    values = self.members[message["slot"]].values
                    message["old"] = {column: values.get(column, 0) for column, _ in message["values"]}
                    values.update(message["values"])
                case "member_left":
                    self.members.pop(message["slot"], None)
                case "enter":
                    self.enter(tick, message)
                case "leave":
                    self.leave(tick, message["slot"])
                case "state" if message["slot"] in self.entities:
                    values = self.entities[message["slot"]].values
                    message["old"] = {column: values.get(column, 0) for column, _ in message["values"]}
                    values.update(message["values"])
                case "reborn":
                    self.own = message["entity"]
        return messages

    def change_thing(self, name: str, message: dict[str, Any]) -> None:
        slot = message["slot"]
        if name == "leave":
            del self.things[slot]
            return
        values = self.things[slot].values
        message["old"] = {column: values.get(column, 0) for column, _ in message["values"]}
        values.update(message["values"])

    def found(self, slot: int) -> Entity | None:
        """The entity in view, or the thing, in a slot."""
        return self.things.get(slot, self.entities.get(slot))

    def members_of(self, attribute: str) -> list[int]:
        """The slots of the other members of the group to which an attribute refers, ascending."""
        names = [column["name"] for column in self.world.columns]
        column = names.index(attribute) if attribute in names else None
        return sorted(slot for slot, member in self.members.items() if column in member.groups)

    def held_by(self, slot: int) -> list[int]:
        """The slots of the things that an entity, or a thing, holds itself, ascending."""
        column, holder = self.world.holder(), self.found(slot)
        if holder is None:
            return []
        reference = (holder.generation & 0xff) << 24 | slot
        reference -= (reference & 1 << 31) << 1
        held = (own for own, thing in self.things.items() if thing.values.get(column) == reference)
        return sorted(held)

    def enter(self, tick: int, message: dict[str, Any]) -> None:
        (entity, kind), values = (message["entity"], message["kind"]), dict(message["values"])
        slot = entity["slot"]
        place = [values[axis] for axis in range(len(self.world.axes))]
        course = Course(tick, place, message["velocity"])
        self.entities[slot] = Entity(entity["generation"], kind, values, [course])
        courses, others = self.early.pop(slot, ([], []))
        for course in courses:
            self.move(slot, course, others)

    def leave(self, tick: int, slot: int) -> None:
        entity, early = self.entities.pop(slot, None), self.early.get(slot)
        if early and early[0][-1].tick <= tick:
            del self.early[slot]
        if entity:
            others = [(c, entity.values[c]) for c in self.world.others if c in entity.values]
            for course in entity.courses:
                if course.tick > tick:
                    self.keep(slot, course, others)


def joined(courses: list[Course], course: Course) -> list[Course]:
    """Courses by tick, with one more: differences may build on any of the last ones."""
    others = [other for other in courses if other.tick != course.tick]
    return sorted([*others, course], key=lambda course: course.tick)[-COURSES_MAX:]
