"""Sessions: a new one, and one session live with its timeline, cards and composer."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from studio.core.projections.environments import EnvironmentRow
from studio.core.reader import (
    AgentRow,
    AgentView,
    ArtifactRow,
    EventRow,
    ModelChoice,
    Page,
    SessionView,
    Timeline,
)
from studio.core.rules.errors import Invalid, StudioError
from studio.core.runtime import Upload
from studio.web import attachments, errors
from studio.web.attachments import Attached
from studio.web.cards import CardView, cards_of
from studio.web.composer import Composer, composer, model_of
from studio.web.pages import session_environments
from studio.web.render import Frame, block, frame, page
from studio.web.visit import (
    asked,
    is_swap,
    new_key,
    onward,
    person,
    reader,
    runtime,
    text,
    typed,
)
from studio.web.words import stopped_words

PANELS = ("usage", "events", "artifacts", "agent")
EVENTS = 60
SHOW = "sessions/show.html"
WINDOW = 100  # lines of a timeline that are shown at once


@dataclass(frozen=True, kw_only=True)
class NewView:
    """The form of a new session, with what was typed and what is wrong with it."""

    frame: Frame
    agents: tuple[AgentRow, ...]
    agent: str
    title: str
    message: str
    private: bool
    models: tuple[ModelChoice, ...]
    model: str
    environments: tuple[EnvironmentRow, ...]
    environment: str
    key: str
    fields: dict[str, str]
    error: str = ""
    uploads: tuple[Upload, ...] = ()
    most: int = 0


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One side of the side panel; the others are None."""

    name: str
    events: tuple[EventRow, ...] = ()
    events_before: int | None = None
    agent: AgentView | None = None
    artifacts: Page[ArtifactRow] | None = None


@dataclass(frozen=True, kw_only=True)
class ShowView:
    """One session. `is_now` is false in an older window, which does not move by itself."""

    frame: Frame
    session: SessionView
    timeline: Timeline
    cards: tuple[CardView, ...]
    composer: Composer
    panel: Panel
    draft: str
    is_now: bool
    window: int = WINDOW


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one block of the session's page is made of; each block uses its own."""

    session: SessionView
    timeline: Timeline | None = None
    cards: tuple[CardView, ...] = ()
    composer: Composer | None = None
    panel: Panel | None = None


async def new(request: Request) -> Response:
    """GET /sessions/new."""
    return await _form(
        request, agent=asked(request, "agent"), title="", message="", private=False,
        environment=asked(request, "environment"),
    )  # fmt: skip


async def create(request: Request) -> Response:
    """POST /sessions."""
    form = await typed(request)
    agent, title, message = text(form, "agent"), text(form, "title"), text(form, "message")
    private, files = text(form, "private") == "true", await attachments.attached(request, form)
    try:
        if files.refusal is not None:
            raise files.refusal
        started = await runtime(request).start_session(
            person(request), agent=agent, title=title, message=message if message.strip() else None,
            private=private, files=files.parts, model=model_of(text(form, "model")),
            environment=text(form, "environment") or None, key=text(form, "key") or None,
        )  # fmt: skip
    except StudioError as refusal:
        return await _form(
            request, agent=agent, title=title, message=message, private=private, refusal=refusal,
            files=files, model=text(form, "model"), environment=text(form, "environment"),
        )  # fmt: skip
    return onward(request, f"/sessions/{started.session_id}")


async def show(request: Request) -> Response:
    """GET /sessions/{session_id}."""
    return page(request, SHOW, await _view(request))


async def timeline(request: Request) -> Response:
    """GET /sessions/{session_id}/timeline: an older window, put in front of what is shown."""
    session = await _session(request)
    if not is_swap(request):
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/sessions/{session.row.id}{query}", 303)
    return block(request, SHOW, "lines", Part(session=session, timeline=await _timeline(request)))


async def held(request: Request) -> Response:
    """GET /sessions/{session_id}/held: the cards that wait for a person."""
    session = await _session(request)
    cards = await cards_of(request, session.row.id)
    return block(request, SHOW, "held", Part(session=session, cards=cards))


async def composing(request: Request) -> Response:
    """GET /sessions/{session_id}/composer."""
    session = await _session(request)
    part = Part(session=session, composer=await composer(request, session))
    return block(request, SHOW, "composer", part)


async def panel(request: Request) -> Response:
    """GET /sessions/{session_id}/panel."""
    session = await _session(request)
    part = Part(session=session, panel=await _panel(request, session))
    return block(request, SHOW, "panel", part)


async def send(request: Request) -> Response:
    """POST /sessions/{session_id}/messages: send, or deny what is held and send."""
    form, session_id = await typed(request), request.path_params["session_id"]
    message, key = text(form, "text"), text(form, "key") or None
    files = await attachments.attached(request, form)
    try:
        if files.refusal is not None:
            raise files.refusal
        if text(form, "how") == "deny":
            sent = await runtime(request).deny_and_send(
                person(request), session_id, message, reason=text(form, "reason"),
                files=files.parts, key=key,
            )  # fmt: skip
        else:
            sent = await runtime(request).send_message(
                person(request), session_id, message, files=files.parts, key=key
            )
    except StudioError as refusal:
        return await back(request, typed=message, refusal=refusal, files=files)
    return await back(request, said=" ".join(sent.warnings))


