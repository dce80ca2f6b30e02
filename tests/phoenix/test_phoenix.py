"""A real Phoenix shows what we send as we show it: `make test-phoenix`. Skipped without one.

Phoenix keeps its SQLite in a folder of the test; a demo turn with held calls goes out over OTLP,
and its names, parents and durations are asked back by Phoenix's own API.
"""

import os
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from api_client import Client
from e2e.phoenix import PATIENCE
from e2e.phoenix import phoenix as started
from e2e.studio import until
from tests.live import live

PYTHON = os.environ.get("STUDIO_PHOENIX", "")
STAGING = "Publish 4.2.0 to staging and tell the team."

pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="no Phoenix; make test-phoenix has one"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def phoenix() -> Iterator[httpx.Client]:
    """A client of a Phoenix that was started for this."""
    with started(Path(PYTHON)) as client:
        yield client


def turn(client: Client) -> Any:
    """A demo turn whose held calls are approved; its trace as our API tells it."""
    session_id = client.sessions.start("release-assistant", message=STAGING)["session_id"]
    for event in client.sessions.follow(session_id):
        if event["type"] == "wait.opened":
            waiting = next(client.approvals.list(session=session_id))
            client.approvals.decide(waiting["id"], "approve", digest=waiting["digest"])
        if event["type"].startswith("turn.") and event["type"] != "turn.started":
            break
    found = client.sessions.trace(session_id, 1)
    return found["resourceSpans"][0]["scopeSpans"][0]["spans"]


def kept(phoenix: httpx.Client, trace_id: str, count: int) -> list[Any]:
    """The spans of a trace as Phoenix has them, once all of them are there."""

    def look() -> list[Any]:
        answer = phoenix.get("/v1/projects/default/spans", params={"limit": 1000})
        found = answer.json()["data"] if answer.status_code == 200 else []
        mine = [span for span in found if span["context"]["trace_id"] == trace_id]
        return mine if len(mine) >= count else []

    return list(until(look, seconds=PATIENCE, what="the trace"))


def microseconds(text: str) -> int:
    moment = datetime.fromisoformat(text)
    return int(moment.timestamp()) * 10**6 + moment.microsecond


def test_phoenix_has_the_same_tree(phoenix: httpx.Client, tmp_path: Path) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": str(phoenix.base_url), "STUDIO_DEMO": "on"}
    with live(tmp_path / "data", **environ) as studio, studio.client() as client:
        ours = turn(client)
        theirs = kept(phoenix, ours[0]["traceId"], len(ours))
        export = client.collector.show()

    names = {span["spanId"]: span["name"] for span in ours}
    assert {
        (s["context"]["span_id"], s["name"], s["parent_id"] or "", microseconds(s["start_time"]),
         microseconds(s["end_time"]) - microseconds(s["start_time"]))
        for s in theirs
    } == {
        (s["spanId"], s["name"], s.get("parentSpanId", ""), int(s["startTimeUnixNano"]) // 1000,
         (int(s["endTimeUnixNano"]) - int(s["startTimeUnixNano"])) // 1000)
        for s in ours
    }  # fmt: skip
    assert (export["sent"], export["refused"], export["dropped"]) == (len(ours), 0, 0)
    assert any(name.startswith("wait approval") for name in names.values())
    for span in ours:
        took = (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e6
        parent = names.get(span.get("parentSpanId", ""), "-")
        sys.stdout.write(f"{span['spanId']}  {took:9.1f} ms  {span['name']}  in {parent}\n")
