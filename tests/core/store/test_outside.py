"""Spans from outside are kept once, counted truly, and let go of when they are old."""

import asyncio
from typing import Any

import pytest

from studio.core.rules.outside.claims import Limits, Refusal
from studio.core.rules.outside.recognising import recognised
from studio.core.store import outside, outside_sweeping, upkeep
from studio.core.store.outside import Kept, Ready
from studio.core.store.outside_sweeping import DAY
from tests.core.rules.outside.spans import TRACE, claim, span_id
from tests.core.store.conftest import Store

AT = 1_796_000_000_000
CHAT = {
    "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 2,
}  # fmt: skip
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}


def ready(number: int = 1, parent: int = 0, **changes: Any) -> Ready:
    known = recognised(claim(number, parent, **changes))
    return Ready(known=known, payload=outside.pack(known))


async def keep(store: Store, *spans: Ready, at: int = AT, by: str = "ann", **limits: int) -> Kept:
    return await store.db.touch(
        lambda conn: outside.keep(conn, spans, at=at, sent_by=by, limits=Limits(**limits))
    )


async def row(store: Store, *columns: str, trace: str = TRACE) -> tuple[Any, ...]:
    found = await store.every(
        f"SELECT {', '.join(columns)} FROM outside_traces WHERE id = ?", trace
    )
    return tuple(found[0]) if found else ()


async def test_the_same_spans_again_change_nothing(store: Store) -> None:
    spans = [ready(1, attributes=AGENT), ready(2, 1, attributes=CHAT), ready(3, 1, is_error=True)]

    first = await keep(store, *spans)
    again = await keep(store, *spans, ready(2, 1), at=AT + 5, by="bob")

    assert (first.new, first.here) == (3, 0)
    assert (again.new, again.here) == (0, 4)
    said = ("spans", "models", "errors", "input_tokens", "output_tokens", "sent_by", "taken")
    assert await row(store, *said) == (3, 1, 1, 7, 2, "ann", AT)


async def test_a_trace_of_which_nothing_is_kept_is_none(store: Store) -> None:
    await keep(store, ready(1))

    kept = await keep(store, ready(2), ready(1, trace_id="cd" * 16), by="bob", sender_bytes=1)

    assert [one.code for one in kept.refused] == ["sender_full"] * 2
    assert await store.every("SELECT id, spans FROM outside_traces") == [(TRACE, 1)]


async def test_spans_of_one_trace_come_over_days_and_the_root_last(store: Store) -> None:
    await keep(store, ready(3, 2, attributes=CHAT))
    before = await row(store, "state", "name", "agent", "spans")

    await keep(store, ready(2, 1, attributes=CHAT), at=AT + DAY)
    await keep(store, ready(1, attributes=AGENT, name="the root"), at=AT + 2 * DAY)

    assert before == ("incomplete", "span 3", "", 1)
    said = ("state", "name", "agent", "spans", "taken", "changed")
    assert await row(store, *said) == ("completed", "the root", "helper", 3, AT, AT + 2 * DAY)
    began, ended = await row(store, "began", "ended")
    assert (began, ended) == (claim(1).start, claim(3).end)


async def test_a_failed_root_fails_the_trace_and_an_open_one_leaves_it_incomplete(
    store: Store,
) -> None:
    await keep(store, ready(1, is_error=True, message="it broke"))
    await keep(store, ready(1, trace_id="cd" * 16, end=0))

    assert await row(store, "state") == ("failed",)
    assert await row(store, "state", trace="cd" * 16) == ("incomplete",)


async def test_a_trace_is_kept_up_to_its_bound_and_the_rest_is_named(store: Store) -> None:
    await keep(store, ready(1), trace_spans=3)

    kept = await keep(store, *(ready(n, 1) for n in range(1, 7)), trace_spans=3)

    assert (kept.new, kept.here) == (2, 1)
    assert kept.refused == [
        Refusal("trace_full", f"“span {n}” {span_id(n)}") for n in (4, 5, 6)
    ]  # fmt: skip
    assert await row(store, "spans") == (3,)


