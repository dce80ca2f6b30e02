"""Exports: a session, or what the filters of a list choose, as a file that is streamed."""

from dataclasses import asdict
from typing import Any

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from studio import __version__
from studio.api import export_bodies as xb
from studio.api.bodies import NoBody
from studio.api.endpoint import Ask, Endpoint
from studio.api.errors import HEADERS
from studio.core.reader import Export
from studio.core.rules import ranges
from studio.core.rules.errors import Invalid

OF_SESSIONS = ("q", "needs", "environment")
OF_TURNS = ("tool", "error", "seconds", "under", "cost", "since", "until")


async def session(ask: Ask[xb.ExportQuery, NoBody]) -> Response:
    """One session, whole."""
    query = ask.query
    found = await ask.reader.export_session(
        ask.person, ask.part("id"), query.format, version=__version__, inline=query.inline
    )
    return HeldFile(ask, found)


async def some(ask: Ask[xb.ExportsQuery, NoBody]) -> Response:
    """Every session, or every turn, that fits."""
    given = asdict(ask.query)
    of, format, inline = given.pop("of"), given.pop("format"), given.pop("inline")
    strange = {name for name in (OF_TURNS if of == "sessions" else OF_SESSIONS) if given[name]}
    if strange:
        raise Invalid(
            f"These filters are not of {of}.", code="export.filters",
            fields={name: f"is no filter of {of}." for name in sorted(strange)},
        )  # fmt: skip
    export = ask.reader.export_turns if of == "turns" else ask.reader.export_sessions
    found = await export(ask.person, given, format, version=__version__, inline=inline)
    return HeldFile(ask, found)


class HeldFile(StreamingResponse):
    """A file that takes one of the streams a key may have, and gives it back however it ends."""

    def __init__(self, ask: Ask[Any, NoBody], export: Export) -> None:
        named = {"Content-Disposition": ranges.disposition(export.name)}
        super().__init__(export.text, headers={**HEADERS, **named}, media_type=export.media)
        self._export = export
        self._slot = ask.parts.gate.stream(ask.person)
        self._slot.__enter__()  # now, so that one too many is a 429 and not a broken file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._slot.__exit__(None, None, None)
            await self._export.text.aclose()


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="export_session", method="GET", path="/sessions/{id}/export", call=session,
        gives=None, query=xb.ExportQuery, gives_file=True, errors=(429,),
        says="Take a session away as Markdown, as its facts, or as OpenTelemetry spans.",
    ),
    Endpoint(
        name="export_many", method="GET", path="/exports", call=some, gives=None,
        query=xb.ExportsQuery, gives_file=True, errors=(429,),
        says="Take away every session, or every turn, that the filters of its list choose. The "
        "last line has the counts, or says what went wrong.",
    ),
)  # fmt: skip
