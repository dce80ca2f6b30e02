"""Calls about sessions, their facts and their calls."""

from collections.abc import Mapping, Sequence

from api_client.call import Call, Listing, get, given, keyed, part
from api_client.shapes import (
    CallRow,
    Calls,
    Events,
    Preview,
    Sent,
    Session,
    SessionDetail,
    Started,
    Stopped,
    Trace,
)


def start(
    agent: str, *, title: str = "", message: str | None = None, private: bool = False,
    version: int | None = None, model: dict[str, str] | None = None,
    environment: str | None = None, key: str | None = None,
    trace: Mapping[str, str] | None = None,
) -> Call[Started]:  # fmt: skip
    """Start a session of an agent, with a first message or without; `model` {provider, name}.

    `trace` is as in `send`.
    """
    body = given(agent=agent, title=title, message=message, private=private, version=version)
    body |= {"model": model} if model is not None else {}
    body |= {"environment": environment} if environment is not None else {}
    return keyed("/v1/sessions", body, key, **_context(trace))


def choose_model(session_id: str, provider: str = "", name: str = "") -> Call[None]:
    """Choose the model of the turns to come; without a provider the agent's own."""
    body = {"provider": provider, "name": name}
    return Call(method="PUT", path=f"{_path(session_id)}/model", body=body)


def index(
    *, q: str | None = None, agent: str | None = None, status: str | None = None,
    needs: str | None = None, plugin: str | None = None, environment: str | None = None,
    limit: int | None = None,
) -> Listing[Session]:  # fmt: skip
    """Sessions, the one started last first."""
    return Listing(
        first=get(
            "/v1/sessions", q=q, agent=agent, status=status, needs=needs, plugin=plugin,
            environment=environment, limit=limit,
        )
    )  # fmt: skip


def show(session_id: str) -> Call[SessionDetail]:
    """One session."""
    return get(_path(session_id))


def events(session_id: str, *, after: int = 0, limit: int | None = None) -> Call[Events]:
    """Facts behind a seq, oldest first."""
    return get(f"{_path(session_id)}/events", after=after, limit=limit)


def calls(session_id: str, *, before: int | None = None, limit: int | None = None) -> Call[Calls]:
    """The newest calls, or those before a seq; oldest first."""
    return get(f"{_path(session_id)}/calls", before=before, limit=limit)


def call(session_id: str, call_id: str) -> Call[CallRow]:
    """One call with its contents."""
    return get(f"{_path(session_id)}/calls/{part(call_id)}")


def send(
    session_id: str, text: str | None = None, *,
    parts: Sequence[Mapping[str, object]] | None = None,
    key: str | None = None, trace: Mapping[str, str] | None = None,
) -> Call[Sent]:  # fmt: skip
    """Send a message, or its parts: `{"type": "text", …}` and `{"type": "file", …}`.

    `trace` holds `traceparent` and perhaps `tracestate` (W3C Trace Context), as OpenTelemetry's
    `inject` fills a carrier: the turn then belongs to that trace.
    """
    body = {"text": text} if parts is None else {"parts": list(parts)}
    return keyed(f"{_path(session_id)}/messages", body, key, **_context(trace))


def trace(session_id: str, turn: str | int) -> Call[Trace]:
    """A turn, by its number or id, as spans in OTLP's JSON."""
    return get(f"{_path(session_id)}/turns/{part(str(turn))}/trace")


def export(session_id: str, *, format: str, inline: bool = False) -> Call[bytes]:
    """A session as a file: markdown, jsonl or otlp; `inline` has large contents whole."""
    return get(f"{_path(session_id)}/export", format=format, inline=inline)


def export_many(
    *, format: str, of: str = "sessions", inline: bool = False, **filters: str | None
) -> Call[bytes]:
    """Every session or turn that fits: q, agent, status… as the list of it takes them."""
    return get("/v1/exports", format=format, of=of, inline=inline, **filters)


def preview(session_id: str, text: str) -> Call[Preview]:
    """The request that a message would send to the model; nothing is recorded or sent."""
    return Call(method="POST", path=f"{_path(session_id)}/preview", body=given(text=text))


def deny_and_send(
    session_id: str, text: str, *, reason: str = "", key: str | None = None,
    trace: Mapping[str, str] | None = None,
) -> Call[Sent]:  # fmt: skip
    """Deny what is held, stop the turn and send a message, all or nothing. `trace` as in `send`."""
    body, path = given(text=text, reason=reason), f"{_path(session_id)}/deny-and-send"
    return keyed(path, body, key, **_context(trace))


def cancel(session_id: str, *, reason: str = "", key: str | None = None) -> Call[Stopped]:
    """Stop the turn in hand."""
    return keyed(f"{_path(session_id)}/cancel", given(reason=reason), key)


def _context(trace: Mapping[str, str] | None) -> dict[str, str]:
    """The two headers, whatever else a carrier holds."""
    given = {name.lower(): value for name, value in (trace or {}).items()}
    return {name: given[name] for name in ("traceparent", "tracestate") if given.get(name)}


def _path(session_id: str) -> str:
    return f"/v1/sessions/{part(session_id)}"
