"""Killed at any moment, the store holds what it said was durable, whole appends and no halves."""

import pytest

from studio.core.store import rows
from tests.core.store.conftest import opened
from tests.core.store.processes import line, other

POINTS = [
    "journal.before_append", "journal.after_append", "journal.before_commit",
    "journal.after_commit", "journal.before_publish",
]  # fmt: skip


@pytest.mark.crash
@pytest.mark.parametrize("point", POINTS)
async def test_what_was_said_to_be_durable_is_there_after_a_kill(
    ready_url: str, point: str
) -> None:
    said = 0
    async with other("crash", ready_url, "50", STUDIO_FAULT=f"{point}:kill:12") as process:
        while words := await line(process):
            said = int(words)
        assert await process.wait() == -9

    async with opened(ready_url) as store:
        count, last = await store.one("SELECT count(*), max(seq) FROM events")
        followed = await store.derived()
        await store.db.record(rows.rebuild)

        durable = point in ("journal.after_commit", "journal.before_publish")
        assert said == 11
        assert count == last == said + durable
        assert await store.one("SELECT generation FROM wakes") == (count - 1,)
        assert await store.one("SELECT last FROM positions") == (count,)
        assert await store.derived() == followed
