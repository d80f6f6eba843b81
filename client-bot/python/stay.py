"""Stays in a world until it is interrupted, and comes back as the same entity where its connection
ends, at the server or another one of the world.

    python stay.py 127.0.0.1 4433 --name Monty
"""

import argparse
import asyncio
import contextlib
import json
import sys

from myriad import Client, Ended, connect

PAUSE_SECONDS = 0.2


async def stay(arguments: argparse.Namespace) -> None:
    """Prints a line for each welcome, each change of the other servers, and each end."""
    lost: Client | None = None
    while True:
        try:
            async with connect(arguments.host, arguments.port, arguments.fingerprint, lost=lost,
                               name=arguments.name) as client:
                lost = client
                say(entity=client.welcome["entity"], resumed=client.welcome["resumed"])
                said = None
                while True:
                    if client.servers != said:
                        said = client.servers
                        say(servers=said)
                    await client.tick()
        except (Ended, OSError) as error:
            if isinstance(error, Ended) and not error.is_worth_a_retry:
                raise
            say(ended=str(error))
        await asyncio.sleep(PAUSE_SECONDS)


def say(**values: object) -> None:
    print(json.dumps(values), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    parser.add_argument("--name", default="")
    parser.add_argument("--fingerprint", help="of the server's certificate, if it is known")
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(stay(parser.parse_args()))
    except Ended as ended:
        sys.exit(str(ended))


if __name__ == "__main__":
    main()
