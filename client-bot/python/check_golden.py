"""Reads the golden bytes of the protocol with this client, and prints the differences.

    python check_golden.py ../../shared/tests/protocol/golden.json

The exit code is 0 if all is read as the file has it, 1 if not, and 2 for a wrong command line.
"""

import json
import sys
import zlib
from collections.abc import Iterator
from typing import Any

from myriad.bits import Bits, Malformed, unzigzag
from myriad.layers import Layers, content_hash
from myriad.serial import Serial, hello_bytes, read_length
from myriad.shapes import ENTITY, HELLO, SCHEMA, TALK, TALK_REQUEST, VERSION, WELCOME
from myriad.world import Course, World

Case = dict[str, Any]

# What the client itself does not use.
POINT = (3, "signed")
REGION = {"low": POINT, "high": POINT, "follows": ("optional", ENTITY)}
REQUEST = {"number": "integer", "body": ("variant", {
    "SetRegion": {"index": "integer", "region": ("optional", REGION)},
    "Subscribe": {"id": "integer", "predicate": "text"},
    "Unsubscribe": {"id": "integer"},
    "SetSight": {"radius": ("optional", "signed")},
    "Watch": {"point": POINT},
    "Talk": ("variant", TALK_REQUEST),
    "Layer": {"hash": "integer"},
    "Ranking": {"number": "integer", "length": "integer"},
    "Text": {"text": "text"},
    "TextsOf": {"handles": ("list", "signed")},
})}


def numbers(name: str, data: bytes, value: list[Any]) -> Any:
    serial, bits = Serial(data), Bits(data)
    match name:
        case "integers":
            return [serial.read("integer") for _ in value]
        case "integers-signed":
            return [serial.read("signed") for _ in value]
        case "lengths":
            return list(lengths(data))
        case "fields":
            return [{"bits": each["bits"], "value": bits.get(each["bits"])} for each in value]
        case "small":
            return [bits.small() for _ in value]
        case "signed":
            return [unzigzag(bits.small()) for _ in value]
        case "rice":
            return [{"parameter": each["parameter"], "value": bits.rice(each["parameter"])}
                    for each in value]


def longer(name: str, data: bytes) -> Any:
    """Bytes that the protocol does not allow: nothing, or what is read all the same."""
    try:
        match name:
            case "longer-integer":
                return Serial(data).integer()
            case "longer-length":
                return read_length(data)
            case "longer-small":
                return Bits(data).small()
            case "longer-rice":
                return Bits(data).rice(0)
    except Malformed:
        return None
    raise ValueError(f"nothing reads {name}")


def lengths(data: bytes) -> Iterator[int]:
    while data:
        length, used = read_length(data)
        data = data[used:]
        yield length


def whole(data: bytes, shape: Any) -> Any:
    """A serialised message, behind which nothing follows."""
    serial = Serial(data)
    value = serial.read(shape)
    assert serial.at == len(data), "bytes follow the end"
    return value


def layer(data: bytes, value: Case) -> Case:
    """The walls of a content, and its hash."""
    hashed = content_hash(data)
    info = {"kind": "Blocked", "cells": value["cells"], "edge_bits": 12, "hash": hashed}
    layers = Layers([info], [])
    layers.contents["Blocked"] = layers.unpack(info, zlib.compress(data))
    (width, height) = value["cells"]
    cells = [[x, y] for y in range(height) for x in range(width)]
    walls = [cell for cell in cells if layers.is_blocked([at << 12 for at in cell])]
    return {"hash": hashed, "cells": value["cells"], "walls": walls}


def frame(world: World, data: bytes, newest: int) -> Any:
    tick, messages = world.frame(data[read_length(data)[1]:], newest)
    contents = []
    for name, fields in messages:
        if name == "talk":
            fields = whole(fields["bytes"], TALK)
        contents.append({name: fields} if fields else name)
    return {"tick": tick, "messages": contents}


def movement(world: World, data: bytes, given: Case) -> Any:
    courses = [(c["slot"], Course(c["tick"], c["position"], c["velocity"]))
               for c in given["courses"]]

    def known(slot: int, tick: int) -> Course | None:
        found = [course for own, course in courses if own == slot and course.tick <= tick]
        return max(found, key=lambda course: course.tick, default=None)

    read = world.movement(data, given["newest"], known)
    entities = [{"slot": slot, "position": course.position, "velocity": course.velocity,
                 "others": others} for slot, course, others in read.entities]
    return {"tick": read.tick, "part": read.part, "last": read.last, "whole": read.whole,
            "processed_low": read.processed_low, "kept": read.kept, "margin": read.margin,
            "send_every": read.send_every, "base": read.base, "entities": entities}


def written(world: World, value: Case) -> bytes:
    commands = [(each["kind"], each["words"]) for each in value["commands"]]
    return world.datagram(value["epoch"], value["newest"], value["mask"], value["stream"],
                          value["first_sequence"], commands, value["ticks"])


def read(case: Case, worlds: dict[str, World]) -> Any:
    """What this client reads of a case, or writes of what a client only writes."""
    name, data, value = case["name"], bytes.fromhex(case["bytes"]), case["value"]
    given = case.get("given", {})
    world = worlds.get(given.get("world", ""))
    match name.split("-")[0]:
        case "integers" | "lengths" | "fields" | "small" | "signed" | "rice":
            return numbers(name, data, value)
        case "longer":
            return longer(name, data)
        case "hello":
            assert value["version"] == VERSION, "the client has another version of the protocol"
            assert hello_bytes(value) == data, "it is written otherwise"
            return whole(data[4:], HELLO)
        case "welcome":
            return whole(data[read_length(data)[1]:], WELCOME)
        case "schema":
            assert whole(data, SCHEMA)
            return {"hash": content_hash(data)}
        case "layer" if name == "layer-content":
            return layer(data, value)
        case "request":
            assert int.from_bytes(data[:4], "little") == len(data) - 4
            return whole(data[4:], REQUEST)
        case "datagram":
            assert written(world, value) == data, "it is written otherwise"
            return value
        case "movement":
            return movement(world, data, given)
    return frame(world, data, given["newest"])


def main(path: str) -> int:
    with open(path, encoding="utf-8") as file:
        cases = json.load(file)
    welcomes = {case["name"]: case["value"] for case in cases if case["name"].startswith("welcome")}
    worlds = {name: World(welcome["schema"]) for name, welcome in welcomes.items()}
    wrong = 0
    for case in cases:
        # Pairs are lists in JSON.
        found = json.loads(json.dumps(read(case, worlds)))
        if found != case["value"]:
            wrong += 1
            print(f"{case['name']}: read\n  {found}\nwhere the file has\n  {case['value']}")
    print(f"{len(cases)} cases, {wrong} read otherwise")
    return min(wrong, 1)


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr, end="")
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1]))
    except OSError as error:
        print(f"cannot read the golden bytes: {error}", file=sys.stderr)
        sys.exit(2)
