"""Sessions: start, list, read, follow; send a message, deny and send, stop."""

from collections.abc import Sequence
from typing import Any

from starlette.responses import Response, StreamingResponse

from studio import __version__
from studio.api import answers as a
from studio.api import bodies as b
from studio.api import stream
from studio.api.endpoint import Answer, Ask, Endpoint, Link, wants_stream
from studio.api.errors import HEADERS
from studio.core.reader import CallRow
from studio.core.rules import conventions
from studio.core.rules.errors import Invalid, NotFound
from studio.core.rules.files import Part


async def start(ask: Ask[b.NoQuery, b.NewSession]) -> Answer:
    """Start a session."""
    body, message, files = ask.body, ask.body.message, list[Part]()
    if body.parts is not None:
        message, files = message_of(body.message, body.parts)
    started = await ask.runtime.start_session(
        ask.person, agent=body.agent, title=body.title, message=message,
        private=body.private, version=body.version, model=_model(body.model), files=files,
        environment=body.environment, key=ask.key, caller=ask.caller,
    )  # fmt: skip
    where = {"Location": f"/v1/sessions/{started.session_id}"}
    return Answer(value=a.take(a.Started, started), headers=where)


def _model(given: b.NewModel | None) -> tuple[str, str] | None:
    return (given.provider, given.name) if given is not None and given.provider else None


async def choose_model(ask: Ask[b.NoQuery, b.NewModel]) -> None:
    """Choose the model of the turns to come."""
    await ask.runtime.choose_model(ask.person, ask.part("id"), _model(ask.body))


async def index(ask: Ask[b.SessionsQuery, b.NoBody]) -> a.Sessions:
    """A page of sessions."""
    q = ask.query
    page = await ask.reader.sessions(
        ask.person, q=q.q, agent=q.agent, status=q.status, needs=q.needs, plugin=q.plugin,
        environment=q.environment, limit=q.limit, cursor=q.cursor,
    )  # fmt: skip
    return a.Sessions(
        items=a.take_all(a.Session, page.items), next=page.next, complete=page.complete
    )


async def show(ask: Ask[b.NoQuery, b.NoBody]) -> a.SessionDetail:
    """One session."""
    view = await ask.reader.session(ask.person, ask.part("id"))
    return a.SessionDetail(
        session=a.take(a.Session, view.row),
        turn=a.take(a.Turn, view.turn) if view.turn else None,
        turns=a.take_all(a.Turn, view.turns),
        limits=a.take_all(a.LimitUse, view.limits),
        agent_latest=view.agent.latest,
        seq=view.seq,
    )


async def events(ask: Ask[b.EventsQuery, b.NoBody]) -> a.Events | Response:
    """Facts behind a seq, or all to come as a stream."""
    session_id, after, limit = ask.part("id"), stream.start_of(ask), ask.query.limit
    if wants_stream(ask.request):
        return await stream.response(ask, session_id, after)
    rows = await ask.reader.events(ask.person, session_id, after=after, limit=limit)
    last = rows[-1].seq if rows else after
    return a.Events(items=a.take_all(a.Event, rows), after=last, more=len(rows) == limit)


async def calls(ask: Ask[b.CallsQuery, b.NoBody]) -> a.Calls:
    """The newest calls, or those before a seq."""
    before, limit = ask.query.before, ask.query.limit
    rows = await ask.reader.calls(ask.person, ask.part("id"), before=before, limit=limit)
    earlier = rows[0].seq if len(rows) == limit else None
    return a.Calls(items=tuple(call_of(row) for row in rows), before=earlier)


async def call(ask: Ask[b.NoQuery, b.NoBody]) -> a.Call:
    """One call with its contents."""
    row = await ask.reader.call(ask.person, ask.part("call_id"))
    if row.session_id != ask.part("id"):
        raise NotFound("This session has no such call.", code="call.not_found")
    return call_of(row)


async def send(ask: Ask[b.NoQuery, b.NewMessage]) -> a.Sent:
    """Send a message."""
    text, files = message_of(ask.body.text, ask.body.parts)
    sent = await ask.runtime.send_message(
        ask.person, ask.part("id"), text, files=files, key=ask.key, caller=ask.caller
    )
    return a.take(a.Sent, sent)


async def trace(ask: Ask[b.NoQuery, b.NoBody]) -> Response:
    """A turn as spans, streamed."""
    found = await ask.reader.trace(ask.person, ask.part("id"), ask.part("turn"))
    pieces = conventions.written(found, version=__version__)
    return StreamingResponse(pieces, media_type="application/json", headers=HEADERS)


async def preview(ask: Ask[b.NoQuery, b.NewMessage]) -> a.Preview:
    """Say what a message would send."""
    text, files = message_of(ask.body.text, ask.body.parts)
    found = await ask.runtime.preview_message(ask.person, ask.part("id"), text, files=files)
    said = tuple(
        a.take(
            a.PreviewMessage, one,
            calls=tuple({"id": c.id, "name": c.name, "arguments": c.arguments} for c in one.calls),
        )
        for one in found.messages
    )  # fmt: skip
    return a.take(a.Preview, found, messages=said)


