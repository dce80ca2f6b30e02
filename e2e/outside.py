"""A trace from outside, sent as any exporter would send it."""

import time
from typing import Any

import httpx

from e2e.studio import Studio

TRACE = "ab" * 16
NAMES = ("invoke_agent clerk", "chat small", "execute_tool weather")


def send(
    studio: Studio, *, trace: str = TRACE, more: int = 0, below: int = 0, rootless: bool = False,
    service: str = "shop",
) -> str:  # fmt: skip
    """An agent with a model call and a failed tool call, so many spans more beside them, and so
    many below the model call; the trace's id. Without its root the agent itself is yet to come."""
    now = time.time_ns() - 60_000_000_000
    agent = _span(trace, 1, "", NAMES[0], now, 9_000, **_said("invoke_agent", agent="clerk"))
    model = _span(trace, 2, agent["spanId"], NAMES[1], now, 4_000, **_said("chat"))
    tool = _span(trace, 3, agent["spanId"], NAMES[2], now + 4_100_000_000, 4_400,
                 **_said("execute_tool", tool="weather"))  # fmt: skip
    tool["status"] = {"code": 2, "message": "The weather did not come."}
    rest = [
        _span(trace, 4 + n, agent["spanId"], f"step {n}", now + n * 1_000_000, 20)
        for n in range(more)
    ] + [
        _span(trace, 4 + more + n, model["spanId"], f"request {n}", now + n * 1_000_000, 20)
        for n in range(below)
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    scope = {
        "scope": {"name": "by hand"},
        "spans": [*([] if rootless else [agent]), model, tool, *rest],
    }
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
    key = (studio.data / "cli.key").read_text().strip()
    answer = httpx.post(
        f"{studio.url}/v1/otlp/v1/traces",
        json=body,
        timeout=60,
        headers={"Authorization": f"Bearer {key}"},
    )
    assert (answer.status_code, answer.json()) == (200, {})
    return trace


def _span(
    trace: str, number: int, parent: str, name: str, begin: int, milliseconds: int, **said: str
) -> dict[str, Any]:
    return {
        "traceId": trace, "spanId": f"{number:016x}", "parentSpanId": parent, "name": name,
        "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + milliseconds * 1_000_000),
        "attributes": [
            {"key": key, "value": {"stringValue": value}} for key, value in said.items()
        ],
    }  # fmt: skip


def _said(operation: str, **names: str) -> dict[str, str]:
    return {
        "gen_ai.operation.name": operation,
        "input.value": "What is the weather?",
        **{f"gen_ai.{what}.name": name for what, name in names.items()},
    }
