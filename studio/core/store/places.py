"""Where the store is, a file or a server: opening it, and saying in words why it cannot be used."""

import contextlib
import errno
import fcntl
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa

from studio.core.rules.errors import Invalid, StudioError, Unavailable
from studio.core.store import raw

try:  # bundles a current SQLite; Debian's own has the WAL-reset fault
    sqlite: Any = importlib.import_module("pysqlite3.dbapi2")
except ImportError:
    sqlite = importlib.import_module("sqlite3")

Kind = Literal["sqlite", "postgresql"]
MAGIC = b"SQLite format 3\x00"
BUSY_MILLISECONDS = 5_000
CHECKPOINT_PAGES = 1_000
WAL_BYTES_KEPT = 64 * 1024 * 1024

SQLITE_ALL = ("foreign_keys=ON", f"busy_timeout={BUSY_MILLISECONDS}")
SQLITE_WRITER = (
    "journal_mode=WAL", "synchronous=FULL", f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    f"journal_size_limit={WAL_BYTES_KEPT}", "cache_size=-16384",
)  # fmt: skip
SQLITE_READER = ("query_only=ON", "wal_autocheckpoint=0", "cache_size=-4096")
POSTGRES_ALL = (
    "SET lock_timeout = '20s'",
    "SET idle_in_transaction_session_timeout = '5s'",
    "SET client_min_messages = 'warning'",
    "SET jit = off",
    "SET max_parallel_workers_per_gather = 0",  # starting them costs more than our short questions
)


def parse(url: str) -> tuple[Kind, sa.URL]:
    """Which store a URL means, and the URL as SQLAlchemy wants it."""
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError:
        raise Invalid(
            "The store's URL cannot be read. Write sqlite:////path/to/studio.db or "
            "postgresql://user@host/database.",
            code="store.url",
        ) from None
    match parsed.get_backend_name():
        case "sqlite" if parsed.database and parsed.database != ":memory:":
            return "sqlite", sa.URL.create("sqlite", database=os.path.abspath(parsed.database))
        case "sqlite":
            raise Invalid("The store needs a file, not memory.", code="store.url")
        case "postgresql" | "postgres":
            return "postgresql", parsed.set(drivername="postgresql+psycopg")
        case other:
            raise Invalid(f"The store can be SQLite or PostgreSQL, not {other}.", code="store.url")


def engine(kind: Kind, url: sa.URL) -> sa.Engine:
    """An engine without a pool: every thread of ours keeps the connection it opened."""
    if kind == "sqlite":
        return sa.create_engine(
            url, module=sqlite, poolclass=sa.NullPool,
            connect_args={
                "isolation_level": None, "check_same_thread": False, "cached_statements": 512,
            },
        )  # fmt: skip
    return sa.create_engine(
        url, poolclass=sa.NullPool, isolation_level="AUTOCOMMIT",
        connect_args={
            "connect_timeout": 10, "application_name": "operator-studio",
            "keepalives_idle": 2, "keepalives_interval": 1, "keepalives_count": 3,
        },
    )  # fmt: skip


def writing(where: sa.Engine) -> sa.Connection:
    """A connection that may write. On SQLite it alone moves pages from the WAL into the file."""
    conn = where.connect()
    if conn.dialect.name == "sqlite":
        _pragmas(conn, (*SQLITE_ALL, *SQLITE_WRITER))
    else:
        _settings(conn)
        durable = raw.one(conn, "SELECT current_setting('synchronous_commit')")[0]
        if durable in ("off", "local"):
            raw.put(conn, "SET synchronous_commit = 'on'")
    return conn


def reading(where: sa.Engine) -> sa.Connection:
    """A connection that only reads."""
    conn = where.connect()
    if conn.dialect.name == "sqlite":
        _pragmas(conn, (*SQLITE_ALL, *SQLITE_READER))
    else:
        _settings(conn)
    return conn


def _pragmas(conn: sa.Connection, pragmas: tuple[str, ...]) -> None:
    for pragma in pragmas:
        raw.driver(conn).execute(f"PRAGMA {pragma}").fetchall()


def _settings(conn: sa.Connection) -> None:
    for setting in POSTGRES_ALL:
        raw.put(conn, setting)


# One process a file -------------------------------------------------------------------------------


