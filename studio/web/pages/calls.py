"""One call: its arguments and result, the four digests, and the facts behind it."""

import re
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from studio.core.reader import CallRow, EventRow, SessionView, WaitRow
from studio.core.rules import contents, ways
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Content
from studio.web.render import Frame, frame, page
from studio.web.visit import person, reader

PARTS = ("arguments", "proposed", "result")
LOOKED_AT = 200  # facts behind the proposal that are looked through for this call's own
WINDOWS = 10


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
    facts = await _facts(request, call)
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
    data = await _bytes(request, call, content)
    return Response(data, media_type="application/octet-stream", headers=headers)


async def _bytes(request: Request, call: CallRow, content: Content) -> bytes:
    if content.stored:
        return await reader(request).blob(person(request), content.hash, call.session_id)
    return contents.data(content)


async def _facts(request: Request, call: CallRow) -> list[EventRow]:
    """The facts of this call, looked for from its proposal on."""
    found: list[EventRow] = []
    after = call.seq - 1
    for _ in range(WINDOWS):
        facts = await reader(request).events(
            person(request), call.session_id, after=after, limit=LOOKED_AT
        )
        found += [fact for fact in facts if fact.effect_id == call.id]
        if len(facts) < LOOKED_AT or (call.ended_at and facts[-1].time > call.ended_at):
            break
        after = facts[-1].seq
    return found


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
