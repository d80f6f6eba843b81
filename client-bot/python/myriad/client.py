"""A connection over QUIC, by aioquic."""

import asyncio
import contextlib
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import aioquic.asyncio
from aioquic.asyncio import QuicConnectionProtocol
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import (
    ConnectionTerminated,
    DatagramFrameReceived,
    QuicEvent,
    StreamDataReceived,
)
from cryptography.hazmat.primitives.serialization import Encoding

from . import bindings as bound
from .bits import Malformed
from .close import OTHER, TIMED_OUT, UNTRUSTED, Ended, closed
from .eyeballs import addresses, race
from .layers import Layers
from .serial import (
    Serial,
    hello_bytes,
    layer_bytes,
    ranking_bytes,
    read_length,
    talk_bytes,
    text_bytes,
    texts_bytes,
)
from .planes import Planes
from .shapes import TALK, VERSION, WELCOME
from .view import View
from .world import World

ALPNS = [f"myriad/1.{VERSION}", "myriad/1"]
BYE, MALFORMED = 0, 3
# Bytes of a datagram for commands, and of a command and each of its words, at most.
DATAGRAM_BYTES, COMMAND_BYTES, WORD_BYTES = 1000, 4, 5
# Numbers that a program leaves out after the commands of another one.
SEQUENCE_GAP = 4096
NOTHING = {"version": VERSION, "token": "", "name": "", "schema_hash": None, "resume": None,
           "spectates": False}
# The server sends two datagrams a second, or one a tick, and some may be lost.
UNSTABLE_SECONDS = 1.5
# After which a connection is lost: less where another server has the world.
SILENCE_SECONDS, SILENCE_SECONDS_BESIDE_OTHERS = 5.0, 2.0
# Texts that a request asks for, and texts that are kept, at most.
TEXTS_AT_ONCE, TEXTS_MAX = 32, 8192
# Servers that are full, at most, and name another one.
REDIRECTS_MAX = 4


class TextRefused(Exception):
    """A text that the server does not take, and why."""


