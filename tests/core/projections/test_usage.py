"""Usage: exact sums, unknown said to be unknown, and nothing of what one may not see."""

from datetime import date, timedelta
from random import Random
from typing import Any

import pytest

from studio.core.projections.usage import By
from studio.core.reader import Reader, UsageRow, UsageView
from studio.core.rules import events as e
from studio.core.rules import ids
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid
from studio.core.store import raw
from tests.core.projections.story import MCP, Story

DAY = 86_400_000


async def usage(reader: Reader, person: Person, by: By = "agent", **more: Any) -> UsageView:
    return await reader.usage(person, reader.span(**more), by)


async def told(story: Story, **more: Any) -> str:
    """A session with a turn that is begun."""
    session_id = await story.session(**more)
    await story.message(session_id)
    return session_id


async def fails(story: Story, session_id: str, outcome: Any = None, **usage: Any) -> None:
    """An attempt of the turn that fails, or of which nothing more is heard."""
    turn_id = story.turns[session_id]
    story.steps[session_id] += 1
    step = story.steps[session_id]
    effect_id = ids.model_effect(turn_id, step, 1)
    asked = e.ModelRequested(
        turn_id=turn_id, effect_id=effect_id, step=step, attempt=1, provider="scripted",
        model="steady", request_hash="0" * 64,
    )  # fmt: skip
    lost = e.ModelUncertain(turn_id=turn_id, effect_id=effect_id)
    failed = e.ModelFailed(
        turn_id=turn_id, effect_id=effect_id, code="model.busy", message="Busy.", permanent=False,
        usage=e.Usage(**usage), retry_at=1, maybe_billed=outcome == "maybe",
    )  # fmt: skip
    await story.record(session_id, asked)
    await story.record(session_id, lost if outcome == "uncertain" else failed)


async def test_sums_of_what_was_used(story: Story, reader: Reader, alice: Person) -> None:
    for title in ("One", "Two"):
        session_id = await told(story, title=title)
        await story.reply(session_id, cost=0.25)

    found = await usage(reader, alice)

    (row,) = found.rows
    assert (row.key, row.attempts, row.input_tokens, row.output_tokens) == ("helper", 2, 200, 40)
    assert (row.cost, row.unpriced, row.untold) == (0.5, 0, 0)
    assert found.total == UsageRow(attempts=2, input_tokens=200, output_tokens=40, cost=0.5)


async def test_every_day_of_the_span_is_there(story: Story, reader: Reader, alice: Person) -> None:
    await story.reply(await told(story))
    story.clock.told += 2 * DAY
    await story.reply(await told(story))

    found = await usage(reader, alice, "day", days=7)

    assert [row.attempts for row in found.days] == [0, 0, 0, 0, 1, 0, 1]
    assert [row.key for row in found.rows] == ["2026-01-01", "2026-01-03"]
    earlier = await usage(reader, alice, since="2026-01-01", until="2026-01-02")
    assert earlier.total.attempts == 1


async def test_what_has_no_price_is_counted_and_never_free(
    story: Story, reader: Reader, alice: Person
) -> None:
    session_id = await told(story)
    await story.reply(session_id, cost=None)

    (row,) = (await usage(reader, alice, "model")).rows

    assert (row.key, row.label, row.provider) == ("scripted/steady", "steady", "scripted")
    assert (row.cost, row.unpriced) == (0.0, 1)


async def test_failed_attempts_that_were_billed_stand_apart(
    story: Story, reader: Reader, alice: Person
) -> None:
    session_id = await told(story)
    await fails(story, session_id)
    await fails(story, session_id, input_tokens=50, cost=0.125)
    await fails(story, session_id, "uncertain")
    await fails(story, session_id, "maybe")

    found = await usage(reader, alice)

    total = found.total
    assert (total.attempts, total.lost, total.lost_unpriced, total.lost_cost) == (4, 3, 2, 0.125)
    assert (total.input_tokens, total.cost, total.untold, total.unpriced) == (50, 0.125, 3, 2)
    assert [(row.certain, row.cost) for row in found.lost] == [
        (False, None), (False, None), (True, 0.125),
    ]  # fmt: skip
    assert found.lost[0].session_id == session_id


