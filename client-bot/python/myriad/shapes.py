"""The fields of each serialised message.

A text names a type, and a dictionary has fields. Tuples hold other shapes: ("list", shape),
("optional", shape), (count, shape), ("variant", {name: fields}); ("one", …) names variants
without fields.
"""

# The version of the protocol whose fields these are.
VERSION = 23

ENTITY = {"slot": "integer", "generation": "integer"}
TYPE = ("one", "i32", "fixed", "bool", "entity", "symbol", "i64", "high", "text")
BOUNDS = {"min": "signed", "max": "signed"}
BOX = ("optional", (3, "signed"))
WORDS = ("list", {"name": "text", "ty": TYPE})
COMMAND = {"kind": "integer", "name": "text", "senders": {"clients": "bool", "rules": "bool"},
           "has_actor": "bool", "words": WORDS, "per_tick": "byte", "cooldown": "integer"}
NOTIFICATION = {"kind": "integer", "name": "text", "fields": WORDS}
CONSTANT = {"name": "text", "ty": TYPE, "value": "signed"}
AREA = ("variant", {"Ball": {"center": (3, "signed"), "radius": "signed"},
                    "Box": {"low": (3, "signed"), "high": (3, "signed")}})
ZONE = {"name": "text", "area": AREA, "carrier": ("optional", "integer")}
CHANGING = {"commands": ("list", COMMAND), "notifications": ("list", NOTIFICATION)}
FORECAST = {"forecast": ("list", "byte")}
REASONS = {"reasons": ("list", "text")}
RANKINGS = {"rankings": ("list", {"name": "text", "kind": "integer", "column": "integer",
                                  "is_least_first": "bool", "length": "integer"})}
WORLD = {"name": "text", "size": ("list", "signed"), "aoi": "signed", "aoi_leave": "signed",
         "capacity": "integer", "tick_hz": "integer",
         "visible_max": "integer"}
ATTRIBUTE = {"name": "text", "ty": TYPE, "merge": ("one", "sum", "min", "max", "first", "last"),
             "audience": ("one", "movement", "state", "private", "hidden"), **BOUNDS,
             "step": "integer"}
KIND = {"name": "text",
        "attributes": ("list", {"column": "integer", "default": "signed", **BOUNDS}),
        "regions": {"publishes": BOX, "subscribes": BOX}}
SCHEMA = {"world": WORLD, "attributes": ("list", ATTRIBUTE), "kinds": ("list", KIND),
          **CHANGING, "symbols": ("list", "text"), "zones": ("list", ZONE),
          "world_kind": ("optional", "integer"), "constants": ("list", CONSTANT)}
QUOTAS = {"commands_per_tick": "integer", "commands_burst": "integer",
          "input_ticks": "integer", "late_ticks": "integer", "surplus_waits": "bool",
          "requests_per_second": "integer", "bytes_per_tick": "integer", "regions": "integer",
          "region_edge_max": "signed", "subscriptions": "integer", "predicate_bytes": "integer",
          "idle_seconds": "integer", "resume_seconds": "integer",
          "spectator_step": ("optional", "signed")}
HELLO = {"version": "integer", "token": "text", "name": "text",
         "schema_hash": ("optional", "integer"), "resume": ("optional", (16, "byte")),
         "spectates": "bool"}
LAYER = {"kind": ("one", "Blocked", "Height", "Tag"), "cells": (2, "integer"), "edge_bits": "byte",
         "hash": "integer", "packed_bytes": "integer", "tags": ("list", "signed")}
DOOR = {"kind": "integer", "cells": (2, "byte"), "closed": ("optional", "integer")}
PLANES = {"planes": {"size": (2, "signed"), "gap": "signed", "around": "signed",
                     "groups": ("list", {"name": "text", "size": (2, "signed"),
                                         "copies": "integer", "columns": "integer",
                                         "stride": (2, "signed"), "low": "signed"})}}
WELCOME = {"tick": "integer", "entity": ENTITY, "commands_epoch": "byte", "ticket": (16, "byte"),
           "resumed": "bool", "processed": ("optional", "integer"),
           "player_kind": "integer", "quotas": QUOTAS, "schema": SCHEMA,
           **FORECAST, "servers": ("list", "text"), **REASONS, "layers": ("list", LAYER),
           "doors": ("list", DOOR), **RANKINGS, **PLANES,
           "editable": ("list", ("one", "Blocked", "Height", "Tag"))}
INTERFACE = {"commands_epoch": "byte", **CHANGING, "constants": ("list", CONSTANT), **FORECAST,
             **REASONS}
CHANNEL = {"channel": "text"}
SAID = {"text": "text"}
PLAYER = {"name": "text"}
TALK = ("variant", {
    "Said": {"speaker": ENTITY, "name": ("optional", "text")} | SAID,
    "Whispered": {"from": "text"} | SAID,
    "Spoken": CHANNEL | {"from": "text"} | SAID,
    "Joined": CHANNEL | PLAYER,
    "Left": CHANNEL | PLAYER,
    "Members": CHANNEL | {"names": ("list", "text")},
    "Announced": SAID,
})
TALK_REQUEST = {"Say": SAID, "Whisper": {"to": "text"} | SAID, "Join": CHANNEL, "Leave": CHANNEL,
                "Speak": CHANNEL | SAID, "Members": CHANNEL, "Mute": PLAYER, "Unmute": PLAYER}
