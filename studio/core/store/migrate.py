"""Bring a store to the schema of this program, step by step, from any older one.

Alembic does the steps; it is loaded only when there is something to do.
"""

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from studio.core.rules.errors import Unavailable
from studio.core.store import db, places, raw
from studio.core.store.tables import SCHEMA, metadata
from studio.core.store.writer import closing

SCRIPTS = Path(__file__).parent / "migrations"
ONE_AT_A_TIME = 7002  # the advisory lock of whoever migrates on PostgreSQL


def migrate(url: str) -> str:
    """Make the schema, or bring it up to date; returns its revision. Blocks."""
    kind, parsed = places.parse(url)
    lock = db.lock(Path(parsed.database or "")) if kind == "sqlite" else None
    engine = places.engine(kind, parsed)
    try:
        with places.saying_why(), closing(places.writing(engine)) as conn:
            _steps(kind, conn)
    finally:
        engine.dispose()
        if lock is not None:
            lock.release()
    return SCHEMA


def current(url: str) -> str | None:
    """The revision of a store's schema, or None when it has none. Changes nothing. Blocks."""
    kind, parsed = places.parse(url)
    if kind == "sqlite":
        path = Path(parsed.database or "")
        places.check_file(path)
        if not path.exists():
            return None
    engine = places.engine(kind, parsed)
    try:
        with places.saying_why(), closing(places.reading(engine)) as conn:
            found = db.revision(conn)
            _refuse(found, conn)
            return found
    finally:
        engine.dispose()


def _steps(kind: places.Kind, conn: sa.Connection) -> None:
    if kind == "sqlite":
        raw.put(conn, "BEGIN IMMEDIATE")
    else:
        raw.put(conn, "BEGIN")
        # between two steps a busy machine may take longer than a commit ever does
        raw.put(conn, "SET LOCAL idle_in_transaction_session_timeout = 0")
        raw.put(conn, "SELECT pg_advisory_xact_lock(?)", (ONE_AT_A_TIME,))
    found = db.revision(conn)
    _refuse(found, conn)
    if found != SCHEMA:
        _upgrade(conn)
        found = db.revision(conn)
    if found != SCHEMA:
        raise Unavailable(f"The schema stopped at {found} on its way to {SCHEMA}.")
    raw.put(conn, "COMMIT")
    conn.rollback()


def _refuse(found: str | None, conn: sa.Connection) -> None:
    """Leave alone what a newer studio wrote, and what is not a studio's at all."""
    if found is not None and found > SCHEMA:
        db.check_schema(found)
    taken = set() if found else set(sa.inspect(conn).get_table_names()) & set(metadata.tables)
    if taken:
        raise Unavailable(
            f"This database has tables of another program ({', '.join(sorted(taken)[:3])}), so "
            "nothing is written to it. Name an empty one with STUDIO_DATABASE_URL.",
            code="store.foreign",
        )


def _upgrade(conn: sa.Connection, to: str = "head") -> None:
    """Alembic's steps inside the transaction that is open, up to one; all of them or none."""
    from alembic.config import Config
    from alembic.runtime.environment import EnvironmentContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory(str(SCRIPTS))

    def steps(revision: Any, context: Any) -> Any:
        return script._upgrade_revs(to, revision)

    with EnvironmentContext(Config(), script, fn=steps) as environment:
        environment.configure(connection=conn, transactional_ddl=False)
        environment.run_migrations()
