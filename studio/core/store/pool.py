"""A few threads, each with a connection of its own that it opens at its first use."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import sqlalchemy as sa

from studio.core.store import places, raw
from studio.core.store.writer import close

T = TypeVar("T")


class Pool:
    """Transactions that need no order among themselves. First come, first served."""

    def __init__(
        self, size: int, name: str, begin: str, connect: Callable[[], sa.Connection]
    ) -> None:
        self._threads = ThreadPoolExecutor(size, thread_name_prefix=name)
        self._begin, self._connect = begin, connect
        self._own = threading.local()
        self._all: list[sa.Connection] = []

    async def do(self, act: Callable[[sa.Connection], T]) -> T:
        """One transaction around `act`; failures of the store come back in words."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._in_words, act)

    def close(self) -> None:
        """Wait for what is under way, then close the connections. Blocks."""
        self._threads.shutdown(wait=True)
        for conn in self._all:
            close(conn)
        self._all.clear()

    def _in_words(self, act: Callable[[sa.Connection], T]) -> T:
        try:
            return self._transaction(act)
        except Exception as error:
            words = places.in_words(error)
            if words is None:
                raise
            raise words from error

    def _transaction(self, act: Callable[[sa.Connection], T]) -> T:
        conn = self._begun()
        try:
            result = act(conn)
            raw.put(conn, "COMMIT")
        except BaseException:
            self._drop_unless_rolled_back(conn)
            raise
        conn.rollback()  # SQLAlchemy's own idea of a transaction; nothing is open any more
        return result

    def _begun(self) -> sa.Connection:
        """Begin, on a new connection when the old one has gone. Nothing was done yet."""
        old: sa.Connection | None = getattr(self._own, "conn", None)
        if old is not None:
            try:
                raw.put(old, self._begin)
                return old
            except Exception:  # noqa: BLE001 - the second try says what is wrong
                self._drop(old)
        conn = self._connect()
        self._all.append(conn)
        self._own.conn = conn
        raw.put(conn, self._begin)
        return conn

    def _drop_unless_rolled_back(self, conn: sa.Connection) -> None:
        try:
            raw.driver(conn).rollback()
            conn.rollback()
        except Exception:  # noqa: BLE001 - it has gone; the next use opens another
            self._drop(conn)

    def _drop(self, conn: sa.Connection) -> None:
        self._own.conn = None
        self._all.remove(conn)
        close(conn)
