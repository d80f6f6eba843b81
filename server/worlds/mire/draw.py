#!/usr/bin/env python3
"""Draws the mire's layers: walls.png, heights.png and tags.png beside this file.

A designer would draw them; this shows that any program can. It needs nothing but Python.
"""

import math
import random
import struct
import zlib
from pathlib import Path

SIZE = 2048  # units
WALLS = 2  # edge of a cell, in units
LAND = 8
TAGS = ["water", "reed", "swamp", "scree", "road"]
WATER, REED, SWAMP, SCREE, ROAD = range(1, 6)


def noise(seed, wave):
    """A smooth noise from 0 to 1 over the world, whose hills are `wave` units apart."""
    dice = random.Random(seed)
    side = SIZE // wave + 2
    grid = [[dice.random() for _ in range(side)] for _ in range(side)]

    def at(x, y):
        (i, x), (j, y) = divmod(x / wave, 1), divmod(y / wave, 1)
        i, j = int(i), int(j)
        x, y = x * x * (3 - 2 * x), y * y * (3 - 2 * y)
        low = grid[j][i] * (1 - x) + grid[j][i + 1] * x
        high = grid[j + 1][i] * (1 - x) + grid[j + 1][i + 1] * x
        return low * (1 - y) + high * y

    return at


octaves = [(noise(n, wave), weight) for n, (wave, weight) in enumerate([(512, 7), (192, 5), (80, 2), (32, 1)])]
rocks = noise(9, 32)
grain = noise(10, 16)


def land(x, y):
    """The height of a place above the water of deep pools, to about 120."""
    return (sum(weight * wave(x, y) for wave, weight in octaves) / 15 - 0.4) * 260


def road(x):
    return SIZE / 2 + 180 * math.sin(x / 260) + 60 * math.sin(x / 90)


def tag(x, y):
    height = land(x, y)
    if abs(y - road(x)) < 10:
        return ROAD
    if height < 4:
        return WATER
    if height < 10:
        return REED if grain(x, y) < 0.55 else SWAMP
    if height < 26 and grain(x, y) > 0.4:
        return SWAMP
    return SCREE if height > 58 else 0


def is_wall(x, y):
    """Deep water, and rocks, but never the road."""
    if abs(y - road(x)) < 14:
        return False
    height = land(x, y)
    return height < 0 or (height > 40 and rocks(x, y) > 0.74)


def png(name, depth, rows):
    side = len(rows[0]) * 8 // depth

    def chunk(kind, content):
        sum_ = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", sum_)

    header = struct.pack(">IIBBBBB", side, len(rows), depth, 0, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    bytes_ = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    (Path(__file__).parent / name).write_bytes(bytes_)


def cells(edge, of):
    """The rows of cells, the highest first."""
    middles = [(cell + 0.5) * edge for cell in range(SIZE // edge)]
    return [[of(x, y) for x in middles] for y in reversed(middles)]


def bits(row):
    return bytes(sum((not wall) << (7 - i) for i, wall in enumerate(row[at : at + 8])) for at in range(0, len(row), 8))


png("walls.png", 1, [bits(row) for row in cells(WALLS, is_wall)])
png("heights.png", 8, [bytes(row) for row in cells(LAND, lambda x, y: max(0, min(255, int(land(x, y)))))])
png("tags.png", 8, [bytes(row) for row in cells(LAND, tag)])
