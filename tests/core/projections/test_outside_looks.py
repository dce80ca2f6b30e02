"""However many traces came from outside, a filter of their list looks at so many of them."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

from studio.core.projections import outside
from studio.core.projections.outside import AskedOutside
from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.store import raw
from tests.core.projections.story import Story

AT = 1_796_000_000_000
COUNT, LOOKED = 3_000, 100
ONE = (
    "INSERT INTO outside_traces (id, name, agent, service, talk, sent_by, state, began, ended, "
    "taken, changed) VALUES (?, '', '', ?, '', '', 'completed', 1, 1, ?, ?)"
)
Said = list[tuple[str, Any]]


async def many(story: Story) -> None:
    """Many traces of a shop; the oldest is a desk's."""
    rows = [
        (f"{n:032x}", "shop" if n else "desk", AT + n // 3, AT + n // 3) for n in range(COUNT)
    ]  # fmt: skip
    await story.db.touch(lambda conn: raw.put_many(conn, ONE, rows))


def statements(conn: sa.Connection, asked: AskedOutside) -> Said:
    """What a page of the list asks the store."""
    found: Said = []

    def hear(_conn: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        found.append((statement, values))

    sa.event.listen(conn, "before_cursor_execute", hear)
    outside.page(conn, asked, limit=50, cursor=None)
    sa.event.remove(conn, "before_cursor_execute", hear)
    return found


def steps(conn: sa.Connection, asked: AskedOutside) -> int:
    """Hundreds of instructions that SQLite carries out for a page."""
    done = 0

    def count() -> int:
        nonlocal done
        done += 1
        return 0

    raw.driver(conn).set_progress_handler(count, 100)
    outside.page(conn, asked, limit=50, cursor=None)
    raw.driver(conn).set_progress_handler(None, 0)
    return done


def rows_of(plan: dict[str, Any]) -> int:
    """How many rows of the table a plan of PostgreSQL looked at."""
    own = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    is_scan = "Scan" in plan["Node Type"]
    return (int(own) if is_scan else 0) + sum(map(rows_of, plan.get("Plans", [])))


async def test_a_rare_name_is_looked_for_in_so_many_rows_at_once(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "LOOKED", LOOKED)
    await many(story)
    rare = AskedOutside(service="desk")

    def look(conn: sa.Connection) -> int:
        if conn.dialect.name == "sqlite":
            for statement, values in statements(conn, rare):
                plan = raw.every(conn, f"EXPLAIN QUERY PLAN {statement}", values)
                assert all("outside_traces_taken" in row[3] for row in plan)
            return steps(conn, rare) * 100 // 15  # at the least, for one row
        looked = 0
        for statement, values in statements(conn, rare):
            text = f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}"
            (plan,) = raw.driver(conn).execute(text, values).fetchone()
            looked += rows_of((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
        return looked

    if story.db.kind == "postgresql":
        await story.db.touch(lambda conn: raw.put(conn, "ANALYZE outside_traces"))
    assert await story.db.read(look) <= 3 * LOOKED


async def test_a_page_says_that_it_looked_at_a_part_and_the_next_goes_on(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "LOOKED", 999)
    await many(story)
    asked, cursor, seen = AskedOutside(service="desk"), None, list[tuple[int, bool]]()

    while True:
        page = await reader.outside_traces(charlie, asked, cursor=cursor)
        seen.append((len(page.items), page.complete))
        cursor = page.next
        if cursor is None:
            break

    assert seen == [(0, False), (0, False), (0, False), (1, True)]


@pytest.mark.parametrize("looked", [1, 7, 50, 3_000, 5_000])
async def test_every_trace_that_fits_comes_once_however_far_a_page_looks(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch, looked: int
) -> None:
    monkeypatch.setattr(outside, "LOOKED", looked)
    rows = [(f"{n:032x}", "shop" if n % 3 else "desk", AT + n // 4, AT) for n in range(60)]
    await story.db.touch(lambda conn: raw.put_many(conn, ONE, rows))
    asked, cursor, seen = AskedOutside(service="desk"), None, list[str]()

    while True:
        page = await reader.outside_traces(charlie, asked, limit=4, cursor=cursor)
        seen += [row.id for row in page.items]
        cursor = page.next
        if cursor is None:
            break

    assert seen == [f"{n:032x}" for n in range(57, -1, -3)]
