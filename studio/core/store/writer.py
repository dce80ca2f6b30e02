"""The one thread that writes in order: group commit.

Everything queued while the last commit was on its way to the disk goes into the next one. Each
item stands in a SAVEPOINT of its own, so one that fails takes nothing else with it, and no caller
hears of success before the COMMIT is durable.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from studio.core.rules.errors import StudioError, Unavailable
from studio.core.store import places, raw

LOOK_SECONDS = 1.0
LOOK, LOOK_BYTES = "look", 64 * 1024
TAKE_ROOM = (
    "INSERT INTO spent (id, what, by, time) VALUES (?, ?, '', 0) "
    "ON CONFLICT (id) DO UPDATE SET what = excluded.what"
)
GIVE_ROOM = "DELETE FROM spent WHERE id = ?"


@dataclass(eq=False, slots=True)
class Item:
    """Something to do in the next transaction.

    `durable` is called by the writer's thread after the COMMIT, `told` on the event loop before
    the caller hears, also when the caller has gone away meanwhile.
    """

    act: Callable[[sa.Connection], Any]
    future: asyncio.Future[Any]
    durable: Callable[[Any], None] | None = None
    told: Callable[[Any], None] | None = None
    result: Any = None
    error: BaseException | None = None


@dataclass(slots=True)
class State:
    """How the writer is, for `Db.health`. The last error stands until something is written,
    if need be by the writer itself."""

    last_error: str | None = None
    commits: int = 0
    items: int = 0


@dataclass(eq=False)
class Writer:
    """A queue and its thread. `batch_number` names the transaction in hand."""

    kind: places.Kind
    connect: Callable[[], sa.Connection]
    batch: int
    loop: asyncio.AbstractEventLoop
    state: State = field(default_factory=State)
    batch_number: int = 0
    _queue: "queue.SimpleQueue[Item | None]" = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None
    _conn: sa.Connection | None = None
    _last: int = 0
    _closed: bool = False

    def start(self) -> None:
        """Connect and begin; raises in the caller when the store cannot be opened."""
        self._conn = self.connect()
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    async def do(self, item: Item) -> Any:
        """Queue an item and wait until it is durable."""
        if self._closed:
            raise Unavailable("The store is closed.", code="store.closed")
        self._queue.put(item)
        return await item.future

    def close(self) -> None:
        """Finish what is queued, then end. Blocks; call it off the event loop."""
        self._closed = True
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()
        self._drop()

    def take(self, count: int) -> int:
        """Reserve positions for facts; the first of them. Only inside an item."""
        first = self._last + 1
        self._last += count
        return first

    # The thread -----------------------------------------------------------------------------------

    def _work(self) -> None:
        going = True
        while going:
            items = [self._next()]
            while len(items) < self.batch and items[-1] is not None:
                try:
                    items.append(self._queue.get_nowait())
                except queue.Empty:
                    break
            going = items[-1] is not None
            waiting = [item for item in items if item is not None and not item.future.cancelled()]
            if waiting:
                self._commit(waiting)
                with contextlib.suppress(
                    RuntimeError
                ):  # the loop has ended: nobody is left to hear
                    self.loop.call_soon_threadsafe(_tell, waiting)

    def _next(self) -> Item | None:
        """The next item. While the store is broken, look now and then whether it still is."""
        while self.state.last_error is not None:
            try:
                return self._queue.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self._look()
        return self._queue.get()

    def _look(self) -> None:
        """Write something that takes room, and take it away again."""
        try:
            for statement, values in ((TAKE_ROOM, (LOOK, "x" * LOOK_BYTES)), (GIVE_ROOM, (LOOK,))):
                conn = self._begin()
                raw.put(conn, statement, values)
                self._end(conn, moved=False)
        except BaseException as error:  # noqa: BLE001 - the thread outlives every failure
            self._undo([], error)
        else:
            self.state.last_error = None

    def _commit(self, items: list[Item]) -> None:
        self.batch_number += 1
        try:
            conn = self._begin()
            before, written = self._last, _written(self.kind, conn)
            for item in items:
                self._do(conn, item, alone=len(items) == 1)
            self._end(conn, moved=self._last != before)
            if written is None or _written(self.kind, conn) != written:
                self.state.last_error = None
        except BaseException as error:  # noqa: BLE001 - the thread outlives every failure
            self._undo(items, error)
            return
        self.state.commits += 1
        self.state.items += len(items)
        for item in items:
            _durable(item)

    def _begin(self) -> sa.Connection:
        """Begin, on a new connection when the old one has gone. Nothing was done yet."""
        if self._conn is not None:
            try:
                return self._ordered(self._conn)
            except Exception:  # noqa: BLE001 - the second try says what is wrong
                self._drop()
        self._conn = self.connect()
        return self._ordered(self._conn)

    def _ordered(self, conn: sa.Connection) -> sa.Connection:
        """On PostgreSQL the row's lock orders this transaction among those of all processes."""
        if self.kind == "sqlite":
            raw.put(conn, "BEGIN IMMEDIATE")
            row = raw.one(conn, "SELECT last FROM positions WHERE id = 1")
        else:
            raw.put(conn, "BEGIN ISOLATION LEVEL READ COMMITTED")
            row = raw.one(conn, "SELECT last FROM positions WHERE id = 1 FOR UPDATE")
        self._last = row[0]
        return conn

    def _do(self, conn: sa.Connection, item: Item, *, alone: bool) -> None:
        before = self._last
        if not alone:
            raw.put(conn, "SAVEPOINT item")
        try:
            item.result = item.act(conn)
        except Exception as error:
            if not _in_transaction(self.kind, conn):
                raise
            item.error = places.in_words(error) or error
            self._last = before
            raw.put(conn, "ROLLBACK" if alone else "ROLLBACK TO SAVEPOINT item")
        if not alone:
            raw.put(conn, "RELEASE SAVEPOINT item")

    def _end(self, conn: sa.Connection, *, moved: bool) -> None:
        if _in_transaction(self.kind, conn):
            if moved:
                raw.put(conn, "UPDATE positions SET last = ? WHERE id = 1", (self._last,))
            self._make_durable(conn)
        conn.rollback()  # SQLAlchemy's own idea of a transaction; nothing is open any more

    def _make_durable(self, conn: sa.Connection) -> None:
        try:
            raw.put(conn, "COMMIT")
        except Exception as error:
            words = places.in_words(error)
            if words is not None and words.code == "store.unreachable":
                raise places.unsure() from error
            raise

    def _undo(self, items: list[Item], error: BaseException) -> None:
        """The store failed: nothing of this batch was recorded, and everyone hears why."""
        words = places.in_words(error) or error
        is_told = isinstance(words, StudioError)
        self.state.last_error = str(words) if is_told else f"{type(words).__name__}."
        for item in items:
            item.result = None
            item.error = item.error if isinstance(item.error, StudioError) else words
        self._drop()

    def _drop(self) -> None:
        """Give the connection up; closing it rolls back whatever was open."""
        conn, self._conn = self._conn, None
        if conn is not None:
            close(conn)


