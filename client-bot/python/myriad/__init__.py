"""A small client of Myriad, written from shared/PROTOCOL.md and no other code of this project.

| module | holds |
| --- | --- |
| bits | bit fields, and the numbers in them |
| serial | serialised messages |
| shapes | the fields of each serialised message |
| world | the messages of one world: frames and datagrams |
| view | the world as a client received it |
| client | a connection over QUIC, by aioquic |
| bindings | what the generated bindings of a world stand on |
| close | why a connection has ended |
"""

from .client import Client, TextRefused, connect
from .close import Ended, Update
from .planes import Plane, Planes
from .view import Entity, View
from .world import World

__all__ = ["Client", "Ended", "Entity", "Plane", "Planes", "TextRefused", "Update", "View", "World", "connect"]
