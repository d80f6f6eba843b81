"""Serialised messages, by shapes."""

from typing import Any

from .bits import Malformed, unzigzag, zigzag
from .shapes import TALK_REQUEST


class Serial:
    """Reads serialised messages."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def integer(self, width: int = 0) -> int:
        self.at += max(width, 1)
        if self.at > len(self.data):
            raise Malformed("the message ends before its content does")
        if width:
            return int.from_bytes(self.data[self.at - width:self.at], "little")
        first = self.data[self.at - 1]
        if first <= 250:
            return first
        if first > 0xFD:
            raise Malformed(f"an integer that begins with {first}")
        size = 1 << first - 0xFA
        number = self.integer(size)
        if number <= 250 or number >> 4 * size == 0 and size > 2:
            raise Malformed("an integer takes more room than it needs")
        return number

    def read(self, shape: Any) -> Any:
        match shape:
            case "byte":
                return self.integer(1)
            case "bool":
                return self.integer(1) == 1
            case "integer":
                return self.integer()
            case "signed":
                return unzigzag(self.integer())
            case "text":
                return bytes(self.read(("list", "byte"))).decode()
            case dict():
                return {name: self.read(each) for name, each in shape.items()}
            case ("list", each):
                return [self.read(each) for _ in range(self.integer())]
            case ("optional", each):
                return self.read(each) if self.read("bool") else None
            case ("one", *names):
                return names[self.integer()]
            case ("variant", variants):
                name = list(variants)[self.integer()]
                return {name: self.read(variants[name])}
            case (count, each):
                return [self.read(each) for _ in range(count)]


def integer(number: int) -> bytes:
    """An integer, serialised."""
    if number <= 250:
        return bytes([number])
    mark, width = next((0xFA + i, 1 << i) for i in (1, 2, 3) if number >> (8 << i) == 0)
    return bytes([mark]) + number.to_bytes(width, "little")


def hello_bytes(hello: dict[str, Any]) -> bytes:
    """What a client sends first."""
    token, name, resume = hello["token"].encode(), hello["name"].encode(), hello["resume"]
    schema_hash = hello["schema_hash"]
    body = integer(hello["version"]) + integer(len(token)) + token + integer(len(name)) + name
    body += b"\0" if schema_hash is None else b"\1" + integer(schema_hash)
    body += b"\0" if resume is None else b"\1" + bytes(resume)
    body += bytes([hello["spectates"]])
    return len(body).to_bytes(4, "little") + body


def talk_bytes(number: int, what: str, texts: dict[str, str]) -> bytes:
    """A request for talk: a variant of `TALK_REQUEST`, with its fields."""
    fields = TALK_REQUEST[what]
    if set(texts) != set(fields):
        raise TypeError(f"{what} has the fields {', '.join(fields)}")
    body = integer(number) + integer(TALK_BODY) + integer(list(TALK_REQUEST).index(what))
    for each in (texts[name].encode() for name in fields):
        body += integer(len(each)) + each
    return len(body).to_bytes(4, "little") + body


def layer_bytes(number: int, layer_hash: int) -> bytes:
    """A request for the content of a layer."""
    body = integer(number) + integer(LAYER_BODY) + integer(layer_hash)
    return len(body).to_bytes(4, "little") + body


def ranking_bytes(number: int, ranking: int, length: int) -> bytes:
    """A request for the first so many of a ranking; 0: no longer."""
    body = integer(number) + integer(RANKING_BODY) + integer(ranking) + integer(length)
    return len(body).to_bytes(4, "little") + body


def text_bytes(number: int, text: str) -> bytes:
    """A request that gives a text, for commands."""
    encoded = text.encode()
    body = integer(number) + integer(TEXT_BODY) + integer(len(encoded)) + encoded
    return len(body).to_bytes(4, "little") + body


def texts_bytes(number: int, handles: list[int]) -> bytes:
    """A request for the texts of handles."""
    body = integer(number) + integer(TEXTS_BODY) + integer(len(handles))
    body += b"".join(integer(zigzag(handle)) for handle in handles)
    return len(body).to_bytes(4, "little") + body


def read_length(data: bytes | bytearray) -> tuple[int, int] | None:
    """The length in front of a message, and its own bytes; none until it has arrived."""
    length = 0
    for i, byte in enumerate(data[:4]):
        length |= (byte & 0x7F) << 7 * i
        if length > MESSAGE_BYTES_MAX or byte >= 0x80 and i == 3:
            raise Malformed(f"a message of {length} bytes")
        if byte == 0 and i > 0:
            raise Malformed("a length takes more room than it needs")
        if byte < 0x80:
            return length, i + 1
    return None


MESSAGE_BYTES_MAX = 1 << 20
# Variants of a request's body.
TALK_BODY = 5
LAYER_BODY = 6
RANKING_BODY = 7
TEXT_BODY = 8
TEXTS_BODY = 9
