"""Files to take away: a session, or what a list is narrowed to."""

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from studio import __version__
from studio.core.reader import Export
from studio.core.rules import ranges
from studio.core.rules.errors import Refused
from studio.web import filtering
from studio.web.pages import session_list, traces
from studio.web.visit import asked, person, reader

MOST_AT_ONCE = 3


async def session(request: Request) -> Response:
    """GET /sessions/{session_id}/export?format=…"""
    found = await reader(request).export_session(
        person(request), request.path_params["session_id"], asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return File(request, found)


async def sessions(request: Request) -> Response:
    """GET /exports/sessions?format=…, with the filters of the list."""
    filtering.refused(session_list.filters_of(request)[1])
    found = await reader(request).export_sessions(
        person(request), dict(request.query_params), asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return File(request, found)


async def turns(request: Request) -> Response:
    """GET /exports/turns?format=…, with the filters of the list of traces."""
    filtering.refused(traces.filters_of(request)[1])
    found = await reader(request).export_turns(
        person(request), dict(request.query_params), asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return File(request, found)


class File(StreamingResponse):
    """A file that is written while it is read: one of the few that a person has at once."""

    def __init__(self, request: Request, export: Export) -> None:
        headers = {
            "Content-Disposition": ranges.disposition(export.name),
            "Content-Security-Policy": "sandbox; default-src 'none'",
        }
        super().__init__(export.text, headers=headers, media_type=export.media)
        self._export, self._for = export, person(request).id
        self._written: Counter[str] = request.app.state.exports
        if self._written[self._for] >= MOST_AT_ONCE:
            raise Refused(
                f"{MOST_AT_ONCE} files are being written for you. Wait until one is done.",
                code="export.many",
            )
        self._written[self._for] += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or of a HEAD what stands above it; give its place back however it ends."""
        try:
            if scope["method"] == "HEAD":
                await Response(headers=dict(self.headers))(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)
        finally:
            self._written[self._for] -= 1
            await self._export.text.aclose()
