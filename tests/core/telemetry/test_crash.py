"""A studio that is killed while it exports loses no span, and sends again only what was in hand."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.live import Live, live
from tests.standins.collector import Collector

TURNS = 5
HELPER: dict[str, Any] = {
    "name": "helper", "description": "Helps.", "instructions": "Help.",
    "model": {"provider": "scripted", "name": "scripted"},
}  # fmt: skip
POINTS = {  # where it dies: how often what was in hand comes
    "export.before_send": 1, "export.before_place": 2, "export.after_place": 1,
}  # fmt: skip


def turns(running: Live, count: int) -> list[str]:
    """So many sessions, each with one message."""
    with running.client() as client:
        client.agents.save("helper", HELPER)
        return [
            client.sessions.start("helper", message=f"say {n}")["session_id"] for n in range(count)
        ]


def until_sent(running: Live, sessions: list[str], receiving: Collector) -> set[tuple[str, str]]:
    """Wait until the collector has everything; the ids of all spans as the API tells them."""
    with running.client() as client:
        for session_id in sessions:
            for event in client.sessions.follow(session_id):
                if event["type"] in ("turn.completed", "turn.failed"):
                    break
        while client.collector.show()["behind"]:
            receiving.changed.wait(0.2)
            receiving.changed.clear()
        found = [client.sessions.trace(one, 1) for one in sessions]
    return {
        (span["traceId"], span["spanId"])
        for trace in found
        for span in trace["resourceSpans"][0]["scopeSpans"][0]["spans"]
    }


@pytest.mark.crash
@pytest.mark.parametrize("point", POINTS)
def test_killed_in_the_middle_it_goes_on_from_its_place(
    store_url: str, tmp_path: Path, receiving: Collector, point: str
) -> None:
    environ = {
        "STUDIO_DATABASE_URL": store_url, "OTEL_EXPORTER_OTLP_ENDPOINT": receiving.url,
        "HOME": str(tmp_path),
    }  # fmt: skip
    folder = tmp_path / "data"
    with live(folder, STUDIO_FAULT=f"{point}:kill:1", **environ) as running:
        sessions = turns(running, TURNS)
        running.process.wait(60)
    with live(folder, **environ) as running:
        sessions += turns(running, 2)
        told = until_sent(running, sessions, receiving)

    came = Counter((span.trace_id.hex(), span.span_id.hex()) for span in receiving.spans)
    assert set(came) == told
    assert max(came.values()) == POINTS[point]
    again = {trace for (trace, _), count in came.items() if count > 1}
    assert len(again) <= TURNS
