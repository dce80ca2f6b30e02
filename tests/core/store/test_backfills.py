"""Which turns a backfill walks, on both stores: those of one session by the session's own index."""

from typing import Any

import pytest
import sqlalchemy as sa

from studio.core.store import backfills, raw
from studio.core.store.backfills import Backfill
from studio.core.store.collector import Place
from tests.core.store.conftest import Store

SESSIONS, TURNS = 200, 25
FILL = (
    "INSERT INTO turns (id, session_id, number, status, excerpt, by, opened, ended, code, message, "
    "seq, owner) VALUES (?, ?, ?, 'completed', '', 'alice', 0, ?, '', '', 1, 'alice')"
)


def ended(session: int, number: int) -> int:
    """Turns of all sessions end one after the other."""
    return 1_000 + number * SESSIONS + session


def fill(conn: sa.Connection) -> None:
    rows = [
        (f"trn_{s:03}_{n:02}", f"ses_{s:03}", n, ended(s, n))
        for s in range(SESSIONS) for n in range(TURNS)
    ]  # fmt: skip
    raw.put_many(conn, FILL, rows)


def backfill(session_id: str, **more: Any) -> Backfill:
    given = {
        "id": "bkf_1", "by": "alice", "session_id": session_id, "since": 0, "until": 10**12,
        "asked": 0, "ended": None, "state": "asked", "place": 0, "place_id": "", "part": 0,
    } | dict.fromkeys(("turns", "done", "sent", "refused", "dropped"), 0)  # fmt: skip
    return Backfill(**(given | more))


@pytest.fixture
async def full(store: Store) -> Store:
    await store.db.touch(fill)
    await store.db.touch(lambda conn: raw.put(conn, "ANALYZE turns"))
    return store


async def plan(store: Store, statement: str, values: tuple[Any, ...]) -> str:
    explain = "EXPLAIN QUERY PLAN " if store.db.kind == "sqlite" else "EXPLAIN "
    rows = await store.every(explain + statement, *values)
    return "\n".join(str(row[-1]) for row in rows)


@pytest.mark.parametrize("what", ["count", "turns"])
async def test_a_sessions_turns_are_found_by_the_session(full: Store, what: str) -> None:
    values = ("ses_007", 0, 10**12)
    if what == "count":
        found = await plan(full, backfills.COUNT["session"], values)
    else:
        found = await plan(full, backfills.TURNS["session"], (*values, 0, 0, "", 100))

    assert "turns_session_number" in found or "sqlite_autoindex_turns_2" in found, found
    assert "turns_ended" not in found, found


async def test_turns_of_all_sessions_are_found_by_when_they_ended(full: Store) -> None:
    found = await plan(full, backfills.TURNS["all"], (4_000, 10**12, 4_000, 4_000, "", 100))

    assert "turns_ended" in found, found


@pytest.mark.parametrize("session_id", ["", "ses_007"])
async def test_every_turn_comes_once_in_order(full: Store, session_id: str) -> None:
    of = backfill(session_id, since=ended(7, 3), until=ended(7, 20))
    place, came = Place(at=0), list[str]()
    while True:
        window = await full.db.read(lambda conn, at=place: backfills.turns(conn, of, at, 7))  # type: ignore[misc]
        came += [turn.turn_id for turn in window.turns]
        place = window.scanned
        if not window.more:
            break
    count = await full.db.read(lambda conn: backfills.count(conn, session_id, of.since, of.until))

    wanted = [
        f"trn_{s:03}_{n:02}"
        for n in range(TURNS) for s in range(SESSIONS)
        if of.since <= ended(s, n) < of.until and session_id in ("", f"ses_{s:03}")
    ]  # fmt: skip
    assert came == wanted
    assert count == len(wanted)