async def deny_and_send(ask: Ask[b.NoQuery, b.DenyAndSend]) -> a.Sent:
    """Deny what is held, stop the turn and send a message."""
    text, files = message_of(ask.body.text, ask.body.parts)
    sent = await ask.runtime.deny_and_send(
        ask.person, ask.part("id"), text, reason=ask.body.reason, files=files, key=ask.key,
        caller=ask.caller,
    )  # fmt: skip
    return a.take(a.Sent, sent)


async def cancel(ask: Ask[b.NoQuery, b.Stop]) -> a.Stopped:
    """Stop the turn."""
    stopped = await ask.runtime.cancel_turn(
        ask.person, ask.part("id"), reason=ask.body.reason, key=ask.key
    )
    return a.take(a.Stopped, stopped)


def message_of(text: str | None, parts: Sequence[b.Part] | None) -> tuple[str, list[Part]]:
    """The text and the files of a message that is told in one way or in the other."""
    if (text is None) == (parts is None):
        words = "Send `text`, or `parts` with texts and files; one of the two."
        raise Invalid(words, code="message.parts", fields={"parts": words})
    faults, texts, files = dict[str, str](), [text or ""], list[Part]()
    for number, part in enumerate(parts or ()):
        if part.type == "text":
            texts.append(part.text or "")
        elif (part.artifactId is None) == (part.uploadId is None):
            faults[f"parts.{number}"] = "Name the file by artifactId or by uploadId."
        else:
            files.append(
                Part(
                    upload_id=part.uploadId or "", artifact_id=part.artifactId or "",
                    version=part.version,
                )
            )  # fmt: skip
    if faults:
        raise Invalid("A part names no file.", code="message.parts", fields=faults)
    return "\n\n".join(one for one in texts if one), files


def call_of(row: CallRow) -> a.Call:
    """The answer of a call's row."""
    contents: dict[str, Any] = {
        name: a.take(a.Content, value) if (value := getattr(row, name)) else None
        for name in ("arguments", "proposed", "result")
    }
    return a.take(a.Call, row, **contents)


OF_SESSION = (
    "show_session", "list_events", "list_calls", "preview_message", "send_message",
    "deny_and_send", "cancel_turn",
)  # fmt: skip


def _links(value: str) -> tuple[Link, ...]:
    return tuple(Link(to=name, part="id", value=value) for name in OF_SESSION)


ENDPOINTS: tuple[Endpoint[Any, Any], ...] = (
    Endpoint(
        name="choose_session_model", method="PUT", path="/sessions/{id}/model", call=choose_model,
        gives=None, status=204, body=b.NewModel, errors=(409,),
        says="Choose the model of a session's turns to come.",
    ),
    Endpoint(
        name="start_session", method="POST", path="/sessions", call=start, gives=a.Started,
        status=201, body=b.NewSession, keyed=True, traced=True, errors=(404,),
        links=_links("$response.body#/session_id"),
        says="Start a session of an agent, with a first message or without.",
    ),
    Endpoint(
        name="list_sessions", method="GET", path="/sessions", call=index, gives=a.Sessions,
        query=b.SessionsQuery, says="List sessions, the one started last first.",
        links=_links("$response.body#/items/0/id"),
    ),
    Endpoint(
        name="show_session", method="GET", path="/sessions/{id}", call=show,
        gives=a.SessionDetail, says="Read a session.",
    ),
    Endpoint(
        name="list_events", method="GET", path="/sessions/{id}/events", call=events,
        gives=a.Events, query=b.EventsQuery, streams=True,
        says="Read a session's facts, or follow them as server-sent events.",
    ),
    Endpoint(
        name="list_calls", method="GET", path="/sessions/{id}/calls", call=calls, gives=a.Calls,
        query=b.CallsQuery, says="List a session's calls.",
    ),
    Endpoint(
        name="show_call", method="GET", path="/sessions/{id}/calls/{call_id}", call=call,
        gives=a.Call, says="Read a call with its contents.",
    ),
    Endpoint(
        name="send_message", method="POST", path="/sessions/{id}/messages", call=send,
        gives=a.Sent, status=202, body=b.NewMessage, keyed=True, traced=True, errors=(409,),
        says="Send a message; it opens a turn.",
    ),
    Endpoint(
        name="show_trace", method="GET", path="/sessions/{id}/turns/{turn}/trace", call=trace,
        gives=a.Trace,
        says="Read a turn, by its number or id, as OpenTelemetry spans (OTLP's JSON).",
    ),
    Endpoint(
        name="preview_message", method="POST", path="/sessions/{id}/preview", call=preview,
        gives=a.Preview, body=b.NewMessage, errors=(409,),
        says="Read the request that a message would send to the model; nothing is recorded.",
    ),
    Endpoint(
        name="deny_and_send", method="POST", path="/sessions/{id}/deny-and-send",
        call=deny_and_send, gives=a.Sent, status=202, body=b.DenyAndSend, keyed=True,
        traced=True, errors=(409,),
        says="Deny what is held, stop the turn and send a message, all or nothing.",
    ),
    Endpoint(
        name="cancel_turn", method="POST", path="/sessions/{id}/cancel", call=cancel,
        gives=a.Stopped, body=b.Stop, body_required=False, keyed=True, errors=(409,),
        says="Stop the turn in hand.",
    ),
)  # fmt: skip
