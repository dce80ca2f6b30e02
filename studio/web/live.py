"""The one stream of each open page: what is pushed is inert, what can act is told to look again.

Its ids are the session's sequence numbers on a session's page, positions of the journal on lists,
counts of what came on the pages of traces from outside, and absent for the counts and the banner.
It begins with what was missed since `Last-Event-ID` (else `?after=`), says `live`, then tells what
happens, with a `beat` every ten seconds. It ends with `gone` when the person is signed out, and
without a word when the viewer is too slow or the server stops.
"""

import asyncio
from collections.abc import AsyncIterator

from sse_starlette import EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response

from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.outside.claims import is_trace_id
from studio.web.hub import Chunk, Hub, Key
from studio.web.topics import message

BEAT_SECONDS = 10.0
VIEWS: Key = ("views", "views")
LOOK_SECONDS = 1.0  # how often a stream asks whether its person is still signed in


async def session(request: Request) -> Response:
    """GET /live/session/{session_id}."""
    state = request.app.state
    view = await state.reader.session(request.state.person, request.path_params["session_id"])
    return answer(request, ("session", view.row.id))


async def trace(request: Request) -> Response:
    """GET /live/trace/{session_id}."""
    state = request.app.state
    view = await state.reader.session(request.state.person, request.path_params["session_id"])
    return answer(request, ("trace", view.row.id))


async def artifact(request: Request) -> Response:
    """GET /live/artifact/{artifact_id}."""
    state = request.app.state
    found = await state.reader.artifact(
        request.state.person, request.path_params["artifact_id"], limit=1
    )
    return answer(request, ("artifact", found.row.id))


async def approvals(request: Request) -> Response:
    """GET /live/approvals."""
    return answer(request, ("approvals", "approvals"))


async def home(request: Request) -> Response:
    """GET /live/home."""
    return answer(request, ("home", "home"))


async def sessions(request: Request) -> Response:
    """GET /live/sessions."""
    return answer(request, ("sessions", "sessions"), VIEWS)


async def models(request: Request) -> Response:
    """GET /live/models."""
    return answer(request, ("models", "models"))


async def environments(request: Request) -> Response:
    """GET /live/environments."""
    return answer(request, ("environments", "environments"))


async def environment(request: Request) -> Response:
    """GET /live/environment/{environment}."""
    state = request.app.state
    found = await state.reader.environment(request.state.person, request.path_params["environment"])
    return answer(request, ("environment", found.row.id))


async def disk(request: Request) -> Response:
    """GET /live/disk/{environment}."""
    state = request.app.state
    view = await state.reader.environment(request.state.person, request.path_params["environment"])
    return answer(request, ("disk", view.row.id))


async def traces(request: Request) -> Response:
    """GET /live/traces."""
    return answer(request, ("traces", "traces"), ("collector", "collector"), VIEWS)


async def outside(request: Request) -> Response:
    """GET /live/outside: the list of traces from outside."""
    return answer(request, ("outside", "outside"))


async def outside_trace(request: Request) -> Response:
    """GET /live/outside/{trace_id}: of one that is here, that went, or that may yet come."""
    trace_id = request.path_params["trace_id"]
    if not is_trace_id(trace_id):
        raise NotFound("No trace from outside has such an id.", code="outside_trace.not_found")
    return answer(request, ("outside_trace", trace_id))


async def servers(request: Request) -> Response:
    """GET /live/servers: the list of servers, and a look at one that a person asked for."""
    return answer(request, ("servers", "servers"))


async def pending(request: Request) -> Response:
    """GET /live/pending: the counts alone, for every other page."""
    return answer(request)


def answer(request: Request, *keys: Key) -> EventSourceResponse:
    """A stream of these topics, of the counts in the frame and of the banner."""
    after = request.headers.get("last-event-id") or request.query_params.get("after", "")
    counts: Key = ("pending", _scope(request.state.person))
    health: Key = ("health", "admin" if request.state.person.role == "admin" else "viewer")
    everywhere: tuple[Key, ...] = (counts, health)
    told = stream(request.app.state.hub, request.state.secret, (*keys, *everywhere), after)
    # our own `beat` says that we live: comments are not seen by the page
    return EventSourceResponse(
        told, ping=0, sep="\n", send_timeout=30, shutdown_event=request.app.state.hub.ending,
        shutdown_grace_period=1,
    )  # fmt: skip


async def stream(
    hub: Hub, secret: str, keys: tuple[Key, ...], after: str, *, beat: float = BEAT_SECONDS
) -> AsyncIterator[bytes]:
    """The bytes of one stream, for as long as the page is open and its person signed in."""
    clock = asyncio.get_running_loop().time
    async with hub.watch(*keys) as (viewer, topics):
        seen = {}
        for topic in topics:
            if viewer.is_lost:
                return
            chunk = await topic.catch_up(after)
            seen[topic] = chunk.seq
            if chunk.data:
                yield chunk.data
        yield message(event="live")
        said = clock()
        while await hub.still(secret):
            told = await viewer.next(LOOK_SECONDS)
            if viewer.is_lost:
                return
            if told is not None and is_news(told[1], seen[told[0]]):
                yield told[1].data
                said = clock()
            elif clock() - said >= beat:
                yield message(event="beat")
                said = clock()
        yield message(event="gone")


def is_news(chunk: Chunk, seen: int) -> bool:
    """Not older than what this page was given when it connected."""
    return chunk.seq == 0 or chunk.seq >= seen


def _scope(person: Person) -> str:
    """Whose counts these are: admins see every session, the others their own and the open ones."""
    return "admin:" if person.role == "admin" else f"person:{person.id}"