class Client(QuicConnectionProtocol):
    """A client in the world, once it is `connect`ed."""

    welcome: dict[str, Any]
    view: View
    # Walls, heights and tags, which come after the welcome.
    layers: Layers
    # Worlds within the world: which one a place is in.
    planes: Planes
    # By name, those that were asked for: `own` is the own entity's place, or 0, and `first` a list
    # of `entity`, `value` and `name`.
    rankings: dict[str, dict[str, Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stream, self.news = bytearray(), asyncio.Event()
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.ended: ConnectionTerminated | None = None
        self.is_welcome = False
        # The other servers of the world, as HOST:PORT: where to try if this one is gone.
        self.servers: list[str] = []
        # The text of the game's bindings, if it has some, and how they differ from the world.
        self.bindings: str | None = None
        self.mismatch: Ended | None = None
        self.last_received = asyncio.get_running_loop().time()
        # Sequence number and (number, words) of the commands that are not processed yet.
        self.commands: list[tuple[int, tuple[int, list[int]]]] = []
        self.sequence = 0
        self.requests = 0
        # By handle; none if the world has a text no more.
        self.texts: dict[int, str | None] = {}
        # Texts that are missing, and by request those that the server was asked for.
        self.missing: list[int] = []
        self.asked_texts: dict[int, list[int]] = {}
        # By request: texts that were given, until they are granted.
        self.given: dict[int, asyncio.Future[int]] = {}
        # Names of rankings, and how many of the first of each.
        self.asked: dict[str, int] = {}

    def hello(self, hello: dict[str, Any]) -> None:
        self._quic.send_stream_data(0, hello_bytes(hello))
        self.transmit()

    def command(self, name: str, *words: int) -> int:
        """Gives a command with the next datagram. Returns its sequence number."""
        self.sequence += 1
        self.commands.append((self.sequence, (self.view.world.command(name)["kind"], list(words))))
        # The latest that fit into a datagram, whatever they are.
        room, count = DATAGRAM_BYTES, 0
        for _, (_, given) in reversed(self.commands):
            room -= COMMAND_BYTES + WORD_BYTES * len(given)
            count += room >= 0
        self.commands = self.commands[len(self.commands) - count:]
        return self.sequence

    async def command_with(self, name: str, *arguments: int | str) -> int:
        """Gives a command with texts among its arguments, once the server has granted them, and
        returns its sequence number. One that it does not take is `TextRefused`."""
        words = [await self.give_text(each) if isinstance(each, str) else each
                 for each in arguments]
        return self.command(name, *words)

    async def give_text(self, text: str) -> int:
        """The handle of a text, which commands may use for half a minute."""
        if not text:
            return 0
        self.requests += 1
        granted = self.given[self.requests] = asyncio.get_running_loop().create_future()
        self._quic.send_stream_data(0, text_bytes(self.requests, text))
        self.transmit()
        return await granted

    def text(self, handle: int) -> str | None:
        """The text of an attribute, a word or a field. None: it comes later, if the world has it."""
        if handle == 0 or handle in self.texts:
            return self.texts[handle] if handle else ""
        if handle not in self.missing and all(handle not in each
                                              for each in self.asked_texts.values()):
            self.missing.append(handle)
        return None

    def ask_texts(self) -> None:
        """Asks for texts that are missing."""
        while self.missing and len(self.asked_texts) < 4:
            self.requests += 1
            handles = self.missing[:TEXTS_AT_ONCE]
            self.asked_texts[self.requests], self.missing = handles, self.missing[TEXTS_AT_ONCE:]
            self._quic.send_stream_data(0, texts_bytes(self.requests, handles))

    def take_texts(self, content: dict[str, Any]) -> None:
        texts = content["texts"]
        self.asked_texts.pop(content["request"], None)
        if len(self.texts) + len(texts) > TEXTS_MAX:
            # Those that are still needed are asked for again.
            self.texts = {}
        self.texts |= {each["handle"]: each["text"] for each in texts}
        granted = self.given.pop(content["request"], None)
        if granted and not granted.done():
            granted.set_result(texts[0]["handle"])

    def take_answer(self, content: dict[str, Any]) -> None:
        self.asked_texts.pop(content["request"], None)
        refused = self.given.pop(content["request"], None)
        if refused and not refused.done():
            refused.set_exception(TextRefused(content["refusal"]))

    def talk(self, what: str, **texts: str) -> int:
        """Talks: `talk("Say", text="hello")`, `talk("Whisper", to="Ann", text="hello")`,
        `talk("Mute", name="Bob")` and so on, see `TALK_REQUEST`. Returns the request's number,
        which its answer among the messages has."""
        self.requests += 1
        self._quic.send_stream_data(0, talk_bytes(self.requests, what, texts))
        self.transmit()
        return self.requests

    def ask_ranking(self, name: str, length: int) -> None:
        """Has `rankings` hold the first so many of a ranking from now on, also after a restart;
        0: no longer. A ranking that the world does not have is a `LookupError`."""
        names = [each["name"] for each in self.welcome["rankings"]]
        if name not in names:
            raise LookupError(f"there is no ranking {name!r} for clients, only {names}")
        self.asked[name] = length
        self.send_ranking(names.index(name), length)
        self.transmit()

    def send_ranking(self, number: int, length: int) -> None:
        self.requests += 1
        self._quic.send_stream_data(0, ranking_bytes(self.requests, number, length))

    def take_ranking(self, content: dict[str, Any]) -> None:
        name = self.welcome["rankings"][content["ranking"]]["name"]
        before = self.rankings.get(name, {"first": []})
        first = before["first"] if content["first"] is None else content["first"]
        self.rankings[name] = {"own": content["own"], "first": first}

    async def tick(self) -> None:
        """Waits for news, then acknowledges them and sends what commands there are."""
        self.news.clear()
        # Cleared before: the end may have come since.
        while not self.ended and not self.news.is_set():
            await self.wait_for_news()
        if self.mismatch:
            raise self.mismatch
        if self.ended:
            raise self.end(self.ended)
        if self.is_welcome:
            self.flush()

    async def wait_for_news(self) -> None:
        """Waits for news, and not for ever: a server that is gone does not say so."""
        longest = SILENCE_SECONDS_BESIDE_OTHERS if self.servers else SILENCE_SECONDS
        silent = asyncio.get_running_loop().time() - self.last_received
        if silent > longest:
            raise Ended(TIMED_OUT, f"nothing was received for {longest} seconds")
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.news.wait(), longest - silent + 0.01)

    def flush(self) -> None:
        """Sends what was received, and the commands that are not processed yet."""
        view = self.view
        self.ask_texts()
        self.commands = [each for each in self.commands if each[0] > view.processed]
        first = self.sequence + 1 - len(self.commands)
        self._quic.send_datagram_frame(view.world.datagram(
            self.epoch, view.complete, view.mask, view.read, first, [c for _, c in self.commands]))
        self.transmit()

    def is_link_good(self) -> bool:
        """Whether a packet came within `UNSTABLE_SECONDS`, or 2.5 ticks of a slow world: it
        is never silent for longer, unless packets are lost, or it stands still."""
        tick_hz = self.welcome["schema"]["world"]["tick_hz"] if self.welcome else 1
        silent = asyncio.get_running_loop().time() - self.last_received
        return silent < max(UNSTABLE_SECONDS, 2.5 / tick_hz)

    @staticmethod
    def end(event: ConnectionTerminated) -> Ended:
        # Errors of QUIC itself name a frame; closes of the server do not.
        if event.frame_type is None:
            return closed(event.error_code, event.reason_phrase)
        return Ended(OTHER, event.reason_phrase)

    def leave(self) -> None:
        """Leaves for good."""
        self.close(BYE, "bye")

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, (StreamDataReceived, DatagramFrameReceived)):
            self.last_received = asyncio.get_running_loop().time()
        try:
            match event:
                case StreamDataReceived(data=data):
                    self.stream += data
                    while (message := self.next_message()) is not None:
                        self.take_message(message)
                # The server repeats what comes before the welcome.
                case DatagramFrameReceived(data=data) if self.is_welcome:
                    self.view.take_datagram(data)
                    self.news.set()
                case ConnectionTerminated():
                    self.ended = event
                    for given in self.given.values():
                        if not given.done():
                            given.set_exception(self.end(event))
                    self.given = {}
                    self.news.set()
        except (Malformed, LookupError, ValueError) as error:
            self.close(MALFORMED, f"cannot read what the server sent: {error}")

    def next_message(self) -> bytes | None:
        """The next whole message of the stream, without its length."""
        if not (head := read_length(self.stream)) or len(self.stream) < sum(head):
            return None
        length, start = head
        message = bytes(self.stream[start:start + length])
        del self.stream[:start + length]
        return message

    def take_message(self, message: bytes) -> None:
        if self.is_welcome:
            for name, content in self.view.take_frame(message):
                if name == "layer":
                    self.layers.take(content)
                    continue
                if name == "edits":
                    self.layers.edit(content["edits"])
                    continue
                if name == "ranking":
                    self.take_ranking(content)
                    continue
                if name == "texts":
                    self.take_texts(content)
                    continue
                if name == "answer" and content["refusal"] is not None:
                    self.take_answer(content)
                if name == "talk":
                    content = Serial(content["bytes"]).read(TALK)
                self.messages.append((name, content))
                if name == "refused":
                    content["text"] = self.why(content)
                if name == "interface":
                    self.change_interface(content)
                if name == "servers":
                    self.servers = content["servers"]
                if name == "restart":
                    # A welcome comes next.
                    self.is_welcome = False
        else:
            self.welcome = Serial(message).read(WELCOME)
            self.check_bindings(self.welcome["schema"])
            self.epoch, self.servers = self.welcome["commands_epoch"], self.welcome["servers"]
            world = World(self.welcome["schema"])
            self.view = View(world, self.welcome["entity"], self.welcome["tick"], text=self.text)
            self.continue_commands(self.welcome["processed"])
            self.is_welcome = True
            self.layers = Layers(self.welcome["layers"], self.welcome["schema"]["symbols"],
                                 self.welcome["editable"])
            for layer_hash in self.layers.hashes():
                self.requests += 1
                self._quic.send_stream_data(0, layer_bytes(self.requests, layer_hash))
            self.planes = Planes(self.welcome["planes"], self.welcome["schema"]["world"]["size"])
            self.rankings = {}
            for number, ranking in enumerate(self.welcome["rankings"]):
                if self.asked.get(ranking["name"]):
                    self.send_ranking(number, self.asked[ranking["name"]])
            self.transmit()
        self.news.set()

    def continue_commands(self, processed: int | None) -> None:
        """Goes on with the commands of the session before that the world has not processed."""
        goes_on = self.welcome["resumed"] and processed is not None and processed <= self.sequence
        done = processed or 0
        self.commands = [each for each in self.commands if goes_on and each[0] > done]
        if not goes_on:
            # Commands of another program may still be on their way.
            self.sequence = 0 if processed is None else processed + SEQUENCE_GAP
        self.view.processed = done

    def change_interface(self, interface: dict[str, Any]) -> None:
        """Takes over other commands. Those that wait are dropped: their numbers may be others'."""
        self.epoch, self.commands = interface["commands_epoch"], []
        names = ("commands", "notifications", "constants")
        self.view.world.schema |= {name: interface[name] for name in names}
        self.welcome["reasons"] = interface["reasons"]
        self.check_bindings(self.view.world.schema)

    def why(self, refused: dict[str, Any]) -> str | None:
        """What the world's scripts say of commands without effect, for players."""
        number, reasons = refused["because"], self.welcome["reasons"]
        return None if number is None or number >= len(reasons) else reasons[number]

    def check_bindings(self, schema: dict[str, Any]) -> None:
        """Leaves a world that lacks some of what the game's bindings name."""
        try:
            if self.bindings is not None:
                bound.check(self.bindings, schema)
        except Ended as mismatch:
            self.mismatch = mismatch
            self.close(BYE, "the world is not that of the game's bindings")

    def certificate_hash(self) -> str:
        """The SHA-256 fingerprint of the server's certificate."""
        # aioquic has no public name for it.
        certificate = self._quic.tls._peer_certificate
        return hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()


