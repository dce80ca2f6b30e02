"""After the first page: loading what the next ones need, and the first turn, one part at a time."""

import asyncio
import gc
import logging
from collections.abc import Iterator

from studio import late
from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Unavailable

log = logging.getLogger("studio")


def settle() -> None:
    """Let the collector of cycles leave alone what was loaded, and look less often at the rest:
    sessions are thousands of small records without cycles, and looking took a sixth of a turn."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


async def warm(
    reader: Reader, studio: Person, first: asyncio.Event, *, web: bool, work: bool
) -> None:
    """Load what this process is for; `first` is set when its first page is out."""
    if web:
        await late.load(_pages(), first)
    if work and await _has_servers(reader, studio):
        from studio.core.tools.catalog import SDK

        await late.load(late.modules(SDK), first)
    settle()


def _pages() -> Iterator[late.Step]:
    from studio import web  # a process that only works needs no pages

    yield from web.later()
    yield from late.below("studio.api")


async def _has_servers(reader: Reader, studio: Person) -> bool:
    """Whether a turn is likely to speak to an MCP server; what that takes is large."""
    try:
        return bool(await reader.servers(studio))
    except Unavailable as error:
        log.warning("Whether there are MCP servers is not known: %s", error)
        return False