def close(conn: sa.Connection) -> None:
    """Close a connection for good, whatever state it is in."""
    with contextlib.suppress(Exception):  # it is gone either way
        conn.invalidate()
        conn.close()


@contextlib.contextmanager
def closing(conn: sa.Connection) -> Iterator[sa.Connection]:
    """A connection for a while."""
    try:
        yield conn
    finally:
        close(conn)


def _in_transaction(kind: places.Kind, conn: sa.Connection) -> bool:
    driver = raw.driver(conn)
    if kind == "sqlite":
        return bool(driver.in_transaction)
    return not driver.closed and int(driver.info.transaction_status) in (2, 3)


def _durable(item: Item) -> None:
    if item.error is None and item.durable is not None:
        try:
            item.durable(item.result)
        except Exception as error:  # noqa: BLE001 - a fault armed by a test
            item.error = error


def _tell(items: list[Item]) -> None:
    for item in items:
        if item.error is None and item.told is not None:
            try:
                item.told(item.result)
            except Exception as error:  # noqa: BLE001 - a fault armed by a test
                item.error = error
        if item.future.done():
            continue
        if item.error is None:
            item.future.set_result(item.result)
        else:
            item.future.set_exception(item.error)


def _written(kind: places.Kind, conn: sa.Connection) -> int | None:
    """How many rows this connection changed so far; a full disk takes a commit without any."""
    return int(raw.driver(conn).total_changes) if kind == "sqlite" else None
