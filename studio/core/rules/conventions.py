"""What a span says of itself by OpenTelemetry's GenAI conventions; docs/traces.md has them all."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from studio.core.rules.spans import Span, Trace


def attributes(span: Span, of: Trace) -> dict[str, Any]:
    """What a span says of itself, by OpenTelemetry's names (see docs/traces.md)."""
    turn = of.turn
    said: dict[str, Any] = {
        "gen_ai.conversation.id": turn.session_id,
        "studio.turn.id": turn.id,
        "studio.span.kind": span.kind,
        "studio.state": span.state,
        "studio.step": span.step,
        "studio.effect.id": span.effect_id,
        "studio.wait.id": span.wait_id,
        "studio.plugin.name": span.plugin,
        "studio.plugin.version": span.plugin_version,
        "studio.skill.name": span.skill,
        "studio.environment.id": span.environment_id,
        "studio.disk.version": span.disk_version,
        "studio.clamped": span.is_cut or None,
        "error.type": (span.code or span.state) if span.state in ("failed", "uncertain") else None,
    }
    if span.kind == "agent":
        said |= {
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": turn.agent,
            "gen_ai.agent.version": str(turn.agent_version), "studio.turn.number": turn.number,
            "gen_ai.provider.name": _provider(of),
        }  # fmt: skip
        if turn.caller is not None:
            said |= {
                "studio.caller.trace.id": turn.caller.trace_id,
                "studio.caller.span.id": turn.caller.span_id,
            }
    elif span.kind == "model":
        said |= {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": span.what,
            "gen_ai.provider.name": span.server, "gen_ai.usage.input_tokens": span.input_tokens,
            "gen_ai.usage.output_tokens": span.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": span.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": span.reasoning_tokens,
            "studio.attempt": span.attempt, "studio.cost.usd": span.cost,
            "gen_ai.response.time_to_first_chunk": _seconds(span.first_token),
        }  # fmt: skip
    elif span.kind == "tool":
        said |= {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": span.what,
            "gen_ai.tool.call.id": span.effect_id, "studio.server": span.server,
            "studio.sends": span.attempt,
        }  # fmt: skip
    elif span.kind == "environment":
        said["studio.environment.act"] = span.what
    else:
        said |= {
            "studio.wait.kind": span.what, "studio.wait.choice": span.choice,
            "studio.wait.decided_by": span.who,
        }  # fmt: skip
    return {name: value for name, value in (said | dict(span.more)).items() if value is not None}


def _provider(of: Trace) -> str | None:
    """The first that was asked."""
    return next((span.server for span in of.spans if span.kind == "model"), None)


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


SCHEMA = "https://opentelemetry.io/schemas/1.41.0"
SERVICE = "operator-studio"
CLIENT, INTERNAL = 3, 1
HAS_IS_REMOTE, IS_REMOTE = 0x100, 0x200  # flags of a span: its parent is another program's
_NOTHING: Mapping[str, str] = MappingProxyType({})
OK, ERROR = 1, 2
_ENDED_WELL = frozenset({"succeeded", "denied", "cancelled", "expired"})  # as somebody wanted


WINDOW = 200  # spans of a piece


def written(of: Trace, *, version: str) -> Iterator[str]:
    """The trace as OTLP's JSON (opentelemetry-proto 1.x): ids in hex, times in ns as text.

    A span that is still open ends now and says so in `studio.open`. It comes a piece at a time, so
    that others are served in between.
    """
    frame = _dumped(message([], version=version))
    head, opened, tail = frame.rpartition('"spans":[')
    yield head + opened
    for start in range(0, len(of.spans), WINDOW):
        some = of.spans[start : start + WINDOW]
        yield ("," if start else "") + ",".join(_dumped(told(span, of)) for span in some)
    yield tail


def _dumped(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def message(
    spans: Sequence[Mapping[str, Any]], *, version: str, service: str = SERVICE
) -> dict[str, Any]:
    """Spans, each as `told` has it, in one message of OTLP."""
    resource = {"service.name": service, "service.version": version}
    scope = {"scope": {"name": "studio", "version": version}, "schemaUrl": SCHEMA, "spans": spans}
    return {
        "resourceSpans": [
            {"resource": {"attributes": _pairs(resource)}, "scopeSpans": [scope]},
        ]
    }  # fmt: skip


def told(span: Span, of: Trace, content: Mapping[str, str] = _NOTHING) -> dict[str, Any]:
    """One span as OTLP's JSON has it; `content` are attributes that were asked for beside."""
    said = {**attributes(span, of), **content}
    if span.end is None:
        said["studio.open"] = True
    found: dict[str, Any] = {
        "traceId": of.id,
        "spanId": span.id,
        "name": span.name,
        "kind": CLIENT if span.kind == "model" else INTERNAL,
        "startTimeUnixNano": _nanoseconds(span.start),
        "endTimeUnixNano": _nanoseconds(of.now if span.end is None else span.end),
        "attributes": _pairs(said),
        "status": _status(span),
    }
    caller = of.turn.caller
    if span.parent:
        found["parentSpanId"] = span.parent
    elif caller is not None:
        found["parentSpanId"], found["flags"] = caller.span_id, HAS_IS_REMOTE | IS_REMOTE
    if caller is not None and caller.state:
        found["traceState"] = caller.state
    return found


def _status(span: Span) -> dict[str, Any]:
    if span.state in ("failed", "uncertain"):
        return {"code": ERROR, "message": span.code or span.state}
    return {"code": OK} if span.state in _ENDED_WELL else {}


def _pairs(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    elif isinstance(value, int):
        return {"intValue": str(value)}
    elif isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)}


def _nanoseconds(milliseconds: int) -> str:
    return str(milliseconds * 1_000_000)