async def stop(request: Request) -> Response:
    """POST /sessions/{session_id}/stop: end the turn in hand, whether or not a worker lives."""
    form, session_id = await typed(request), request.path_params["session_id"]
    written, refusal, said = text(form, "text"), None, ""
    try:
        stopped = await runtime(request).cancel_turn(
            person(request), session_id, reason=text(form, "reason")
        )
        said = stopped_words(len(stopped.ran), len(stopped.unknown))
    except StudioError as error:
        refusal = error
    return await back(request, typed=written, refusal=refusal, said=said)


# What a page is made of --------------------------------------------------------------------------


async def _session(request: Request) -> SessionView:
    return await reader(request).session(person(request), request.path_params["session_id"])


async def _timeline(request: Request) -> Timeline:
    return await reader(request).timeline(
        person(request),
        request.path_params["session_id"],
        before=_number(request, "before"),
        limit=WINDOW,
    )


async def _view(
    request: Request, *, typed: str = "", refusal: StudioError | None = None,
    uploads: tuple[Upload, ...] = (),
) -> ShowView:  # fmt: skip
    """The session as this person sees it.

    The timeline is read first: its seq is the cursor, so nothing here may be older than it.
    """
    shown, session = await _timeline(request), await _session(request)
    row, is_now = session.row, _number(request, "before") is None
    draft = reader(request).draft(row.id) if is_now else None
    live = f"/live/session/{row.id}?after={shown.seq}" if is_now else None
    return ShowView(
        frame=await frame(request, row.title, nav="sessions", live=live),
        session=session,
        timeline=shown,
        cards=await cards_of(request, row.id),
        composer=await composer(request, session, typed=typed, refusal=refusal, uploads=uploads),
        panel=await _panel(request, session),
        draft=draft[1] if draft else "",
        is_now=is_now,
    )


async def back(
    request: Request, *, typed: str = "", refusal: StudioError | None = None, said: str = "",
    files: Attached | None = None,
) -> Response:  # fmt: skip
    """After a change, or its refusal: the composer for an open page, the session for a browser."""
    status = errors.status(refusal) if refusal else 200
    uploads = await attachments.uploads(request, files.ids) if files else ()
    if is_swap(request):
        session = await _session(request)
        writing = await composer(
            request, session, typed=typed, refusal=refusal, said=said, uploads=uploads
        )
        return block(request, SHOW, "composer", Part(session=session, composer=writing),
                     status=status)  # fmt: skip
    if refusal is None:
        return RedirectResponse(f"/sessions/{request.path_params['session_id']}#end", 303)
    view = await _view(request, typed=typed, refusal=refusal, uploads=uploads)
    return page(request, SHOW, view, status=status)


async def _panel(request: Request, session: SessionView) -> Panel:
    name = asked(request, "panel")
    name = name if name in PANELS else PANELS[0]
    asking, row = person(request), session.row
    if name == "events":
        found = await reader(request).events_before(
            asking, row.id, before=_number(request, "events_before"), limit=EVENTS
        )
        earlier = found[0].seq if found and found[0].seq > 1 else None
        return Panel(name=name, events=tuple(reversed(found)), events_before=earlier)
    if name == "artifacts":
        kept = await reader(request).artifacts(
            asking, row.id, cursor=asked(request, "cursor") or None
        )
        return Panel(name=name, artifacts=kept)
    if name == "agent":
        agent = await reader(request).agent(asking, row.agent, row.agent_version)
        return Panel(name=name, agent=agent)
    return Panel(name=name)


async def _form(
    request: Request, *, agent: str, title: str, message: str, private: bool, model: str = "",
    environment: str = "", refusal: StudioError | None = None, files: Attached | None = None,
) -> Response:  # fmt: skip
    view = NewView(
        frame=await frame(request, "New session", nav="sessions"),
        agents=tuple(await reader(request).agents(person(request))),
        agent=agent,
        title=title,
        message=message,
        private=private,
        models=tuple(await reader(request).model_choices(person(request))),
        model=model,
        environments=await session_environments.choices(request, environment),
        environment=environment,
        key=new_key(),
        fields=refusal.fields if isinstance(refusal, Invalid) else {},
        error=refusal.message if refusal else "",
        uploads=await attachments.uploads(request, files.ids) if files else (),
        most=runtime(request).limits.upload_bytes,
    )
    status = errors.status(refusal) if refusal else 200
    return page(request, "sessions/new.html", view, status=status)


def _number(request: Request, name: str) -> int | None:
    value = asked(request, name)
    return int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
