"""A journal's facts as they come: server-sent events whose ids are the facts' `seq`.

A reader that comes back with `Last-Event-ID` misses nothing. The key is looked at again while the
stream is open, so one that was revoked stops hearing.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from studio.api import answers, auth, shapes
from studio.api.bodies import EventsQuery, NoBody
from studio.api.endpoint import Ask
from studio.api.errors import HEADERS
from studio.core.reader import EventRow, Follow
from studio.core.rules.errors import Invalid, Unknown

LOOK_AGAIN_SECONDS = 15.0
WINDOW = 200
RETRY_MS = 1_000
Read = Callable[..., Awaitable[list[EventRow]]]  # (person, journal, after=, limit=)


def start_of(ask: Ask[EventsQuery, NoBody]) -> int:
    """Where to go on: behind Last-Event-ID when it is sent, else behind `after`."""
    header = ask.request.headers.get("last-event-id")
    if header is None:
        return ask.query.after
    if not header.isascii() or not header.isdecimal() or len(header) > 15:
        raise Invalid(
            "Last-Event-ID must be the id of an event of this stream, a whole number.",
            code="last_event_id.invalid",
        )
    return int(header)


async def response(
    ask: Ask[EventsQuery, NoBody], journal_id: str, after: int, read: Read | None = None
) -> Response:
    """The stream, after the journal was found and the person may see it.

    `read` gives its facts; without it the journal is that of a session.
    """
    read = read or ask.reader.events
    await read(ask.person, journal_id, after=after, limit=1)
    held = ask.parts.gate.stream(ask.person)
    held.__enter__()  # now, so that one stream too many is a 429 and not a broken stream
    told = facts(ask, journal_id, after, read)
    return Held(told, held, headers=HEADERS, ping=LOOK_AGAIN_SECONDS)


class Held(EventSourceResponse):
    """A stream that gives its slot back however it ends, also before its first event."""

    def __init__(
        self, told: AsyncIterator[ServerSentEvent], slot: AbstractContextManager[None],
        **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(told, **options)
        self._slot = slot

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._slot.__exit__(None, None, None)


async def facts(
    ask: Ask[EventsQuery, NoBody], journal_id: str, after: int, read: Read | None = None
) -> AsyncIterator[ServerSentEvent]:
    """Every fact behind `after`, and then each as it is recorded, until the key is revoked."""
    read = read or ask.reader.events
    yield ServerSentEvent(comment="open", retry=RETRY_MS)
    async with ask.reader.follow() as grown:
        while True:
            rows = await read(ask.person, journal_id, after=after, limit=WINDOW)
            for row in rows:
                yield _event(row)
                after = row.seq
            if len(rows) < WINDOW and not await _grew(ask, grown, journal_id):
                return


async def _grew(ask: Ask[EventsQuery, NoBody], grown: Follow, journal_id: str) -> bool:
    """Wait until the journal grew; false when the key opens nothing any more."""
    while True:
        try:
            async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                while journal_id not in await grown.get():
                    pass
            return await _still_known(ask)
        except TimeoutError:
            if not await _still_known(ask):
                return False


async def _still_known(ask: Ask[EventsQuery, NoBody]) -> bool:
    try:
        return await auth.person_of(ask.request, ask.runtime) == ask.person
    except Unknown:
        return False


def _event(row: EventRow) -> ServerSentEvent:
    data = shapes.render(answers.take(answers.Event, row))
    return ServerSentEvent(id=str(row.seq), data=json.dumps(data, separators=(",", ":")))
