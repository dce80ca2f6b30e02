"""Files to take away: a session, or what a list is narrowed to."""

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio import __version__
from studio.core.reader import Export
from studio.core.rules import ranges
from studio.web.visit import asked, person, reader


async def session(request: Request) -> Response:
    """GET /sessions/{session_id}/export?format=…"""
    found = await reader(request).export_session(
        person(request), request.path_params["session_id"], asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return _file(found)


async def sessions(request: Request) -> Response:
    """GET /exports/sessions?format=…, with the filters of the list."""
    found = await reader(request).export_sessions(
        person(request), dict(request.query_params), asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return _file(found)


async def turns(request: Request) -> Response:
    """GET /exports/turns?format=…, with the filters of the list of traces."""
    found = await reader(request).export_turns(
        person(request), dict(request.query_params), asked(request, "format"),
        version=__version__, inline=asked(request, "inline") == "true",
    )  # fmt: skip
    return _file(found)


def _file(export: Export) -> Response:
    headers = {
        "Content-Disposition": ranges.disposition(export.name),
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    return StreamingResponse(export.text, headers=headers, media_type=export.media)
