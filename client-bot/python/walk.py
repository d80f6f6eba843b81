"""Joins a world, walks some units along the first axis, and leaves.

    python walk.py 127.0.0.1 4433 --name Monty --units 5

`walk_world.py` was written by `myriad bindings --lang py client-bot/bindings/walk.toml`.
"""

import argparse
import asyncio
import json
import sys

import walk_world
from myriad import Client, Ended, View, connect

UNIT = 4096


def own_place(client: Client) -> list[int] | None:
    """Where the client sees its own entity, in raw units."""
    return client.view.position(client.view.own["slot"], client.view.newest)


async def walk(client: Client, units: int) -> tuple[list[int], list[int]]:
    """Walks towards the middle of the world, and gives the first place and the last."""
    while (start := own_place(client)) is None:
        await client.tick()
    ahead = 1.0 if start[0] < client.view.world.edges[0] // 2 else -1.0
    world = walk_world.World(client)
    while client.sequence < units:
        # The world runs each command in a tick of its own.
        tick = client.view.newest
        world.give.move(ahead, 0.0)
        client.flush()
        while client.view.newest == tick:
            await client.tick()
    while client.view.processed < client.sequence:
        await client.tick()
    # The walk arrives with the tick that has processed it, maybe in another datagram.
    end = client.view.newest + 2
    while client.view.newest < end:
        await client.tick()
    return start, own_place(client) or start


async def stay(client: Client) -> None:
    """Prints twice a second what is in view, until standard input ends."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, lambda: sys.stdin.readline() or ended.set())
    due = loop.time()
    while not ended.is_set():
        await client.tick()
        if loop.time() >= due:
            due += 0.5
            print(json.dumps({"tick": client.view.newest, "rows": rows(client.view)}), flush=True)


def rows(view: View) -> dict[int, list[int]]:
    """By slot: a value for each attribute of an entity, 0 where it is not known."""
    columns = range(len(view.world.axes), len(view.world.columns))
    return {slot: [*entity.courses[-1].at(view.newest, view.world.edges),
                   *(entity.values.get(column, 0) for column in columns)]
            for slot, entity in view.entities.items()}


async def play(arguments: argparse.Namespace) -> int:
    async with connect(arguments.host, arguments.port, arguments.fingerprint,
                       bindings=walk_world.BINDINGS, token=arguments.token, name=arguments.name) as client:
        start, end = await asyncio.wait_for(walk(client, arguments.units), arguments.seconds)
        print(json.dumps({"entity": client.view.own, "from": start, "to": end}), flush=True)
        if arguments.stay:
            await stay(client)
        client.leave()
    return 0 if abs(end[0] - start[0]) == arguments.units * UNIT else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--name", default="", help="what the player is called")
    parser.add_argument("--token", default="", help="what the server requires")
    parser.add_argument("--fingerprint", help="SHA-256 of the server's certificate (any)")
    parser.add_argument("--units", type=int, default=5, help="how far to walk")
    parser.add_argument("--seconds", type=float, default=60, help="how long that may take")
    parser.add_argument("--stay", action="store_true",
                        help="look around then, until standard input ends")
    try:
        return asyncio.run(play(parser.parse_args()))
    except (Ended, OSError, TimeoutError) as error:
        print(f"walk: {error or 'it took too long'}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
