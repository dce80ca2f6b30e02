"""The store's door: ordered writes, unordered writes, reads. Callers hand in functions of a
SQLAlchemy connection and never see a transaction begin or end.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from studio.core.rules.errors import Unavailable
from studio.core.store import places, raw
from studio.core.store.pool import Pool
from studio.core.store.tables import SCHEMA
from studio.core.store.writer import Item, State, Writer, closing

T = TypeVar("T")
POSTGRES_BATCH = 60  # subtransactions beyond 64 make every other session's reads slower
TOUCHERS = 2
READ = {
    "sqlite": "BEGIN",
    "postgresql": "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}
TOUCH = "BEGIN ISOLATION LEVEL READ COMMITTED"
FREE_LEASES = "UPDATE wakes SET owner = NULL, expires = NULL WHERE owner IS NOT NULL"


class Db:
    """A store that is open. `kind` is sqlite or postgresql."""

    def __init__(self, kind: places.Kind, url: sa.URL, *, readers: int, batch: int) -> None:
        self.kind = kind
        self._url = url
        self._path = Path(url.database or "") if kind == "sqlite" else None
        self._lock = lock(self._path) if self._path else None
        self._engine = places.engine(kind, url)
        self._batch = batch if kind == "sqlite" else min(batch, POSTGRES_BATCH)
        self._readers = Pool(readers, "store-read", READ[kind], self._connect_to_read)
        self._touchers = Pool(TOUCHERS, "store-touch", TOUCH, self._connect)
        self._writer: Writer | None = None
        self._about: dict[str, str] = {}

    @classmethod
    def open(cls, url: str, *, readers: int = 4, batch: int = 256) -> "Db":
        """The store of this URL, not started yet. A SQLite file is this process's own from here."""
        kind, parsed = places.parse(url)
        return cls(kind, parsed, readers=readers, batch=batch)

    async def start(self) -> None:
        """Connect, see that the schema is ours, and begin to write."""
        loop = asyncio.get_running_loop()
        writer = Writer(
            kind=self.kind, connect=self._connect, batch=self._batch, loop=loop
        )  # fmt: skip
        with places.saying_why():
            self._about = await asyncio.to_thread(self._look)
            await asyncio.to_thread(writer.start)
        self._writer = writer
        if self.kind == "sqlite":  # no other process lives, so no lease does
            await self.touch(lambda conn: raw.put(conn, FREE_LEASES))

    async def close(self) -> None:
        """Finish what is queued, close every connection and let the file go."""
        writer, self._writer = self._writer, None
        await asyncio.to_thread(self._readers.close)
        await asyncio.to_thread(self._touchers.close)
        if writer is not None:  # last, as the last to close a SQLite file checkpoints it
            await asyncio.to_thread(writer.close)
        self._engine.dispose()
        if self._lock is not None:
            self._lock.release()

    async def record(
        self,
        act: Callable[[sa.Connection], T],
        *,
        durable: Callable[[T], None] | None = None,
        told: Callable[[T], None] | None = None,
    ) -> T:
        """Write in order: all transactions of all processes that come this way are one line.

        Resolves when the COMMIT is durable. What `act` raises undoes only `act`. `durable` and
        `told` are as in `writer.Item`.
        """
        writer = self._writing()
        future: asyncio.Future[T] = writer.loop.create_future()
        result: T = await writer.do(Item(act, future, durable, told))
        return result

    async def touch(self, act: Callable[[sa.Connection], T]) -> T:
        """Write without waiting for the line: leases, sign-ins, uses. Never facts."""
        if self.kind == "sqlite":
            return await self.record(act)
        self._writing()
        return await self._touchers.do(act)

    async def read(self, act: Callable[[sa.Connection], T]) -> T:
        """Read; everything `act` sees is of one moment."""
        self._writing()
        return await self._readers.do(act)

    def health(self) -> dict[str, Any]:
        """What is open and how it is."""
        state = self._writer.state if self._writer else State()
        return {
            "kind": self.kind,
            **self._about,
            "wal_bytes": self._wal_bytes(),
            "commits": state.commits,
            "items": state.items,
            "last_error": state.last_error,
        }

    # For the store's own modules ------------------------------------------------------------------

    def take(self, count: int) -> int:
        """Reserve positions for facts, inside `record`; the first of them."""
        return self._writing().take(count)

    @property
    def batch_number(self) -> int:
        """Names the ordered transaction in hand."""
        return self._writing().batch_number

    def own_connection(self) -> sa.Connection:
        """A connection for one long purpose of the caller's own. Blocks."""
        return places.writing(self._engine)

    def _writing(self) -> Writer:
        if self._writer is None:
            raise Unavailable("The store is not open.", code="store.closed")
        return self._writer

    def _connect(self) -> sa.Connection:
        return places.writing(self._engine)

    def _connect_to_read(self) -> sa.Connection:
        return places.reading(self._engine)

    def _look(self) -> dict[str, str]:
        """Ask the store what it is, and refuse a schema that is not ours."""
        with closing(self._connect()) as conn:
            check_schema(revision(conn))
            if self.kind == "sqlite":
                version = raw.one(conn, "SELECT sqlite_version()")[0]
                level = raw.one(conn, "PRAGMA synchronous")[0]
                sync = {0: "off", 1: "normal", 2: "full", 3: "extra"}[level]
            else:
                version = raw.one(conn, "SHOW server_version")[0]
                sync = raw.one(conn, "SELECT current_setting('synchronous_commit')")[0]
            return {"version": version, "sync": sync}

    def _wal_bytes(self) -> int:
        try:
            return os.stat(f"{self._path}-wal").st_size if self._path else 0
        except OSError:
            return 0


def revision(conn: sa.Connection) -> str | None:
    """The schema's revision, or None when there is none."""
    if not sa.inspect(conn).has_table("alembic_version"):
        return None
    row = raw.one(conn, "SELECT version_num FROM alembic_version")
    return str(row[0]) if row else None


def check_schema(found: str | None) -> None:
    """Refuse a store whose schema is not the one this program speaks."""
    if found == SCHEMA:
        return
    if found is not None and found > SCHEMA:
        raise Unavailable(
            f"This store was written by a newer Operator Studio (schema {found}; this one knows "
            f"{SCHEMA}). Start that version, or a newer one.",
            code="store.newer",
        )
    what = f"has schema {found}, and this program needs {SCHEMA}" if found else "has no tables yet"
    raise Unavailable(f"This store {what}. Run `studio migrate` first.", code="store.older")


def lock(path: Path) -> places.Lock:
    """The file as this process's own."""
    places.check_file(path)
    return places.Lock(path)
