"""The schema that migrations make is the one in tables.py, on both stores."""

import re
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from studio.core.rules.errors import Unavailable
from studio.core.store import migrate, places, raw, tables
from studio.core.store.db import Db
from studio.core.store.migrate import SCRIPTS
from tests import postgres

SQLITE_SHAPE = (
    "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'index') "
    "AND name NOT LIKE 'sqlite_%' AND name <> 'alembic_version'"
)
COLUMNS = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default "
    "FROM information_schema.columns WHERE table_schema = 'public' "
    "AND table_name <> 'alembic_version'"
)
INDEXES = (
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' "
    "AND tablename <> 'alembic_version' AND indexname <> 'sessions_search'"
)


def shape(url: str) -> dict[Any, Any]:
    kind, parsed = places.parse(url)
    engine = places.engine(kind, parsed)
    with engine.connect() as conn:
        if kind == "sqlite":
            found = {row[:2]: squeezed(row[2]) for row in raw.every(conn, SQLITE_SHAPE)}
        else:
            found = {row[:2]: row[2:] for row in raw.every(conn, COLUMNS.replace("%", "%%"))}
            found |= {row[:2]: row[2] for row in raw.every(conn, INDEXES)}
    engine.dispose()
    return found


def squeezed(text: str | None) -> str:
    """Without spaces, quotes and names of constraints that only one side gives."""
    return re.sub(r'[\s"\']', "", text or "").replace("CONSTRAINT", "")


def created(url: str) -> str:
    kind, parsed = places.parse(url)
    engine = places.engine(kind, parsed)
    for index in [one for table in tables.metadata.sorted_tables for one in table.indexes]:
        if "where" in index.info:
            index.dialect_kwargs[f"{kind}_where"] = sa.text(index.info["where"])
    tables.metadata.create_all(engine)
    engine.dispose()
    return url


def test_migrated_sqlite_is_what_the_tables_say(tmp_path: Path) -> None:
    migrated = f"sqlite:///{tmp_path / 'migrated.db'}"

    assert migrate.migrate(migrated) == tables.SCHEMA
    assert shape(migrated) == shape(created(f"sqlite:///{tmp_path / 'created.db'}"))


@pytest.mark.postgres
def test_migrated_postgresql_is_what_the_tables_say(postgres_cluster: postgres.Cluster) -> None:
    migrated = postgres_cluster.create_database()

    assert migrate.migrate(migrated) == tables.SCHEMA
    assert shape(migrated) == shape(created(postgres_cluster.create_database()))


def test_migrating_twice_changes_nothing(empty_url: str) -> None:
    assert migrate.current(empty_url) is None

    migrate.migrate(empty_url)
    before = shape(empty_url)
    migrate.migrate(empty_url)

    assert migrate.current(empty_url) == tables.SCHEMA
    assert shape(empty_url) == before


def test_the_newest_step_is_the_schema_the_program_speaks() -> None:
    steps = sorted(path.name[:4] for path in (SCRIPTS / "versions").glob("0*.py"))

    assert steps[-1] == tables.SCHEMA


async def test_a_store_without_tables_is_not_started(empty_url: str) -> None:
    db = Db.open(empty_url)

    with pytest.raises(Unavailable, match="studio migrate") as caught:
        await db.start()

    await db.close()
    assert caught.value.code == "store.older"


async def test_a_store_of_a_newer_program_is_not_started(ready_url: str) -> None:
    kind, parsed = places.parse(ready_url)
    engine = places.engine(kind, parsed)
    with engine.connect() as conn:
        raw.put(conn, "UPDATE alembic_version SET version_num = '9999'")
    engine.dispose()
    db = Db.open(ready_url)

    with pytest.raises(Unavailable, match="newer") as caught:
        await db.start()

    await db.close()
    assert caught.value.code == "store.newer"
    with pytest.raises(Unavailable, match="newer"):
        migrate.migrate(ready_url)


