"""What the cells of a world are: its layers, fetched once over the session."""

import zlib
from typing import Any

from .bits import Malformed

Place = list[int]

BITS = {"Blocked": 1, "Height": 16, "Tag": 8}
# A client plays without more, unpacked.
LAYERS_BYTES_MAX = 64 << 20


def content_hash(data: bytes) -> int:
    """The hash of a content, or of a serialised schema."""
    number, full = 0x6D7972696164, (1 << 64) - 1
    for start in range(0, len(data), 8):
        chunk = data[start:start + 8]
        a = number ^ 0xA0761D6478BD642F
        b = int.from_bytes(chunk, "little") ^ len(chunk) << 56 ^ 0xE7037ED1A0B428DB
        number = (a * b & full) ^ (a * b >> 64)
    return number


class Layers:
    """The layers of a world. Places are in raw units; one outside of the world counts as the
    nearest inside. Nothing is blocked, high or tagged before the layers have come."""

    def __init__(self, infos: list[dict[str, Any]], symbols: list[str],
                 editable: list[str] | None = None) -> None:
        self.infos, self.symbols = {info["kind"]: info for info in infos}, symbols
        self.editable = editable or []
        # By kind and number of a cell: what scripts made of those that differ from the content.
        self.edited: dict[tuple[str, int], int] = {}
        self.contents: dict[str, bytes] = {}
        self.arriving = bytearray()

    @staticmethod
    def content_bytes(info: dict[str, Any]) -> int:
        width, height = info["cells"]
        return (width * height * BITS[info["kind"]] + 7) // 8

    def hashes(self) -> list[int]:
        """Of the layers to ask for."""
        infos = self.infos.values()
        fits = sum(map(self.content_bytes, infos)) <= LAYERS_BYTES_MAX
        return [info["hash"] for info in infos] if fits else []

    def take(self, part: dict[str, Any]) -> None:
        """The next part of a layer has come."""
        infos = [info for info in self.infos.values() if info["hash"] == part["hash"]]
        if not infos or part["offset"] != len(self.arriving):
            raise Malformed("a part of a layer is not the next one")
        self.arriving += bytes(part["bytes"])
        missing = infos[0]["packed_bytes"] - len(self.arriving)
        if missing < 0:
            raise Malformed("a layer is longer than the welcome says")
        if missing == 0:
            packed, self.arriving = bytes(self.arriving), bytearray()
            for info in infos:
                self.contents[info["kind"]] = self.unpack(info, packed)

    def edit(self, edits: list[dict[str, Any]]) -> None:
        """Cells are others from now on."""
        for edit in edits:
            kind, cell, value = edit["layer"], edit["cell"], edit["value"]
            info = self.infos.get(kind)
            if info is None or kind not in self.editable or cell >= info["cells"][0] * info["cells"][1]:
                raise Malformed(f"an edit of the layer {kind}")
            if kind == "Tag" and value > len(info["tags"]):
                raise Malformed("an edit to a tag that the world lacks")
            self.edited[kind, cell] = value

    def unpack(self, info: dict[str, Any], packed: bytes) -> bytes:
        # No more is unpacked than there should be.
        expected = self.content_bytes(info)
        try:
            content = zlib.decompressobj().decompress(packed, expected + 1)
        except zlib.error as error:
            raise Malformed(f"the layer {info['kind']} is no zlib stream: {error}") from error
        if len(content) != expected:
            raise Malformed(f"the layer {info['kind']} has not {expected} bytes")
        if (found := content_hash(content)) != info["hash"]:
            raise Malformed(f"the layer {info['kind']} has the hash {found:016x}, "
                            f"expected {info['hash']:016x}")
        return content

    def is_whole(self) -> bool:
        """Whether all layers have come."""
        return len(self.contents) == len(self.infos)

    def is_blocked(self, place: Place) -> bool:
        return bool(self.cell("Blocked", place))

    def height(self, place: Place) -> int:
        height = self.cell("Height", place)
        return height - (1 << 16) if height >> 15 else height

    def tag(self, place: Place) -> str | None:
        tag = self.cell("Tag", place)
        return self.symbols[self.infos["Tag"]["tags"][tag - 1]] if tag else None

    def cell(self, kind: str, place: Place) -> int:
        """The bits of a place's cell."""
        if (content := self.contents.get(kind)) is None:
            return 0
        cells, edge_bits = self.infos[kind]["cells"], self.infos[kind]["edge_bits"]
        x, y = (min(max(at >> edge_bits, 0), most - 1) for at, most in zip(place, cells, strict=False))
        number = y * cells[0] + x
        if (edited := self.edited.get((kind, number))) is not None:
            return edited & (1 << BITS[kind]) - 1
        first, bits = number * BITS[kind], BITS[kind]
        word = int.from_bytes(content[first // 8:(first + bits + 7) // 8], "little")
        return word >> first % 8 & (1 << bits) - 1
