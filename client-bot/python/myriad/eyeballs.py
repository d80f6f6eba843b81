"""Which of a name's addresses to use: the one that answers first (RFC 8305)."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import chain, zip_longest
from socket import SOCK_DGRAM
from typing import TypeVar

Reached = TypeVar("Reached")
# How long the next attempt waits for the one before.
ATTEMPT_SECONDS = 0.25


async def addresses(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system sorts them; families take turns."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=SOCK_DGRAM)
    first = found[0][0]
    # Without duplicates.
    ours = dict.fromkeys(place[0] for family, *_, place in found if family == first)
    others = dict.fromkeys(place[0] for family, *_, place in found if family != first)
    return [address for address in chain(*zip_longest(ours, others)) if address is not None]


async def race(to: list[str], attempt: Callable[[str], Awaitable[Reached]]) -> Reached:
    """The result of the attempt that succeeds first; the others are cancelled."""
    waiting, running = list(to), set()
    try:
        while True:
            if waiting:
                running.add(asyncio.ensure_future(attempt(waiting.pop(0))))
            seconds = ATTEMPT_SECONDS if waiting else None
            done, running = await asyncio.wait(running, timeout=seconds,
                                               return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                # Of two at once, the other ends by its idle time.
                if one.exception() is None:
                    return one.result()
            if done and not running and not waiting:
                raise done.pop().exception()
    finally:
        for one in running:
            one.cancel()