class Lock:
    """Says that this process, and no other, uses the SQLite file. Goes with the process."""

    def __init__(self, path: Path) -> None:
        self._file = _open_lock(path)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(self._file)
            os.close(self._file)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise Unavailable(
                    f"{path.name} cannot be locked: {error.strerror}.", code="store.lock"
                ) from None
            raise Unavailable(
                f"{path} is in use by {holder}. One process at a time can use a SQLite file: stop "
                "that one first, or use PostgreSQL when several processes shall share the work.",
                code="store.in_use",
                details={"holder": holder},
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next process in."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _open_lock(path: Path) -> int:
    try:
        return os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _why(path, error) from None


def _holder(file: int) -> str:
    with contextlib.suppress(OSError, ValueError):
        return f"process {int(os.pread(file, 32, 0))}"
    return "another process"


def check_file(path: Path) -> None:
    """Refuse a file that is not a database, before SQLite speaks of it in its own words."""
    if not path.parent.is_dir():
        raise Unavailable(
            f"There is no folder {path.parent}, so the store cannot be kept there. Make it first.",
            code="store.no_folder",
        )
    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _why(path, error) from None
    if start and start != MAGIC:
        raise Unavailable(
            f"{path} is not a SQLite database. Name another file.", code="store.not_a_database"
        )
    if not os.access(path, os.W_OK):
        raise _why(path, PermissionError(errno.EACCES, "Permission denied"))


def _why(path: Path, error: OSError) -> Unavailable:
    match error.errno:
        case errno.EACCES | errno.EPERM:
            return Unavailable(
                f"This process may not write {path} or its folder. Change their owner or mode.",
                code="store.no_permission",
            )
        case errno.EROFS:
            return Unavailable(
                f"{path} lies on a disk that is read-only. Name another place with STUDIO_DATA.",
                code="store.read_only",
            )
        case errno.ENOSPC | errno.EDQUOT:
            return full()
        case _:
            words = error.strerror or type(error).__name__
            return Unavailable(f"{path} cannot be opened: {words}.", code="store.cannot_open")


# Drivers' errors in words -------------------------------------------------------------------------


def full() -> Unavailable:
    """The disk has no room."""
    return Unavailable(
        "The disk that holds the store is full. Nothing of this was recorded; make room and try "
        "again.",
        code="store.full",
    )


@contextlib.contextmanager
def saying_why() -> Iterator[None]:
    """Let failures of the store out in words; others as they are."""
    try:
        yield
    except Exception as error:
        words = in_words(error)
        if words is None:
            raise
        raise words from error


def unsure() -> Unavailable:
    """The server went away in the middle of a COMMIT."""
    return Unavailable(
        "PostgreSQL went away while this was being recorded. It may be there or not: look before "
        "you try again.",
        code="store.unsure",
    )


def in_words(error: BaseException) -> StudioError | None:
    """What a driver's failure means for a person. None when it is a fault of our own."""
    cause = getattr(error, "orig", None) if isinstance(error, sa.exc.DBAPIError) else error
    if isinstance(cause, sqlite.Error):
        return _sqlite_in_words(cause)
    driver = sys.modules.get("psycopg")  # loaded where the store is PostgreSQL
    if driver is not None and isinstance(cause, driver.Error):
        return _postgres_in_words(cause, driver)
    return None


def _sqlite_in_words(error: Any) -> StudioError | None:
    name = str(getattr(error, "sqlite_errorname", ""))
    if name.startswith("SQLITE_FULL"):
        return full()
    for start, code, words in (
        ("SQLITE_READONLY", "store.read_only", "The store's file cannot be written."),
        ("SQLITE_IOERR", "store.io", "The disk that holds the store failed."),
        ("SQLITE_CANTOPEN", "store.cannot_open", "The store's file cannot be opened."),
        ("SQLITE_NOTADB", "store.not_a_database", "The store's file is not a SQLite database."),
        ("SQLITE_CORRUPT", "store.damaged", "The store's file is damaged. Restore a backup."),
        (
            "SQLITE_BUSY",
            "store.busy",
            "Another program holds the store's file. End what it does there, and try again.",
        ),
    ):
        if name.startswith(start):
            return Unavailable(f"{words} ({name}: {error})", code=code)
    return None


def _postgres_in_words(error: Any, driver: Any) -> StudioError | None:
    state = error.sqlstate or ""
    if state == "53100":
        return full()
    if state in ("55P03", "40P01", "57014", "40001"):
        return Unavailable(
            "PostgreSQL was too busy for this. Nothing of it was recorded; try again.",
            code="store.busy",
        )
    if state == "25006":
        return Unavailable("This PostgreSQL server is read-only.", code="store.read_only")
    if isinstance(error, driver.OperationalError | driver.InterfaceError):
        words = str(error).strip().splitlines()[0] if str(error).strip() else "no answer"
        return Unavailable(
            f"PostgreSQL cannot be reached: {words.rstrip('.')}. Start it, or mend "
            "STUDIO_DATABASE_URL.",
            code="store.unreachable",
        )
    return None
