"""The trace of any turn of any journal: one tree, children within parents, sums as recorded, the
same after every derived row was made anew.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from studio.core.projections import trace_words, traces
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.spans import Trace
from studio.core.store import rows
from tests.core.store import environment_stories, stories
from tests.core.store.conftest import (  # noqa: F401 - fixtures
    Store,
    opened,
    ready_url,
)
from tests.core.store.stories import Append

EXAMPLES = {"sqlite": 25, "postgresql": 6}
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
ADA = Person(id="ada", role="admin")
LATER = stories.START + 10**9
USED = e.ModelReplied | e.ModelFailed | e.ContextCompacted | e.SummaryFailed


def told(random: Random, name: str) -> list[Append]:
    """A session in an environment, and what that environment has to say of its turns."""
    session = stories.tell(random, 90, f"ses_{name}")
    first = session[0].events[0]
    assert isinstance(first, e.SessionStarted)
    moved = replace(first, environment_id=f"env_{name}")
    session[0] = replace(session[0], events=(moved, *session[0].events[1:]))
    around = environment_stories.tell(random, 40, f"env_{name}")
    refs = [
        e.TurnRef(session_id=f"ses_{name}", turn_id=event.turn_id)
        for append in session for event in append.events if isinstance(event, e.MessageAccepted)
    ]  # fmt: skip
    if refs:
        around = [_of_turns(append, random, refs) for append in around]
    pairs = zip_longest(session, around)
    return [append for pair in pairs for append in pair if append is not None]


def _of_turns(append: Append, random: Random, refs: list[e.TurnRef]) -> Append:
    """The same facts, told of one of these turns."""
    events = []
    for event in append.events:
        ref = random.choice(refs)
        effect = f"eff_{ref.turn_id.partition('_')[2]}s001c001"
        match event:
            case e.EgressTried():
                known = random.choice((None, effect, "eff_nobody"))
                event = replace(event, turns=(ref, *refs[:1]), effect_id=known, began=append.at - 5)
            case e.DiskKept() if event.turn is not None:
                event = replace(event, turn=ref, milliseconds=random.choice((0, 700)))
            case e.SetupStarted() | e.SetupFinished():
                event = replace(event, turn_id=refs[0].turn_id)
            case _:
                pass
        events.append(event)
    return replace(append, events=tuple(events))


async def tell(store: Store, appends: list[Append]) -> None:
    for append in appends:
        is_session = append.session_id.startswith("ses_")
        await (store.tell(append) if is_session else store.tell_other(append))


async def read(store: Store, session_id: str) -> list[Trace]:
    def act(conn: Any) -> Iterator[Trace]:
        for (number,) in conn.exec_driver_sql(
            f"SELECT number FROM turns WHERE session_id = '{session_id}' ORDER BY number"
        ).all():
            yield traces.of_turn(conn, ADA, session_id, str(number), key=b"k" * 32, now=LATER)

    return await store.db.read(lambda conn: list(act(conn)))


def is_one_tree(trace: Trace) -> None:
    seen = dict[str, Any]()
    for span in trace.spans:
        assert span.id not in seen
        if span is trace.root:
            assert (span.parent, span.depth, span.start) == ("", 0, trace.turn.opened)
        else:
            parent = seen[span.parent]
            assert span.depth == parent.depth + 1
            assert parent.start <= span.start
            assert parent.end is None or (span.end is not None and span.end <= parent.end)
        assert span.end is None or span.end >= span.start
        seen[span.id] = span
    shares = trace.shares
    assert shares.active + shares.waiting == shares.total


def agrees(trace: Trace, facts: list[e.Fact]) -> None:
    """Tokens, cost, attempts and sends are those that were recorded."""
    mine = [fact.event for fact in facts if fact.turn_id == trace.turn.id]
    usages = [event.usage for event in mine if isinstance(event, USED)]
    models = [span for span in trace.spans if span.kind == "model"]
    sends = [span for span in trace.spans if span.kind == "tool" and span.attempt > 0]

    for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"):
        recorded = sum(getattr(usage, name) or 0 for usage in usages)
        assert sum(getattr(span, name) or 0 for span in models) == recorded
    assert sum(span.cost or 0.0 for span in models) == pytest.approx(
        sum(usage.cost or 0.0 for usage in usages)
    )
    asked = [x for x in mine if isinstance(x, e.ModelRequested | e.SummaryRequested)]
    assert len(models) == len(asked)
    assert len(sends) == sum(isinstance(event, e.CallStarted) for event in mine)
    firsts = {x.effect_id: x.first_token for x in mine if isinstance(x, USED)}
    assert {s.effect_id: s.first_token for s in models if s.effect_id in firsts} == firsts


async def agree(store: Store, random: Random, name: str) -> list[Trace]:
    await tell(store, told(random, name))
    facts = await store.db.read(
        lambda conn: store.journal.facts(conn, f"ses_{name}", after=0, limit=5_000)
    )
    found = await read(store, f"ses_{name}")
    for trace in found:
        is_one_tree(trace)
        agrees(trace, facts)
    return found


@pytest.fixture
def examples(ready_url: str) -> int:  # noqa: F811
    return EXAMPLES[ready_url.partition(":")[0]]


def test_a_trace_is_a_tree_that_agrees_with_the_journal(ready_url: str, examples: int) -> None:  # noqa: F811
    with asyncio.Runner() as runner:
        context = opened(ready_url)
        store = runner.run(context.__aenter__())
        names = iter(range(10**6))
        kinds = set[str]()

        @settings(max_examples=examples, deadline=None, phases=PHASES,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(st.integers(0, 2**32))
        def holds(seed: int) -> None:
            for trace in runner.run(agree(store, Random(seed), f"{next(names)}x")):
                kinds.update(span.what for span in trace.spans if span.kind == "environment")

        try:
            holds()
            assert kinds == {"setup", "command", "keep", "connect"}
        finally:
            runner.run(context.__aexit__(None, None, None))


async def test_a_trace_is_the_same_after_a_rebuild(ready_url: str) -> None:  # noqa: F811
    async with opened(ready_url) as store:
        for seed in range(4):
            await tell(store, told(Random(seed), f"{seed}y"))
        before = [await read(store, f"ses_{seed}y") for seed in range(4)]

        await store.db.record(rows.rebuild)

        after = [await read(store, f"ses_{seed}y") for seed in range(4)]
        assert [[one.spans for one in some] for some in after] == [
            [one.spans for one in some] for some in before
        ]
        assert sum(len(one.spans) for some in before for one in some) > 40


async def test_words_are_found_in_what_calls_were_given_and_gave(ready_url: str) -> None:  # noqa: F811
    async with opened(ready_url) as store:
        await tell(store, told(Random(3), "z"))
        calls = {
            span.effect_id for trace in await read(store, "ses_z") for span in trace.spans
            if span.kind == "tool"
        }  # fmt: skip
        turns = [trace.turn.id for trace in await read(store, "ses_z")]

        def act(conn: Any) -> list[list[frozenset[str]]]:
            asked, kept = ["bob", "%", "sha", "stored", "long story"], trace_words.Kept()
            said = [trace_words.beside(conn, ADA, "ses_z", turn, asked, kept) for turn in turns]
            return [list(one.begun.values()) for one in said]

        found = await store.db.read(act)

        given, *others, long = [frozenset().union(*column) for column in zip(*found, strict=True)]
        assert given & calls
        assert others == [frozenset()] * 3
        assert long & calls
