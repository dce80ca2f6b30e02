"""The door: order, group commit, one moment a read, and words for everything that can go wrong."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from studio.core.rules.errors import Invalid, Unavailable
from studio.core.store import places, raw, writer
from studio.core.store.db import Db
from tests.core.store.conftest import Store, opened

ADD = "INSERT INTO spent (id, what, by, time) VALUES (?, 'test', 'alice', 0)"
COUNT = "SELECT count(*) FROM spent"


def adding(name: str) -> Any:
    return lambda conn: raw.put(conn, ADD, (name,))


def failing(conn: sa.Connection) -> None:
    raw.put(conn, ADD, ("lost",))
    raise ValueError("not today")


async def test_one_failing_item_does_not_sink_its_batch(store: Store) -> None:
    items = [store.db.record(failing if n % 5 == 0 else adding(f"n{n}")) for n in range(40)]
    results = await asyncio.gather(*items, return_exceptions=True)

    assert [isinstance(result, ValueError) for result in results] == [n % 5 == 0 for n in range(40)]
    assert await store.one(COUNT) == (32,)


async def test_items_queued_together_share_a_commit(store: Store) -> None:
    before = store.db.health()["commits"]

    await asyncio.gather(*[store.db.record(adding(f"n{n}")) for n in range(50)])

    assert store.db.health()["commits"] - before <= 3


async def test_a_statement_that_fails_undoes_only_its_own_item(store: Store) -> None:
    twice = [store.db.record(adding("same")), store.db.record(adding("same"))]

    results = await asyncio.gather(*twice, store.db.record(adding("other")), return_exceptions=True)

    assert results[0] == 1
    assert isinstance(results[1], Exception)
    assert await store.one(COUNT) == (2,)


async def test_positions_of_a_failed_item_are_used_by_the_next(store: Store) -> None:
    def fails(conn: sa.Connection) -> None:
        store.db.take(7)
        raise ValueError

    failed = store.db.record(fails)
    taken = store.db.record(lambda conn: store.db.take(2))
    _, first = await asyncio.gather(failed, taken, return_exceptions=True)

    assert first == 1
    assert await store.one("SELECT last FROM positions") == (2,)


async def test_a_read_sees_one_moment(store: Store) -> None:
    loop = asyncio.get_running_loop()

    def twice(conn: sa.Connection) -> tuple[int, int]:
        first = raw.one(conn, COUNT)[0]
        asyncio.run_coroutine_threadsafe(store.db.record(adding("between")), loop).result()
        return first, raw.one(conn, COUNT)[0]

    assert await store.db.read(twice) == (0, 0)
    assert await store.one(COUNT) == (1,)


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(Unavailable) as caught:
        await store.db.read(adding("x"))

    assert caught.value.code == "store.read_only"
    assert await store.one(COUNT) == (0,)


async def test_core_expressions_and_plain_statements_share_a_transaction(store: Store) -> None:
    def both(conn: sa.Connection) -> int:
        raw.put(conn, ADD, ("raw",))
        return len(conn.execute(sa.text("SELECT id FROM spent")).all())

    assert await store.db.record(both) == 1
    assert await store.db.touch(lambda conn: conn.execute(sa.text("DELETE FROM spent")).rowcount)
    assert await store.one(COUNT) == (0,)


async def test_touch_undoes_what_raises(store: Store) -> None:
    with pytest.raises(ValueError, match="not today"):
        await store.db.touch(failing)

    assert await store.one(COUNT) == (0,)


async def test_a_caller_that_goes_away_leaves_the_writer_at_work(store: Store) -> None:
    told: list[object] = []
    tasks = [asyncio.ensure_future(store.db.record(adding("a"), told=told.append))]
    await asyncio.sleep(0)
    tasks[0].cancel()

    await store.db.record(adding("b"))

    assert await store.one("SELECT count(*) FROM spent WHERE id = 'b'") == (1,)
    assert len(told) == (await store.one("SELECT count(*) FROM spent WHERE id = 'a'"))[0]


async def test_close_finishes_what_is_queued(ready_url: str) -> None:
    async with opened(ready_url) as store:
        waiting = [asyncio.ensure_future(store.db.record(adding(f"n{n}"))) for n in range(30)]
        await asyncio.sleep(0)

    await asyncio.gather(*waiting)
    async with opened(ready_url) as again:
        assert await again.one(COUNT) == (30,)


async def test_a_closed_store_says_so(ready_url: str) -> None:
    async with opened(ready_url) as store:
        pass

    with pytest.raises(Unavailable, match="not open"):
        await store.db.record(adding("late"))


async def test_health_names_kind_version_and_sync(store: Store) -> None:
    health = store.db.health()

    assert health["kind"] == store.db.kind
    assert health["sync"] == {"sqlite": "full", "postgresql": "on"}[store.db.kind]
    assert health["version"]
    assert health["last_error"] is None


# SQLite's file ------------------------------------------------------------------------------------


async def test_the_sqlite_file_syncs_every_commit_and_readers_never_checkpoint(
    sqlite_url: str,
) -> None:
    def asks(conn: sa.Connection) -> list[Any]:
        names = ("journal_mode", "synchronous", "wal_autocheckpoint", "query_only", "foreign_keys")
        return [raw.one(conn, f"PRAGMA {name}")[0] for name in names]

    async with opened(sqlite_url) as store:
        assert await store.db.record(asks) == ["wal", 2, places.CHECKPOINT_PAGES, 0, 1]
        assert (await store.db.read(asks))[2:4] == [0, 1]


async def test_a_second_process_is_refused_and_told_who_holds_the_file(sqlite_url: str) -> None:
    program = (
        "import sys; from studio.core.store.db import Db\n"
        "try: Db.open(sys.argv[1])\n"
        "except Exception as error: print(error.code, error)"
    )
    async with opened(sqlite_url):
        command = [sys.executable, "-c", program, sqlite_url]
        said = await asyncio.to_thread(
            lambda: subprocess.run(command, capture_output=True, text=True, check=True).stdout
        )

    assert said.startswith("store.in_use ")
    assert f"process {os.getpid()}" in said


async def test_the_file_is_free_again_after_close(sqlite_url: str) -> None:
    async with opened(sqlite_url):
        pass

    async with opened(sqlite_url) as again:
        assert await again.one(COUNT) == (0,)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no folder") as caught:
        Db.open(f"sqlite:///{tmp_path}/nowhere/studio.db")

    assert caught.value.code == "store.no_folder"


def test_a_file_that_is_not_a_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear Alice, this is not a database at all.")

    with pytest.raises(Unavailable) as caught:
        Db.open(f"sqlite:///{path}")

    assert caught.value.code == "store.not_a_database"
    assert path.read_text().startswith("Dear Alice")


def test_a_folder_in_the_file_s_place_is_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "studio.db").mkdir()

    with pytest.raises(Unavailable) as caught:
        Db.open(f"sqlite:///{tmp_path}/studio.db")

    assert caught.value.code == "store.cannot_open"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_one_may_not_write_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)

    with pytest.raises(Unavailable) as caught:
        Db.open(f"sqlite:///{tmp_path}/studio.db")

    assert caught.value.code == "store.no_permission"


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "mysql://localhost/studio", "not a url"]
)
def test_a_url_of_no_store_of_ours_is_refused(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        Db.open(url)

    assert caught.value.code == "store.url"


async def test_a_full_disk_is_said_and_recovered_from(sqlite_url: str) -> None:
    def limit(pages: int) -> Any:
        return lambda conn: raw.one(conn, f"PRAGMA max_page_count = {pages}")

    large = [(f"n{n}", "x" * 4_000) for n in range(100)]
    add = "INSERT INTO spent (id, what, by, time) VALUES (?, ?, 'alice', 0)"
    async with opened(sqlite_url) as store:
        pages = (await store.one("PRAGMA page_count"))[0]
        await store.db.record(limit(pages + 10))
        with pytest.raises(Unavailable) as caught:
            await store.db.record(lambda conn: raw.put_many(conn, add, large))
        assert caught.value.code == "store.full"
        assert store.db.health()["last_error"] is not None
        assert await store.one(COUNT) == (0,)

        await store.db.record(limit(100_000))
        await store.db.record(lambda conn: raw.put_many(conn, add, large))

        assert await store.one(COUNT) == (100,)
        assert store.db.health()["last_error"] is None


async def test_a_store_that_takes_writes_again_says_so_by_itself(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit on pages is of one connection, and the next one is without."""
    monkeypatch.setattr(writer, "LOOK_SECONDS", 0.3)
    large = [(f"n{n}", "x" * 4_000) for n in range(100)]
    add = "INSERT INTO spent (id, what, by, time) VALUES (?, ?, 'alice', 0)"
    async with opened(sqlite_url) as store:
        pages = (await store.one("PRAGMA page_count"))[0]
        await store.db.record(lambda conn: raw.one(conn, f"PRAGMA max_page_count = {pages}"))
        with pytest.raises(Unavailable):
            await store.db.record(lambda conn: raw.put_many(conn, add, large))
        assert store.db.health()["last_error"] is not None

        async with asyncio.timeout(5):
            while store.db.health()["last_error"] is not None:
                await asyncio.sleep(0.01)
        assert await store.one(COUNT) == (0,)


# PostgreSQL's server ------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_is_said() -> None:
    db = Db.open("postgresql://nobody@127.0.0.1:1/studio")

    with pytest.raises(Unavailable) as caught:
        await db.start()

    await db.close()
    assert caught.value.code == "store.unreachable"


@pytest.mark.postgres
async def test_connections_that_the_server_cut_are_made_anew(server_url: str) -> None:
    cut = (
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with opened(server_url) as store:
        await store.db.record(adding("before"))
        await store.one(COUNT)
        await store.db.touch(lambda conn: raw.one(conn, cut))

        await store.db.record(adding("after"))

        assert await store.one(COUNT) == (2,)
