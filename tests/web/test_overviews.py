"""A session's turns on one axis: rows that lead to their turns, folds, windows."""

from dataclasses import replace

import pytest

from studio.core.projections import overviews
from studio.core.projections.overviews import Overview, OverviewTurn, Waited
from studio.core.reader import TurnRow
from studio.web import overview
from tests.web.conftest import Studio, Visitor

HOUR = 3_600_000


async def ended(studio: Studio, session_id: str) -> None:
    await studio.story.message(session_id, "Look <again>")
    await studio.story.reply(session_id)
    await studio.story.end(session_id)


def turn(number: int, opened: int, ended: int | None, *waits: Waited) -> OverviewTurn:
    row = TurnRow(
        id=f"trn_{number}", session_id="ses_1", number=number, status="completed", excerpt="",
        by="alice", opened=opened, started=opened, ended=ended, active=0, steps=1, calls=0,
        input_tokens=1, output_tokens=1, cost=0.0, cost_known=True, code="", message="",
    )  # fmt: skip
    return OverviewTurn(turn=row, waits=waits)


def window(*turns: OverviewTurn, now: int = 0) -> Overview:
    return Overview(
        session_id="ses_1", title="T", status="completed", total=len(turns), turns=turns, tokens=0,
        cost=0.0, cost_known=True,
        earlier=None, is_newest=True, complete=True, seq=1, now=now,
    )  # fmt: skip


async def test_rows_lead_to_their_turns_and_the_session_leads_here(
    studio: Studio, alice: Visitor
) -> None:
    session_id = await studio.story.session("Plans")
    for _ in range(2):
        await ended(studio, session_id)
        studio.story.clock.told += 2 * HOUR

    page = await alice.open(f"/sessions/{session_id}/trace")
    session = await alice.open(f"/sessions/{session_id}")

    rows = [row for row in page.one("tbody").all("tr") if row.attrs["id"].startswith("row-")]
    assert [row.one("a").attrs["href"] for row in rows] == [
        f"/sessions/{session_id}/turns/{number}" for number in (1, 2)
    ]
    assert "2 h 0 m without a turn" in page.text or "2 h without a turn" in page.text
    assert f"/sessions/{session_id}/trace" in [
        link.attrs["href"] for link in session.one("div", id="header").all("a")
    ]


async def test_older_windows_are_asked_for_by_number(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = await studio.story.session("Plans")
    for _ in range(3):
        await ended(studio, session_id)

    page = await alice.open(f"/sessions/{session_id}/trace?before=2")
    junk = await alice.open(f"/sessions/{session_id}/trace?before=x&region=trace")
    nothing = await alice.open(f"/sessions/{session_id}/trace?before=1")

    assert "Turns 1 to 1 of 3" in page.text
    assert "3 turns 360 tokens $0.03" in " ".join(
        page.one("div", class_="head__facts").text.split()
    )
    assert page.one("nav", **{"aria-label": "Pages"}).one("a").text == "Newest"
    assert "3 turns" in junk.text
    assert "No turns before that one" in nothing.text


async def test_an_empty_session_says_what_will_stand_here(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("Plans")

    assert "No turns yet" in (await alice.open(f"/sessions/{session_id}/trace")).text


async def test_a_stranger_finds_nothing(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session("Plans", private=True)

    await charlie.open(f"/sessions/{session_id}/trace", status=404)


def test_what_is_between_turns_and_what_is_awaited_folds() -> None:
    held = Waited(kind="approval", opened=2_000, closed=5 * HOUR)
    timer = Waited(kind="timer", opened=4 * HOUR, closed=6 * HOUR)
    first = turn(1, 0, 6 * HOUR + 1_000, held, timer)
    found = window(first, turn(2, 20 * HOUR, 20 * HOUR + 3_000))

    axis = overview.axis(found)
    one, two = overview.rows(found, axis)

    assert [stretch.is_folded for stretch in axis] == [False, True, False, True, False]
    assert (one.people, one.timers) == (5 * HOUR - 2_000, HOUR)
    assert two.gap == 14 * HOUR - 1_000
    assert [bit.look for bit in one.bits] == ["tool", "person", "timer"]
    assert sum(part.w for part in overview.parts((one, two))) == pytest.approx(1000, abs=1)


def test_a_turn_in_hand_grows_and_a_wait_that_is_settled_later_stays_inside() -> None:
    late = Waited(kind="uncertain", opened=500, closed=9 * HOUR)
    (row,) = overview.rows(
        window(turn(1, 0, 1_000, late)), overview.axis(window(turn(1, 0, 1_000)))
    )
    now = window(turn(1, 0, None), now=7_000)

    assert row.people == 500
    assert overview.rows(now, overview.axis(now))[0].lasted == 7_000
    assert overview.axis(window()) == ()


def test_while_a_call_works_nobody_is_waited_for() -> None:
    held = Waited(kind="approval", opened=1_000, closed=HOUR)
    retry = Waited(kind="retry", opened=HOUR, closed=HOUR + 9_000)
    one = turn(1, 0, HOUR + 10_000, held, retry)
    found = window(replace(one, calls=((2_000, 62_000), (HOUR - 1_000, None))))

    axis = overview.axis(found)
    (row,) = overview.rows(found, axis)

    assert (row.people, row.timers) == (HOUR - 62_000, 0)
    assert [(part.words, part.lasted) for part in overview.parts((row,))] == [
        ("at work", 72_000), ("waiting for people", HOUR - 62_000),
    ]  # fmt: skip
    assert [one.end - one.start for one in axis if one.is_folded] == [HOUR - 63_000]


def test_a_hundred_turns_far_apart_all_keep_a_width() -> None:
    turns = [turn(n, n * HOUR, n * HOUR + 5_000) for n in range(1, overviews.WINDOW + 1)]
    found = window(*turns)

    axis = overview.axis(found)
    rows = overview.rows(found, axis)

    assert sum(one.is_folded for one in axis) == overviews.WINDOW - 1
    assert min(row.bits[0].w for row in rows) > 4
    assert axis[-1].x + axis[-1].w == pytest.approx(1000)


async def test_a_title_shows_what_is_hidden_in_it(studio: Studio, alice: Visitor) -> None:
    session_id = await studio.story.session("\u202egnp.exe")
    await ended(studio, session_id)

    for path in ("", "/trace", "/turns/1"):
        page = await alice.open(f"/sessions/{session_id}{path}")
        assert "\u202e" not in page.text
        assert "\\u202egnp.exe" in page.text
    listed = await alice.open("/sessions")
    assert "\\u202egnp.exe" in listed.one("tbody").text


async def test_a_turn_says_its_session_where_that_has_another_name(
    studio: Studio, alice: Visitor
) -> None:
    named = await studio.story.session("Plans")
    await ended(studio, named)
    unnamed = await studio.story.session("Look <again>")
    await ended(studio, unnamed)

    rows = (await alice.open("/traces")).one("tbody").all("tr")

    assert [row.one("small").text for row in rows] == [
        "helper v1, turn 1",
        "helper v1, turn 1 of Plans",
    ]


async def test_only_a_page_that_moves_says_that_it_is_live(alice: Visitor) -> None:
    still, moving = await alice.open("/views"), await alice.open("/traces")

    assert still.one(id="live").attrs["data-word"] == "connected"
    assert "data-word" not in moving.one(id="live").attrs
