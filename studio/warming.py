"""After the first page: loading what the next ones need, one part at a time.

What a turn needs of other people's libraries is not loaded ahead: it is large, and whoever only
answers, or has no use for it, would carry it for nothing.
"""

import asyncio
import gc
from collections.abc import Iterator

from studio import late


def settle() -> None:
    """Let the collector of cycles leave alone what was loaded, and look less often at the rest:
    sessions are thousands of small records without cycles, and looking took a sixth of a turn."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    gc.enable()


async def warm(first: asyncio.Event) -> None:
    """Load every page and the verbs of programs; `first` is set when the first page is out."""
    await late.load(_pages(), first)
    settle()


def _pages() -> Iterator[late.Step]:
    from studio import web  # a process that only works needs no pages

    yield from web.later()
    yield from late.below("studio.api")
