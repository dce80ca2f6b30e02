"""Plain connections for those who speak for themselves, to addresses that were judged alone."""

import asyncio
from collections.abc import Awaitable, Callable

from studio.core.network.resolver import Rules
from studio.core.network.wire import CONNECT_SECONDS

BUFFER = 64 * 1024
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[str, int], Awaitable[Pair]]


class Unreachable(Exception):
    """The host may be reached and did not answer; the message says how, in words."""


async def dial(address: str, port: int) -> Pair:
    """A TCP connection to an address, which is no name."""
    return await asyncio.open_connection(address, port, limit=BUFFER)


async def connect(rules: Rules, host: str, port: int, dial: Dial = dial) -> Pair:
    """Connect to the first address of a host that answers.

    A name is asked for once. Refused and Unresolved come from the rules; Unreachable when no
    address answers within `CONNECT_SECONDS` each.
    """
    wrong = ""
    for address in await rules.vetted(host, port):
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await dial(address, port)
        except TimeoutError:
            wrong = f"{host} did not answer at port {port} in {CONNECT_SECONDS:.0f} s."
        except OSError as error:
            wrong = f"{host} refused the connection at port {port}"
            wrong += f" ({error.strerror})." if error.strerror else "."
    raise Unreachable(wrong)