def test_a_step_that_fails_leaves_nothing_behind(empty_url: str) -> None:
    kind, parsed = places.parse(empty_url)
    engine = places.engine(kind, parsed)
    with engine.connect() as conn:
        raw.put(conn, "CREATE VIEW wakes AS SELECT 1 AS id")  # where a step makes a table
        with pytest.raises(sa.exc.DBAPIError):
            migrate.migrate(empty_url)
        left = set(sa.inspect(conn).get_table_names())
    engine.dispose()

    assert left == set()
    assert migrate.current(empty_url) is None


def test_tables_of_another_program_are_left_alone(empty_url: str) -> None:
    kind, parsed = places.parse(empty_url)
    engine = places.engine(kind, parsed)
    with engine.connect() as conn:
        raw.put(conn, "CREATE TABLE events (what TEXT)")

    for look in (migrate.migrate, migrate.current):
        with pytest.raises(Unavailable, match=r"another program \(events\)") as caught:
            look(empty_url)
        assert caught.value.code == "store.foreign"

    with engine.connect() as conn:
        assert sa.inspect(conn).get_table_names() == ["events"]
    engine.dispose()


@pytest.mark.parametrize("verb", ["UPDATE events SET actor = 'mallory'", "DELETE FROM events"])
async def test_facts_are_never_changed_or_removed(store: Any, verb: str) -> None:
    await store.start()

    with pytest.raises(Exception, match="never changed"):
        await store.db.record(lambda conn: raw.put(conn, verb))

    assert await store.one("SELECT count(*), max(actor) FROM events") == (1, "runtime")


OLDER = (
    "DROP TABLE failing",
    "DROP TABLE outside_senders",
    "ALTER TABLE outside_traces DROP COLUMN bytes",
    "ALTER TABLE outside_spans DROP COLUMN bytes",
    "INSERT INTO outside_traces (id, name, agent, service, talk, sent_by, state, began, ended, "
    "taken, changed, spans) VALUES ('t', '', '', '', '', 'ann', '', 1, 1, 1, 1, 2)",
    *(
        "INSERT INTO outside_spans (trace_id, span_id, parent_id, name, kind, what, convention, "
        "state, began, agent, service, scope, code, words, sent_by) "
        f"VALUES ('t', '{span}', '', '', '', '', '', '', 1, '', '', '', '', '', '{sender}')"
        for span, sender in (("a", "ann"), ("b", "bob"))
    ),
    "INSERT INTO outside_payloads (trace_id, span_id, data) VALUES ('t', 'a', '12345')",
    "UPDATE alembic_version SET version_num = '0005'",
)


def test_bytes_of_spans_that_are_here_are_counted_when_a_store_is_brought_up(
    ready_url: str,
) -> None:
    kind, parsed = places.parse(ready_url)
    engine = places.engine(kind, parsed)
    with engine.begin() as conn:
        for statement in OLDER:
            raw.put(conn, statement)

    migrate.migrate(ready_url)

    with engine.connect() as conn:
        traces = raw.every(conn, "SELECT id, bytes FROM outside_traces")
        senders = raw.every(conn, "SELECT sent_by, spans, bytes FROM outside_senders ORDER BY 1")
    engine.dispose()
    assert [tuple(row) for row in traces] == [("t", 5)]
    assert [tuple(row) for row in senders] == [("ann", 1, 5), ("bob", 1, 0)]


def test_a_store_without_word_of_failing_sessions_gets_a_place_for_it(ready_url: str) -> None:
    kind, parsed = places.parse(ready_url)
    before = shape(ready_url)
    engine = places.engine(kind, parsed)
    with engine.begin() as conn:
        raw.put(conn, "DROP TABLE failing")
        raw.put(conn, "UPDATE alembic_version SET version_num = '0006'")
    engine.dispose()

    assert migrate.migrate(ready_url) == tables.SCHEMA
    assert shape(ready_url) == before
