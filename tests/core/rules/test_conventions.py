"""What spans say of themselves is what the table in docs/traces.md has, no more and no less."""

import json
import re
from dataclasses import replace
from pathlib import Path

from studio.core.projections import collector
from studio.core.rules import conventions, traces
from studio.core.rules.events import Caller
from studio.core.rules.spans import Around, Keep, Mark, Setup, Stand, Told, Trace, Try, Work

DOCS = Path(__file__).parents[3] / "docs" / "traces.md"
T0 = 1_700_000_000_000
KINDS = {"agent", "model", "tool", "wait", "environment"}
NAME = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)`")
# of model/gen-ai/registry.yaml in github.com/open-telemetry/semantic-conventions at v1.41.0
NAMED = """
    agent.name agent.version conversation.id input.messages operation.name output.messages
    provider.name request.model response.time_to_first_chunk tool.call.arguments tool.call.id
    tool.call.result tool.name usage.cache_read.input_tokens usage.input_tokens
    usage.output_tokens usage.reasoning.output_tokens
"""


def table() -> list[tuple[list[str], str, str]]:
    """Rows of the table: names, where they stand, what they mean."""
    text = DOCS.read_text("utf-8").partition("## Attributes")[2]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("| `")]
    return [(NAME.findall(names), on.strip(), means) for names, on, means in rows]


def at(*moments: tuple[str, int, str | None]) -> list[Mark]:
    return [
        Mark(seq=seq, type=kind, time=T0 + time, effect_id=effect,
             first_token=7 if kind == "model.replied" else None)
        for seq, (kind, time, effect) in enumerate(moments, 1)
    ]  # fmt: skip


WORKS = [
    Work(id="m1", kind="model", tool="large", step=1, state="failed", code="model.rate",
         server="maker"),
    Work(id="m2", kind="model", tool="large", step=1, state="succeeded", server="maker",
         input_tokens=9, output_tokens=4, cached_tokens=2, reasoning_tokens=1, cost=0.5),
    Work(id="c1", kind="sandbox", tool="shell", step=1, state="failed", code="tool.error",
         server="desk", plugin="kit", plugin_version="1.0.0", skill="notes"),
]  # fmt: skip
MARKS = at(
    ("turn.started", 100, None), ("model.requested", 200, "m1"), ("model.failed", 300, "m1"),
    ("model.requested", 400, "m2"), ("model.replied", 500, "m2"), ("call.started", 2_000, "c1"),
    ("call.failed", 3_000, "c1"),
)  # fmt: skip
LATE = [*MARKS, *at(("call.late", 60_000, "c1"))]
AROUND = Around(
    before=1,
    setups=[Setup(seq=1, started=T0 + 10, finished=T0 + 90, ok=False, problem="no network",
                  runs=[("make", T0 + 20, 500, 1, "")])],
    keeps=[Keep(version=2, ended=T0 + 9_000, took=40, reason="turn")],
    tries=[
        Try(seq=5, host="a.example", port=443, outcome="refused", began=T0 + 2_100, took=5,
            effect_id="c1"),
        Try(seq=6, host="b.example", port=443, outcome="allowed", began=T0 + 6_000, took=5,
            turns=2),
    ],
)  # fmt: skip


def told(ended: int | None, marks: list[Mark], around: Around = AROUND) -> Trace:
    turn = Told(
        id="trn_1", session_id="ses_1", number=1, agent="helper", agent_version=1,
        status="failed" if ended else "running", opened=T0, environment_id="env_1",
        ended=ended and T0 + ended, caller=Caller(trace_id="a" * 32, span_id="b" * 16),
    )  # fmt: skip
    held = Stand(
        id="w1", effect_id="c1", kind="approval", tool="shell", opened=T0 + 600, plugin="kit",
        closed=T0 + 2_000 if ended else None, choice="approve" if ended else None,
        closed_by="ann" if ended else None, reason="",
    )  # fmt: skip
    return traces.trace(turn, marks, WORKS, [held], key=b"k", now=T0 + 9_500, around=around)


def said() -> dict[str, set[str]]:
    """Every attribute, by the kinds of spans that have it: of a turn that failed and live ones."""
    running = Around(setups=[Setup(seq=1, started=T0 + 10)])
    some = [
        told(8_000, MARKS), told(1_000, MARKS, running), told(None, MARKS[:2], running),
        told(None, MARKS[:6]), told(250, MARKS[:3], running), told(4_000, LATE),
    ]  # fmt: skip
    found: dict[str, set[str]] = {}
    for trace in some:
        for span in trace.spans:
            for pair in conventions.told(span, trace)["attributes"]:
                found.setdefault(pair["key"], set()).add(span.kind)
    return found


def test_the_table_says_what_spans_say_and_on_which() -> None:
    written = {
        name: KINDS if on == "all" else set(on.split(", "))
        for names, on, means in table() for name in names if "opt-in" not in means
    }  # fmt: skip

    assert said() == written


def test_a_trace_is_written_in_pieces_that_are_one_document() -> None:
    trace = told(None, MARKS)
    many = replace(trace, spans=trace.spans * 100)

    pieces = list(conventions.written(many, version="1"))

    (scope,) = json.loads("".join(pieces))["resourceSpans"][0]["scopeSpans"]
    assert len(scope["spans"]) == len(many.spans)
    assert all(piece.count('"spanId"') <= conventions.WINDOW for piece in pieces)
    assert len(pieces) > 4


def test_the_table_has_all_content_that_may_be_asked_for() -> None:
    source = Path(collector.__file__).read_text("utf-8")
    written = [name for names, _, means in table() for name in names if "opt-in" in means]

    assert sorted(set(re.findall(r'"((?:gen_ai|studio)\.[a-z_.]+)"', source))) == sorted(written)


def test_names_are_those_of_the_version_that_is_named() -> None:
    (version,) = re.findall(r"at version ([0-9.]+) ", DOCS.read_text("utf-8"))
    names = [name for some, _, _ in table() for name in some if name.startswith("gen_ai.")]

    assert conventions.SCHEMA.rpartition("/")[2] == version
    assert sorted(names) == sorted(f"gen_ai.{name}" for name in NAMED.split())