@asynccontextmanager
async def connect(host: str, port: int, fingerprint: str | None = None, *,
                  bindings: str | None = None, lost: Client | None = None,
                  **hello: Any) -> AsyncIterator[Client]:
    """Joins a world, at the address of the host that answers first. `hello` has fields of the
    hello that are not as in `NOTHING`. Without the fingerprint of its certificate, any certificate
    is accepted. `bindings` is `BINDINGS` of the game's generated ones: a world that lacks some of
    what they name is left, with `Ended`. `lost` is a client whose connection has ended: it comes back
    as the same entity, at one of the servers of which it was sent the addresses, or at the host, and
    gives the commands again that were not processed."""
    addresses_left = [(host, port)]
    if lost and lost.welcome:
        addresses_left = [parse_address(server) for server in lost.servers] + addresses_left
        hello.setdefault("resume", lost.welcome["ticket"])
    redirects = 0
    async with AsyncExitStack() as stack:
        while True:
            own, client = None, None
            place = addresses_left.pop(0)
            try:
                own, client = await reach(place, host, fingerprint)
                client.bindings = bindings
                if lost:
                    client.commands, client.sequence = list(lost.commands), lost.sequence
                client.hello(NOTHING | hello)
                while not client.is_welcome:
                    await client.tick()
            except (Ended, OSError) as error:
                if own:
                    await own.aclose()
                # Servers that are full may name each other.
                if isinstance(error, Ended) and error.server and redirects < REDIRECTS_MAX:
                    redirects += 1
                    addresses_left.insert(0, parse_address(error.server))
                if not addresses_left:
                    raise
                continue
            stack.push_async_exit(own)
            break
        yield client


async def reach(place: tuple[str, int], name: str,
                fingerprint: str | None) -> tuple[AsyncExitStack, Client]:
    """Opens a connection to a server, whose certificate is that of this name."""
    host, port = place

    async def attempt(address: str) -> tuple[AsyncExitStack, Client]:
        configuration = QuicConfiguration(
            alpn_protocols=ALPNS, max_datagram_frame_size=65536, server_name=name,
            verify_mode=ssl.CERT_NONE)
        async with AsyncExitStack() as own:
            client = await own.enter_async_context(aioquic.asyncio.connect(
                address, port, configuration=configuration, create_protocol=Client))
            return own.pop_all(), client

    own, client = await race(await addresses(host, port), attempt)
    if fingerprint not in (None, client.certificate_hash()):
        await own.aclose()
        raise Ended(UNTRUSTED, "it has another fingerprint than the expected one")
    return own, client


def parse_address(text: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT, where the host may be an IPv6 address in brackets."""
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)
