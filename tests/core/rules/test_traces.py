"""A turn as spans: each attempt, send and wait once, ids that stay, each moment counted once."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core.rules import conventions, shares, traces
from studio.core.rules.spans import Mark, Span, Stand, Told, Trace, Work

KEY = b"k" * 32
T0 = 1_700_000_000_000
MODEL, CALL, OTHER = "eff_1s001m01", "eff_1s001c000", "eff_1s001c001"


def told(ended: int | None = 10_000, status: str = "completed", **more: Any) -> Told:
    return Told(
        id="trn_1", session_id="ses_1", number=2, agent="helper", agent_version=3, status=status,
        opened=T0, ended=None if ended is None else T0 + ended, **more,
    )  # fmt: skip


def marks(*facts: tuple[str, int, str | None]) -> list[Mark]:
    return [
        Mark(seq=seq, type=kind, time=T0 + at, effect_id=effect)
        for seq, (kind, at, effect) in enumerate(facts, 1)
    ]


def work(effect: str = CALL, kind: str = "mcp", tool: str = "look", **more: Any) -> Work:
    state = more.pop("state", "succeeded")
    return Work(id=effect, kind=kind, tool=tool, step=1, state=state, **more)


def stand(
    kind: str = "approval", opened: int = 2_000, closed: int | None = 8_000, **more: Any
) -> Stand:
    given_ = {"choice": "approve", "closed_by": "ann", "reason": ""} | more
    return Stand(
        id="wai_1", effect_id=CALL, kind=kind, tool="look", opened=T0 + opened,
        closed=None if closed is None else T0 + closed, **given_,
    )  # fmt: skip


HELD = marks(
    ("turn.started", 10, None), ("model.requested", 20, MODEL), ("model.replied", 2_000, MODEL),
    ("call.started", 8_000, CALL), ("call.succeeded", 9_000, CALL),
)  # fmt: skip
WORKS = (
    work(MODEL, "model", "claude", input_tokens=12, output_tokens=3, cost=0.5),
    work(plugin="kit", plugin_version="1.0.0", server="ledger"),
)  # fmt: skip


def read(
    of: Told | None = None, facts: list[Mark] | None = None, works: Any = WORKS, stands: Any = (),
    now: int = 20_000,
) -> Trace:  # fmt: skip
    given_ = HELD if facts is None else facts
    return traces.trace(of or told(), given_, works, stands, key=KEY, now=T0 + now)


def spans(trace: Trace, kind: str) -> list[Span]:
    return [span for span in trace.spans if span.kind == kind]


def test_a_held_call_has_its_wait_beside_its_send() -> None:
    trace = read(stands=[stand()])

    assert [span.name for span in trace.spans] == [
        "invoke_agent helper", "chat claude", "wait approval", "execute_tool look",
    ]  # fmt: skip
    root, chat, wait, send = trace.spans
    assert (root.start, root.end, root.parent, root.depth) == (T0, T0 + 10_000, "", 0)
    assert {span.parent for span in (chat, wait, send)} == {root.id}
    assert (wait.who, wait.choice, wait.state) == ("ann", "approve", "succeeded")
    assert (send.start - T0, send.lasted(trace.now)) == (8_000, 1_000)
    assert (send.plugin, send.plugin_version, send.server) == ("kit", "1.0.0", "ledger")


def test_every_moment_is_counted_once() -> None:
    found = read(stands=[stand()]).shares

    assert (found.model, found.person, found.tool) == (1_980, 6_000, 1_000)
    assert found.overhead == 10_000 - 1_980 - 6_000 - 1_000
    assert found.total == 10_000


def test_ids_are_the_same_at_every_read_and_of_the_key() -> None:
    one, two = read(), read(now=99_000)
    other = traces.trace(told(), HELD, WORKS, (), key=b"other", now=T0)

    assert [span.id for span in one.spans] == [span.id for span in two.spans]
    assert len({span.id for span in one.spans}) == len(one.spans)
    assert all(len(span.id) == 16 for span in one.spans)
    assert len(one.id) == 32
    assert other.id != one.id


def test_a_send_that_was_repeated_is_two_spans() -> None:
    facts = marks(
        ("call.started", 100, CALL), ("call.started", 900, CALL), ("call.succeeded", 1_000, CALL)
    )

    first, second = spans(read(facts=facts), "tool")

    assert (first.state, first.attempt, first.lasted(0)) == ("uncertain", 1, 800)
    assert (second.state, second.attempt, second.lasted(0)) == ("succeeded", 2, 100)


@pytest.mark.parametrize("word", ["denied", "cancelled", "failed"])
def test_a_call_that_was_never_sent_is_a_span_without_length(word: str) -> None:
    facts = marks((f"call.{word}", 500, CALL))

    (span,) = spans(read(facts=facts, works=[work(state=word, message="No.")]), "tool")

    assert (span.state, span.start, span.end, span.words) == (word, T0 + 500, T0 + 500, "No.")


def test_a_failed_attempt_its_pause_and_the_next_are_three_spans() -> None:
    second = "eff_1s001m02"
    facts = marks(
        ("model.requested", 0, MODEL), ("model.failed", 100, MODEL),
        ("model.requested", 1_100, second), ("model.replied", 2_000, second),
    )  # fmt: skip
    works = [
        work(MODEL, "model", "claude", state="failed", code="model.server", message="503"),
        work(second, "model", "claude"),
    ]

    trace = read(facts=facts, works=works)

    assert [(s.name, s.state, s.lasted(0)) for s in trace.spans[1:]] == [
        ("chat claude", "failed", 100), ("wait retry", "succeeded", 1_000),
        ("chat claude", "succeeded", 900),
    ]  # fmt: skip
    assert trace.shares.timer == 1_000
    assert [span.attempt for span in spans(trace, "model")] == [1, 2]


def test_a_turn_that_is_stopped_in_a_pause_waited_until_then() -> None:
    facts = marks(("model.requested", 0, MODEL), ("model.failed", 100, MODEL))
    works = [work(MODEL, "model", "claude", state="failed", code="model.server", message="503")]

    stopped = read(told(4_000, "cancelled"), facts, works)
    failed = read(told(100, "failed"), facts, works)

    assert [(s.name, s.state, s.lasted(0)) for s in stopped.spans[1:]] == [
        ("chat claude", "failed", 100), ("wait retry", "cancelled", 3_900),
    ]  # fmt: skip
    assert (stopped.shares.timer, stopped.shares.active) == (3_900, 100)
    assert [s.name for s in failed.spans[1:]] == ["chat claude"]


def test_a_turn_in_hand_has_spans_that_grow() -> None:
    facts = marks(("model.requested", 20, MODEL))

    soon = read(told(None, "running"), facts, now=1_000)
    later = read(told(None, "running"), facts, now=5_000)

    assert [span.end for span in soon.spans] == [None, None]
    assert soon.spans[1].state == "running"
    assert (soon.shares.model, later.shares.model) == (980, 4_980)


def test_what_was_open_when_the_turn_was_stopped_ends_with_it() -> None:
    facts = marks(("call.started", 100, CALL))

    (span,) = spans(read(told(3_000, "cancelled"), facts, [work(state="started")]), "tool")

    assert (span.state, span.end) == ("cancelled", T0 + 3_000)


@pytest.mark.parametrize(
    "choice, state",
    [("approve", "succeeded"), ("deny", "denied"), ("expired", "expired"), ("due", "succeeded"),
     ("stopped", "cancelled"), ("ran", "succeeded"), ("answer", "succeeded")],
)  # fmt: skip
def test_a_wait_says_what_became_of_it(choice: str, state: str) -> None:
    (span,) = spans(read(stands=[stand(choice=choice)]), "wait")

    assert (span.state, span.choice) == (state, choice)


def test_a_long_wait_for_a_worker_is_a_span_and_a_short_one_is_not() -> None:
    slow = marks(("turn.started", 4_000, None))

    assert [span.name for span in read().spans if span.what == "queue"] == []
    (span,) = [span for span in read(facts=slow, works=()).spans if span.what == "queue"]
    assert span.lasted(0) == 4_000
    assert read(facts=slow, works=()).shares.overhead == 10_000


def test_side_by_side_only_the_longer_is_critical_and_slowest() -> None:
    facts = marks(
        ("model.requested", 0, MODEL), ("model.replied", 100, MODEL), ("call.started", 100, CALL),
        ("call.started", 100, OTHER), ("call.succeeded", 400, CALL), ("call.succeeded", 900, OTHER),
    )  # fmt: skip
    works = (*WORKS, work(OTHER, tool="dig"))

    trace = read(told(900), facts, works)

    assert [span.what for span in trace.spans if span.is_critical] == ["claude", "dig"]
    assert [span.what for span in trace.spans if span.is_slowest] == ["dig"]


def test_a_turn_without_spans_and_one_of_unknown_effects_still_open() -> None:
    assert [span.kind for span in read(told(10), facts=[], works=()).spans] == ["agent"]
    assert [span.kind for span in read(works=()).spans] == ["agent"]


MOMENTS = st.integers(0, 10_000)
PIECES = st.builds(
    lambda kind, what, a, b: Span(
        id=f"{a}{b}{what}", parent="", name=what, kind=kind, what=what, state="succeeded",
        start=T0 + min(a, b), end=T0 + max(a, b),
    ),
    st.sampled_from(["model", "tool", "wait"]),
    st.sampled_from(["approval", "retry", "timer", "queue"]), MOMENTS, MOMENTS,
)  # fmt: skip


@given(st.lists(PIECES, max_size=30))
def test_shares_add_up_to_the_whole(pieces: list[Span]) -> None:
    found = shares.of(told(8_000), pieces, T0 + 8_000)

    parts = (found.model, found.tool, found.person, found.timer, found.overhead)
    assert all(part >= 0 for part in parts)
    assert sum(parts) == found.total == 8_000


def test_the_export_holds_names_by_the_conventions_and_no_content() -> None:
    trace = read(stands=[stand(reason="a secret reason")])

    written = json.loads("".join(conventions.written(trace, version="1")))
    spans_ = written["resourceSpans"][0]["scopeSpans"][0]["spans"]

    said = [
        {a["key"]: next(iter(a["value"].values())) for a in one["attributes"]} for one in spans_
    ]
    assert [one.get("gen_ai.operation.name") for one in said] == [
        "invoke_agent", "chat", None, "execute_tool",
    ]  # fmt: skip
    assert said[1]["gen_ai.usage.input_tokens"] == "12"
    assert said[3]["studio.plugin.name"] == "kit"
    assert {one["traceId"] for one in spans_} == {trace.id}
    assert [one.get("parentSpanId") for one in spans_] == [None, *[trace.root.id] * 3]
    assert spans_[1]["startTimeUnixNano"] == str((T0 + 20) * 1_000_000)
    assert "a secret reason" not in str(spans_)


def test_an_attempt_that_was_stopped_with_its_turn_did_not_go_wrong() -> None:
    facts = marks(("model.requested", 0, MODEL), ("model.failed", 900, MODEL))
    works = [work(MODEL, "model", "claude", state="failed", code="model.stopped")]

    trace = read(told(900, "cancelled"), facts, works)

    assert [span.state for span in trace.spans] == ["cancelled", "cancelled"]
    assert "error.type" not in conventions.attributes(trace.spans[1], trace)


def test_calls_that_began_at_once_stand_as_they_were_proposed() -> None:
    calls = [f"eff_1s001c{place:03d}" for place in range(1, 30)]
    facts = marks(
        ("model.requested", 0, MODEL), ("model.replied", 5, MODEL),
        *(("call.started", 5, call) for call in calls),
        *(("call.succeeded", 90 - at, call) for at, call in enumerate(calls)),
    )  # fmt: skip
    works = [WORKS[0], *(work(call, tool=call[-3:]) for call in calls)]

    found = spans(read(facts=facts, works=works), "tool")

    assert [span.effect_id for span in found] == calls


def test_a_wait_for_children_is_a_span_and_no_work() -> None:
    trace = read(
        stands=[stand(kind="children", choice=None, closed=None)], of=told(None, "waiting")
    )

    (span,) = spans(trace, "wait")
    assert (span.name, span.state, span.end) == ("wait children", "waiting", None)
    assert trace.shares.waiting > 0
    assert trace.shares.person == 0
