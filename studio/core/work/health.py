"""Health of MCP servers: what a worker found is left for the pages of every process."""

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from studio.core.clock import Clock
from studio.core.masking import Mask
from studio.core.rules.errors import Unavailable
from studio.core.store import servers
from studio.core.store.db import Db
from studio.core.store.servers import ServerState
from studio.core.tools.catalog import LiveCatalog
from studio.core.tools.mcp.connection import Down
from studio.core.tools.servers import BadServer
from studio.core.tools.tool import ServerSeen
from studio.core.work.probing import LookError

AGAIN = 20_000  # ms after which a server that is as it was is written down again


class Health:
    """Writes down how servers are: at once when one changed, else now and then."""

    def __init__(self, db: Db, clock: Clock) -> None:
        self._db, self._clock = db, clock
        self._written: dict[str, tuple[object, int]] = {}

    async def note(self, seen: Iterable[ServerSeen], mask: Mask) -> None:
        """Leave word of these, without secrets."""
        now = self._clock.now()
        news = [hidden for one in seen if self._is_news(hidden := _hidden(one, mask), now)]
        if not news:
            return
        states = [_state(one, now) for one in news]
        with suppress(Unavailable):  # it is left the next time
            await self._db.touch(lambda conn: servers.save(conn, states, now))
            self._written |= {one.id: (_key(one), now) for one in news}

    def _is_news(self, seen: ServerSeen, now: int) -> bool:
        key, at = self._written.get(seen.id, (None, 0))
        return key != _key(seen) or now - at >= AGAIN


def look(catalog: LiveCatalog) -> Callable[[Any], Awaitable[Any]]:
    """The look at what a server would bring, for `Probing`."""

    async def looking(subject: Any) -> Any:
        try:
            return await catalog.preview(subject)
        except (BadServer, Down) as wrong:
            raise LookError("server.down", str(wrong)) from None

    return looking


def _hidden(seen: ServerSeen, mask: Mask) -> ServerSeen:
    """The same without what a server told of secrets."""
    return replace(
        seen, error=mask.text(seen.error), said=mask.text(seen.said),
        tools=tuple(mask.text(name) for name in seen.tools),
    )  # fmt: skip


def _key(seen: ServerSeen) -> object:
    return seen.is_up, seen.error, seen.said, seen.tools


def _state(seen: ServerSeen, now: int) -> ServerState:
    return ServerState(
        id=seen.id, name=seen.name, plugin=seen.plugin, plugin_version=seen.plugin_version,
        transport=seen.transport, destination=seen.destination,
        state="up" if seen.is_up else "down", error=seen.error, said=seen.said,
        latency=seen.latency, tools=seen.tools,
        listed=None if seen.age is None else now - round(seen.age * 1000), asked=now, changed=now,
        worker=f"process {os.getpid()}",
    )  # fmt: skip
