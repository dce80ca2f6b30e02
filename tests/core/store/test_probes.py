"""Looks at something outside: the newest of each target, found in one walk."""

import sqlalchemy as sa

from studio.core.store import probes, raw
from studio.core.store.tables import probes as table
from tests.core.store.conftest import Store, opened

STEPS = 1_000  # of SQLite's machine between two counts


def look(number: int, target: str, kind: str = "model") -> dict[str, object]:
    return {"id": f"prb_{number:05d}", "kind": kind, "target": target, "subject": "{}",
            "by": "ada", "state": "answered", "asked": number}  # fmt: skip


async def fill(store: Store, *looks: dict[str, object]) -> None:
    await store.db.touch(lambda conn: conn.execute(sa.insert(table), list(looks)))


async def test_the_newest_of_each_target_and_kind(store: Store) -> None:
    await fill(
        store, look(1, "a"), look(2, "b"), look(3, "a"), look(4, "a", "server"), look(5, "b")
    )  # fmt: skip

    found = await store.db.read(lambda conn: probes.newest(conn, "model"))

    assert sorted(one.id for one in found) == ["prb_00003", "prb_00005"]


async def test_many_looks_at_one_target_cost_one_walk(sqlite_url: str) -> None:
    ticks: list[int] = []

    def counted(conn: sa.Connection) -> int:
        raw.driver(conn).set_progress_handler(lambda: ticks.append(1), STEPS)
        try:
            return len(probes.newest(conn, "model"))
        finally:
            raw.driver(conn).set_progress_handler(None, 0)

    async with opened(sqlite_url) as store:
        await fill(store, *(look(n, "a") for n in range(3_000)))
        assert await store.db.read(counted) == 1

    assert len(ticks) * STEPS < 100 * 3_000
