"""How a connection ends."""

import re
from dataclasses import dataclass

# By number: a name, words for people, and whether another attempt makes sense.
CLOSES = {
    0: ("bye", "the server has ended the session", False),
    1: ("refused", "the server refuses the client", False),
    2: ("full", "the server is full", True),
    3: ("malformed", "client and server do not understand each other", False),
    4: ("too_slow", "the client was too slow for the server", True),
    5: ("resumed", "the session continues on another connection", False),
    6: ("shutdown", "the server is shutting down", True),
    7: ("removed", "the player's entity was removed", False),
    8: ("replaced", "the account plays from another place", False),
    9: ("kicked", "kicked by the operator", False),
    10: ("starting", "the server is starting", True),
    11: ("standby", "the server is on standby", True),
    12: ("banned", "banned", False),
    13: ("unauthorized", "the server does not accept the token", False),
    14: ("outdated", "the game and the server have different versions", False),
    15: ("schema_mismatch", "the game was made for another world", False),
    16: ("too_often", "the account connects too often", True),
}
# What a client finds without a word of the server.
TIMED_OUT = ("timed_out", "the server does not answer", True)
UNTRUSTED = ("untrusted", "the server's certificate is not trusted", False)
OTHER = ("other", "the connection was lost", True)

FULL, OUTDATED, SCHEMA_MISMATCH = 2, 14, 15
REASON_BYTES_MAX, URL_BYTES_MAX = 1024, 255
UPDATE = re.compile(r"\[version=([0-9]{1,9})(?: url=(https?://[!-~]+))?\]\Z")
SERVER = re.compile(r"\[server=([!-~]{1,249}:[0-9]{1,5})\]\Z")


@dataclass
class Update:
    """The update that a server names to a client of another version."""

    server_version: int
    url: str | None


class Ended(Exception):
    """The connection has ended: `name` and `words` are the reason, and `reason` is the sentence of the
    server. After `outdated`, `update` has the server's version, and where it is; after `full`, `server`
    is another one that may have room, as HOST:PORT, or `None`."""

    def __init__(self, cause: tuple[str, str, bool], reason: str, code: int | None = None) -> None:
        self.name, self.words, self.is_worth_a_retry = cause
        self.code, self.reason = code, reason
        self.update: Update | None = None
        self.server: str | None = None
        if code == OUTDATED:
            self.reason, self.update = split_update(reason)
        if code == FULL and (found := SERVER.search(reason)):
            self.reason, self.server = reason[:found.start()].rstrip(), found[1]
        super().__init__(f"{self.words}: {self.reason}" if self.reason else self.words)


def closed(code: int, reason: str) -> Ended:
    """A close by the server."""
    return Ended(CLOSES.get(code, OTHER), reason, code)


def split_update(reason: str) -> tuple[str, Update | None]:
    """The sentence for people, and the update that follows it."""
    found = UPDATE.search(reason) if len(reason.encode()) <= REASON_BYTES_MAX else None
    if not found or int(found[1]) >= 1 << 16 or len(found[2] or "") > URL_BYTES_MAX:
        return reason, None
    return reason[:found.start()].rstrip(), Update(int(found[1]), found[2])