async def test_no_trace_counts_more_tokens_than_a_store_can_hold(store: Store) -> None:
    told = {**CHAT, "gen_ai.usage.input_tokens": 2**53 - 1}

    kept = await keep(store, *(ready(n, attributes=told) for n in range(1, 1_026)))

    assert kept.new == 1_025
    assert await row(store, "models", "input_tokens") == (1_025, 0)


async def test_many_traces_at_once_are_told_apart(store: Store) -> None:
    spans = [ready(n % 3 + 1, trace_id=f"{n // 3 + 1:032x}") for n in range(360)]

    first, again = await keep(store, *spans), await keep(store, *spans)

    assert (first.new, again.new, again.here) == (360, 0, 360)
    counts = await store.every("SELECT spans, count(*) FROM outside_traces GROUP BY spans")
    assert counts == [(3, 120)]


async def test_many_senders_of_one_trace_at_once_lose_nothing(store: Store) -> None:
    batches = [[ready(n, 1, attributes=CHAT) for n in range(k, k + 40)] for k in range(1, 201, 20)]

    done = await asyncio.gather(*(keep(store, *batch, by=f"s{len(batch)}") for batch in batches))

    assert sum(kept.new for kept in done) == 220
    assert await row(store, "spans", "models", "input_tokens") == (220, 220, 7 * 220)


@pytest.mark.parametrize("text", ["short", "long " * 5_000, "ž\0\ud800"])
async def test_what_a_span_says_comes_back(store: Store, text: str) -> None:
    await keep(store, ready(1, attributes={"a": text, "b": [1, {"c": None}]}))

    found = await store.db.read(lambda conn: outside.payload(conn, TRACE, span_id(1)))

    told = text.encode("utf-8", "replace").decode()
    assert found == {"attributes": {"a": told, "b": [1, {"c": None}]}}


async def test_old_traces_go_whole_and_young_ones_stay(store: Store) -> None:
    await keep(store, *(ready(n, trace_id="cd" * 16) for n in range(1, 30)), at=AT - 31 * DAY)
    await keep(store, ready(1))

    await upkeep.sweep_all(store.db, AT)

    assert await store.every("SELECT id FROM outside_traces") == [(TRACE,)]
    assert await store.every("SELECT trace_id FROM outside_spans") == [(TRACE,)]
    assert await store.every("SELECT trace_id FROM outside_payloads") == [(TRACE,)]


async def test_beyond_a_number_those_longest_without_a_new_span_go(store: Store) -> None:
    for n in range(1, 6):
        await keep(store, ready(1, trace_id=f"{n:032x}"), at=AT + n)
    await keep(store, ready(2, trace_id=f"{1:032x}"), at=AT + 9)

    await upkeep.sweep_all(store.db, AT, limits=Limits(traces=2))

    left = await store.every("SELECT id FROM outside_traces ORDER BY id")
    assert left == [(f"{1:032x}",), (f"{5:032x}",)]


async def test_a_large_trace_is_swept_in_pieces_and_meanwhile_not_half_seen(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_sweeping, "SWEPT", 10)
    await keep(store, *(ready(n) for n in range(1, 36)), at=AT - 31 * DAY)

    steps = 0
    while await store.db.touch(lambda conn: outside_sweeping.sweep(conn, AT, Limits())):
        steps += 1
        seen = await store.every("SELECT id FROM outside_traces WHERE changed > 0")
        assert seen == []

    assert steps >= 4
    assert await store.every("SELECT count(*) FROM outside_spans") == [(0,)]


async def test_refusals_are_counted_by_sender_and_reason(store: Store) -> None:
    for at in (AT, AT + 1):
        await store.db.touch(
            lambda conn, at=at: outside.refuse(
                conn, [Refusal("late", f"at {at}"), Refusal("too_many", count=5)], at=at,
                sent_by="ann",
            )
        )  # fmt: skip

    rows = await store.every("SELECT code, count, example FROM outside_refusals ORDER BY code")
    assert rows == [("late", 2, f"at {AT + 1}"), ("too_many", 10, "")]
