"""kill -9 while traces from outside are forgotten: each is whole, or gone and said to be gone."""

import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from studio import app
from studio.core.rules.access import Person
from studio.core.rules.errors import Gone
from studio.core.store import facts as journals
from studio.core.store import raw, upkeep
from tests import forked
from tests.core import outside_child
from tests.core.rules.outside.spans import claim
from tests.forked import ROOT

BOT = Person(id="key:bot", role="sender", via="key")
TRACES = [f"{number:032x}" for number in range(1, 11)]
SPANS = 15  # of each
POINTS = [  # and how many traces are said to be forgotten by then
    ("sender", "journal.before_append", 1, 0),
    ("sender", "journal.after_append", 1, 0),
    ("sender", "journal.after_append", 2, 4),
    ("sender", "journal.after_commit", 2, 8),
    ("sender", "outside.forgotten", 3, 10),
    ("sender", "outside.mid_clearing", 1, 10),
    ("sender", "outside.mid_clearing", 4, 10),
    ("one", "journal.after_append", 1, 0),
    ("one", "outside.forgotten", 1, 1),
    ("one", "outside.mid_clearing", 1, 1),
]
COUNTED = "SELECT trace_id, count(*) FROM {} GROUP BY trace_id"
SENDERS = (
    "SELECT spans, bytes, (SELECT count(*) FROM outside_spans), "
    "(SELECT coalesce(sum(bytes), 0) FROM outside_spans) FROM outside_senders"
)


@pytest.mark.parametrize("act,point,hit,said", POINTS, ids=lambda value: str(value))
async def test_each_trace_is_whole_or_gone_and_said_to_be_whenever_it_is_killed(
    act: str, point: str, hit: int, said: int, store_url: str, tmp_path: Path
) -> None:
    async with app.parts(outside_child.settings(tmp_path, store_url)) as parts:
        await send(parts)

    killed = play(tmp_path, store_url, act, f"{point}:kill:{hit}")
    async with app.parts(outside_child.settings(tmp_path, store_url)) as parts:
        named = await agrees(parts)
        await upkeep.sweep_all(parts.db, parts.clock.now())  # as every start does
        assert await agrees(parts) == named
        await nothing_lies_about(parts, named)
    done = play(tmp_path, store_url, "sender", "")
    async with app.parts(outside_child.settings(tmp_path, store_url)) as parts:
        assert await agrees(parts) == set(TRACES)
        await nothing_lies_about(parts, set(TRACES))

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert done.returncode == 0, done.stderr
    assert len(named) == said


async def send(parts: app.Parts) -> None:
    now = parts.clock.now() * 1_000_000
    for trace in TRACES:
        spans = (
            claim(number, number - 1, trace_id=trace, start=now, end=now + number)
            for number in range(1, SPANS + 1)
        )
        await parts.runtime.take_spans(BOT, spans)


async def agrees(parts: app.Parts) -> set[str]:
    """A trace is here with all its spans and no fact speaks of it, or one fact says that it is
    gone and nobody sees it; those that are gone."""
    named = Counter[str]()
    for fact in await parts.db.read(lambda conn: journals.facts(conn, "outside")):
        event = fact.event
        named.update(getattr(event, "trace_ids", None) or [event.trace_id])  # type: ignore[attr-defined]
    assert set(named.values()) <= {1}
    lie = {kind: await counted(parts, kind) for kind in ("outside_spans", "outside_payloads")}
    for trace in TRACES:
        if trace in named:
            with pytest.raises(Gone, match="forgotten by ada"):
                await parts.reader.outside_trace(BOT, trace)
        else:
            found = await parts.reader.outside_trace(BOT, trace)
            assert found.row.spans == SPANS == len(found.trace.spans)
            assert {kind: spans[trace] for kind, spans in lie.items()} == dict.fromkeys(lie, SPANS)
    return set(named)


async def nothing_lies_about(parts: app.Parts, named: set[str]) -> None:
    """Nothing is left of what is gone, and what is counted is what is here."""
    for kind in ("outside_spans", "outside_payloads"):
        assert set(await counted(parts, kind)) == set(TRACES) - named
    spans, size, here, weight = await parts.db.read(lambda conn: raw.one(conn, SENDERS))
    assert (spans, size) == (here, weight)


async def counted(parts: app.Parts, kind: str) -> dict[str, int]:
    rows = await parts.db.read(lambda conn: raw.every(conn, COUNTED.format(kind)))
    return {row[0]: row[1] for row in rows}


def play(folder: Path, url: str, act: str, fault: str) -> "forked.subprocess.CompletedProcess[str]":
    """The child, until it is done or killed."""
    return forked.run(
        outside_child.main, str(folder), url, act, fault,
        environ={"PYTHONPATH": str(ROOT), "PATH": os.defpath, "HOME": str(folder)}, timeout=120,
    )  # fmt: skip
