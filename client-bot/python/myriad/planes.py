"""Planes: worlds within the world, each in a part of its one space."""

from dataclasses import dataclass
from typing import Any

Place = list[int]


@dataclass(frozen=True)
class Plane:
    """A plane, in raw units. 0 is the world itself, which has no name."""

    number: int
    name: str | None
    copy: int
    low: tuple[int, int]
    size: tuple[int, int]

    def local(self, place: Place) -> Place:
        """The place as seen from the plane's corner."""
        return [place[0] - self.low[0], place[1] - self.low[1], *place[2:]]


class Planes:
    """Where the planes of a world are, as its welcome says."""

    def __init__(self, atlas: dict[str, Any], size: list[int]) -> None:
        self.atlas = atlas
        self.home = atlas["size"] if atlas["groups"] else size[:2]

    def count(self) -> int:
        return 1 + sum(group["copies"] for group in self.atlas["groups"])

    def at(self, place: Place) -> Plane:
        """The plane that a place is in; between planes, one of those beside it."""
        half, first, found = self.atlas["gap"] // 2, 1, None
        for group in self.atlas["groups"]:
            if place[1] >= group["low"] - half:
                found = group, first
            first += group["copies"]
        if found is None:
            return Plane(0, None, 0, (0, 0), (self.home[0], self.home[1]))
        group, first = found
        rows = -(-group["copies"] // group["columns"])
        offsets = place[0], place[1] - group["low"]
        column, row = (min((max(offset, 0) + half) // stride, most - 1) for offset, stride, most in
                       zip(offsets, group["stride"], (group["columns"], rows), strict=True))
        copy = min(row * group["columns"] + column, group["copies"] - 1)
        row, column = divmod(copy, group["columns"])
        low = column * group["stride"][0], group["low"] + row * group["stride"][1]
        return Plane(first + copy, group["name"], copy, low, (group["size"][0], group["size"][1]))