async def test_private_sessions_are_in_the_sums_of_their_owner_and_admins_alone(
    story: Story, reader: Reader, alice: Person, bob: Person, admin: Person
) -> None:
    session_id = await told(story, private=True, owner="alice")
    await story.reply(session_id, "", {"tool": "publish_release", "origin": MCP})
    await fails(story, session_id, "uncertain")

    for by in ("day", "agent", "model", "plugin", "session"):
        seen = [
            (view.total.attempts, len(view.rows), len(view.lost))
            for view in [await usage(reader, who, by) for who in (alice, admin, bob)]  # type: ignore[arg-type]
        ]
        assert seen[0] == seen[1]
        assert seen[0][0] == 2
        assert seen[2] == (0, 0, 0)


async def test_a_plugin_has_the_shares_of_its_calls(
    story: Story, reader: Reader, alice: Person
) -> None:
    session_id = await told(story)
    http = e.Origin(kind="http")
    calls = [
        {"tool": "a", "origin": MCP},
        {"tool": "b", "origin": MCP},
        {"tool": "c", "origin": http},
    ]
    effects = await story.reply(session_id, "", *calls, cost=0.3)
    await story.run(session_id, effects[0])
    await story.hold(session_id, effects[1])
    await story.reply(session_id, cost=0.7)

    found = await usage(reader, alice, "plugin")

    plugin, rest = found.rows
    assert (plugin.key, plugin.calls, plugin.held, plugin.failed) == ("release-kit", 2, 1, 0)
    assert plugin.cost == pytest.approx(0.2)
    assert (rest.key, rest.label) == ("", "no plugin")
    assert plugin.cost + rest.cost == pytest.approx(found.total.cost)
    assert plugin.input_tokens + rest.input_tokens == found.total.input_tokens == 200


async def test_sessions_the_dearest_first(story: Story, reader: Reader, alice: Person) -> None:
    for title, cost in (("Cheap", 0.1), ("Dear", 0.9), ("Fair", 0.5)):
        await story.reply(await told(story, title=title), cost=cost)

    found = await reader.usage(alice, reader.span(), "session", limit=2)

    assert [row.label for row in found.rows] == ["Dear", "Fair"]
    assert found.more
    pages = [page async for page in reader.usage_rows(alice, reader.span(), "session")]
    assert {row.label for page in pages for row in page} == {"Cheap", "Dear", "Fair"}


@pytest.mark.parametrize("seed", range(4))
async def test_the_dearest_are_those_of_adding_up_all(
    story: Story, reader: Reader, alice: Person, seed: int
) -> None:
    dice, today = Random(seed), story.clock.now() // DAY
    sums: dict[str, int] = {}
    rows = []
    for number in range(120):
        session_id = await story.session(f"Session {number}")
        start = today - dice.randint(0, 9)
        later = [start + n for n in range(1, 5) if dice.random() < 0.2]
        for day in [start] * (dice.random() < 0.9) + later:
            nano = dice.choice([0, 1, 2, 5, 9]) * 10**8
            rows.append((day, session_id, start, "", 0, 1, nano))
            if today - 5 <= day <= today - 1:
                sums[session_id] = sums.get(session_id, 0) + nano
    add = (
        "INSERT INTO usage_sessions (day, session_id, start, owner, private, attempts, nano) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    await story.db.record(lambda conn: raw.put_many(conn, add, rows))
    last = date(1970, 1, 1) + timedelta(days=today - 1)
    span = reader.span(since=str(last - timedelta(days=4)), until=str(last))

    for limit in (1, 3, 10, 100):
        found = (await reader.usage(alice, span, "session", limit=limit)).rows
        best = sorted(sums.values(), reverse=True)[:limit]
        assert [round(row.cost * 10**9) for row in found] == best
        assert all(round(row.cost * 10**9) == sums[row.key] for row in found)
    exported = [row async for page in reader.usage_rows(alice, span, "session") for row in page]
    assert len(exported) == len(sums)
    assert {row.key: round(row.cost * 10**9) for row in exported} == sums


@pytest.mark.parametrize(
    "asked",
    [
        {"since": "today"}, {"until": "2026-13-01"}, {"days": 0}, {"days": 400},
        {"since": "2026-01-02", "until": "2026-01-01"}, {"since": "2020-01-01"},
        {"since": "1969-12-31", "until": "1970-01-01"},
    ],
)  # fmt: skip
def test_days_that_cannot_be_shown(reader: Reader, asked: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        reader.span(**asked)

    assert refused.value.code == "usage.days"


def test_a_span_ends_today_unless_told(reader: Reader) -> None:
    span = reader.span(days=7)

    assert (span.first, span.last) == (date(2025, 12, 26), date(2026, 1, 1))
