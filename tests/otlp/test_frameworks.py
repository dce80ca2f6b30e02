"""Agents of others send their spans with real parts: `make test-otlp`. Skipped unless it set up."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api_client.shapes import OutsideTrace
from tests.live import Live, live

PYTHON = os.environ.get("STUDIO_OTLP", "")
FOLDER = Path(__file__).parent
KINDS = {  # what says the kind of a span, by convention
    "gen_ai.operation.name": {"chat": "model", "execute_tool": "tool", "invoke_agent": "agent"},
    "openinference.span.kind": {"LLM": "model", "TOOL": "tool", "AGENT": "agent"},
}

pytestmark = pytest.mark.skipif(not PYTHON, reason="no frameworks; make test-otlp has them")


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(tmp_path_factory.mktemp("otlp") / "data", "serve") as running:
        yield running


def ran(studio: Live, name: str) -> tuple[OutsideTrace, list[dict[str, Any]]]:
    """The trace that the agent of this name left, and its spans."""
    environ = {
        **os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": f"{studio.url}/v1/otlp",
        "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {studio.key}",
        "OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    command = [PYTHON, str(FOLDER / f"agent_{name}.py")]
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    service = "by-hand" if name == "sdk" else name.replace("_", "-")
    with studio.client() as client:
        (found,) = client.outside_traces.list(service=service)
        document = client.outside_traces.spans(found["id"])
    spans = [
        {
            **span,
            "said": {a["key"]: next(iter(a["value"].values())) for a in span.get("attributes", [])},
        }
        for group in document["resourceSpans"]
        for scope in group["scopeSpans"]
        for span in scope["spans"]
    ]
    kinds = Counter(kind_of(span["said"]) for span in spans)
    sys.stdout.write(f"\n{name}: {len(spans)} spans, {dict(kinds)}\n")
    return found, spans


def kind_of(said: dict[str, Any]) -> str:
    return next(
        (kinds.get(said[name], "other") for name, kinds in KINDS.items() if name in said), "other"
    )


@pytest.mark.parametrize(
    "name,models,tools",
    [("sdk", 1, 1), ("openai_agents", 2, 1), ("pydantic_ai", 2, 1), ("langgraph", 2, 1)],
)
def test_the_spans_of_an_agent_are_one_trace_and_recognised(
    studio: Live, name: str, models: int, tools: int
) -> None:
    found, spans = ran(studio, name)

    assert (found["models"], found["tools"]) == (models, tools)
    assert (found["input_tokens"], found["output_tokens"]) == (40 * models, 9 * models)
    assert found["agent"] == "weather agent"
    assert found["state"] == "completed"
    assert found["spans"] == len(spans)
    kinds = Counter(kind_of(span["said"]) for span in spans)
    assert (kinds["model"], kinds["tool"]) == (models, tools)
    ids = {span["spanId"] for span in spans}
    parents = [span["parentSpanId"] for span in spans if "parentSpanId" in span]
    assert len(parents) == len(spans) - 1
    assert set(parents) <= ids
