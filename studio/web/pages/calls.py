"""One call: its arguments and result, the four digests, and the facts behind it."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from studio.core.reader import CallRow, EventRow, SessionView, WaitRow
from studio.core.rules import contents, ways
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Content
from studio.web.render import Frame, frame, page
from studio.web.visit import person, reader

PARTS = ("arguments", "proposed", "result")
CHUNK = 256 * 1024  # bytes that are sent at once


@dataclass(frozen=True, kw_only=True)
class Digests:
    """What was proposed, shown, decided, sent; `agree` when equal, or when an edit says why."""

    proposed: str
    shown: str
    decided: str
    sent: str
    agree: bool


@dataclass(frozen=True, kw_only=True)
class CallView:
    """One call with everything recorded of it."""

    frame: Frame
    call: CallRow
    session: SessionView
    waits: tuple[WaitRow, ...]
    facts: tuple[EventRow, ...]
    digests: Digests
    destination: str
    key: str


async def show(request: Request) -> Response:
    """GET /calls/{effect_id}."""
    asking = person(request)
    call = await reader(request).call(asking, request.path_params["effect_id"])
    session = await reader(request).session(asking, call.session_id)
    facts = await reader(request).call_facts(asking, call.session_id, call.id)
    waits = await reader(request).waits(asking, state="", session_id=call.session_id, limit=200)
    view = CallView(
        frame=await frame(request, call.tool, nav="sessions"),
        call=call,
        session=session,
        waits=tuple(wait for wait in waits.items if wait.effect_id == call.id),
        facts=tuple(facts),
        digests=_digests(call, facts),
        destination=_destination(call, facts),
        key=call.key or "",
    )
    return page(request, "calls/show.html", view)


async def download(request: Request) -> Response:
    """GET /calls/{effect_id}/{part}: the bytes as they were recorded, never opened in the page."""
    part = request.path_params["part"]
    call = await reader(request).call(person(request), request.path_params["effect_id"])
    content: Content | None = getattr(call, part) if part in PARTS else None
    if content is None:
        raise NotFound("This call has no such part.", code="call.no_part")
    name = f"{_plain(call.tool)}-{part}.{'json' if content.media == 'application/json' else 'txt'}"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
    size = content.size if content.stored else len(contents.data(content))
    headers |= {"Content-Length": str(size), "Content-Encoding": "identity"}
    chunks = _chunks(request, call.id, part, size)
    return StreamingResponse(chunks, media_type="application/octet-stream", headers=headers)


async def _chunks(request: Request, effect_id: str, part: str, size: int) -> AsyncIterator[bytes]:
    for offset in range(0, size, CHUNK):
        yield await reader(request).call_part(
            person(request), effect_id, part, offset=offset, length=CHUNK
        )


def _destination(call: CallRow, facts: list[EventRow]) -> str:
    """Where it goes, with the arguments in the address when they are at hand."""
    written = str(facts[0].payload.get("destination", "")) if facts else ""
    value = call.arguments.value if call.arguments is not None else None
    return ways.aimed(call.kind, written, value)


def _digests(call: CallRow, facts: list[EventRow]) -> Digests:
    shown = [f.payload.get("digest_shown", "") for f in facts if f.type == "decision.recorded"]
    newest = str(shown[-1]) if shown else ""
    decided = call.decided or call.digest
    agree = (not newest or newest == call.digest or bool(call.edited_by)) and (
        not call.sent or call.sent == decided
    )
    return Digests(proposed=call.digest, shown=newest, decided=decided, sent=call.sent, agree=agree)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:80] or "call"
