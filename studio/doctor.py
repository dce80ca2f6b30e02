"""What the studio stands on, looked at piece by piece and said in words."""

import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import sqlalchemy as sa

from studio import __version__
from studio.core.clock import Clock
from studio.core.projections import collector
from studio.core.rules.errors import StudioError
from studio.core.sandboxes.box.probe import probe
from studio.core.store import failing, migrate, places
from studio.core.store.tables import SCHEMA
from studio.settings import Settings, signing_key

T = TypeVar("T")
MOST_STUCK = 20
FREE_BYTES = 512 * 1024 * 1024
SAFE_SQLITE = (3, 51, 3)
PACKAGES = ("starlette", "uvicorn", "sse-starlette", "SQLAlchemy", "httpx", "mcp", "openai")


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing looked at: whether it is well, and what was seen or what to do."""

    name: str
    ok: bool
    words: str


def examine(settings: Settings) -> list[Check]:
    """Every check, in the order a person would ask."""
    return [
        _versions(),
        _data(settings.data),
        _space(settings.data),
        _key(settings.key_file),
        *_store(settings),
        _export(settings),
        _sessions(settings),
        _sandbox(),
        _settings(settings),
    ]


def _versions() -> Check:
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return Check(
        name="versions", ok=sys.version_info >= (3, 11),
        words=f"studio {__version__}, Python {platform.python_version()}, {packages}",
    )  # fmt: skip


def _data(folder: Path) -> Check:
    near = _near(folder)
    if near != folder and near.is_dir() and os.access(near, os.W_OK | os.X_OK):
        words = f"{folder} does not exist yet; the first start makes it."
        return Check(name="data folder", ok=True, words=words)
    if not near.is_dir():
        words = f"{near} is a file, so no data can lie there. Name another place with STUDIO_DATA."
        return Check(name="data folder", ok=False, words=words)
    if near != folder:
        words = f"{folder} cannot be made below {near}. Make it, or name another with STUDIO_DATA."
        return Check(name="data folder", ok=False, words=words)
    if not os.access(near, os.W_OK | os.X_OK):
        words = f"{near} cannot be written to. Give it to the user who runs the studio."
        return Check(name="data folder", ok=False, words=words)
    return Check(name="data folder", ok=True, words=str(folder))


def _near(folder: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    return next(path for path in (folder, *folder.parents) if os.path.lexists(path))


def _space(folder: Path) -> Check:
    free = shutil.disk_usage(_near(folder)).free
    words = f"{free / 2**30:.1f} GiB free"
    if free < FREE_BYTES:
        words += "; under half a GiB, so decisions may soon be refused. Make room."
    return Check(name="disk space", ok=free >= FREE_BYTES, words=words)


def _key(path: Path) -> Check:
    try:
        if not path.exists():
            return Check(name="key file", ok=True, words=f"{path} is made at the first start.")
        signing_key(path)
    except StudioError as error:
        return Check(name="key file", ok=False, words=error.message)
    except OSError as error:
        what = " Run this as the user it belongs to." if isinstance(error, PermissionError) else ""
        words = f"{path} cannot be read: {error.strerror}.{what}"
        return Check(name="key file", ok=False, words=words)
    return Check(name="key file", ok=True, words=f"{path}, readable by its owner alone")


def _store(settings: Settings) -> list[Check]:
    try:
        kind, url = places.parse(settings.database_url)
        if kind == "sqlite" and not os.path.lexists(Path(url.database or "").parent):
            words = "sqlite, not made yet; the first start makes it"
            return [Check(name="store", ok=True, words=words), _sqlite()]
        current = migrate.current(settings.database_url)
        about = _about(kind, url) if current is not None or kind == "postgresql" else ""
    except StudioError as error:
        return [Check(name="store", ok=False, words=error.message)]
    except OSError as error:
        words = f"{error.filename} cannot be read: {error.strerror}."
        return [Check(name="store", ok=False, words=words)]
    state = f"schema {current}" if current else "not made yet; the first start makes it"
    if current is not None and current < SCHEMA:
        state += f"; the next start brings it to {SCHEMA}"
    checks = [Check(name="store", ok=True, words=f"{kind}, {state}{about}")]
    return [*checks, _sqlite()] if kind == "sqlite" else checks


def _about(kind: places.Kind, url: sa.URL) -> str:
    engine = places.engine(kind, url)
    try:
        with engine.connect() as conn:
            if kind == "sqlite":
                mode = conn.exec_driver_sql("PRAGMA journal_mode").scalar()
                facts = conn.exec_driver_sql("SELECT last FROM positions").scalar()
                return f", journal {mode}, written with synchronous=FULL, {facts:,} facts"
            server = conn.exec_driver_sql("SHOW server_version").scalar()
            commit = conn.exec_driver_sql("SHOW synchronous_commit").scalar()
            return f", server {server}, synchronous_commit={commit}"
    finally:
        engine.dispose()


def _export(settings: Settings) -> Check:
    """Where spans go, by the settings of here and by the worker's own account."""
    words = f"to {urlsplit(settings.collector).netloc}" if settings.collector else "not set here"
    found = _read(settings, lambda conn: collector.in_words(conn, Clock().now()))
    if found is None:
        return Check(name="collector", ok=True, words=words)
    ok, said = found
    return Check(name="collector", ok=ok, words=f"{words}; {said}")


def _sessions(settings: Settings) -> Check:
    """Whether every session can move, as far as the workers know."""
    stuck = _read(settings, lambda conn: failing.stuck(conn, MOST_STUCK))
    if not stuck:
        return Check(name="sessions", ok=True, words="none that a fault of the studio holds up")
    names = ", ".join(f"{one.session_id} (fault {one.fault})" for one in stuck)
    words = f"The studio itself fails over {names}. See the log of its worker, and report it."
    return Check(name="sessions", ok=False, words=words)


def _read(settings: Settings, ask: Callable[[sa.Connection], T]) -> T | None:
    """What a store of this schema answers; None where there is none."""
    try:
        kind, url = places.parse(settings.database_url)
        if migrate.current(settings.database_url) != SCHEMA:
            return None
    except (StudioError, OSError):
        return None
    engine = places.engine(kind, url)
    try:
        with engine.connect() as conn:
            return ask(conn)
    finally:
        engine.dispose()


def _sqlite() -> Check:
    found = tuple(int(part) for part in places.sqlite.sqlite_version.split("."))
    words = f"SQLite {'.'.join(map(str, found))}"
    if found < SAFE_SQLITE:
        words += (
            "; before 3.51.3 two writing connections could corrupt the file. The studio writes and "
            "checkpoints with one, so it is safe here; let no other program write to the file."
        )
    return Check(name="SQLite", ok=True, words=words)


def _sandbox() -> Check:
    """A machine that holds no commands is well: other kinds of environment need none of it."""
    return Check(name="sandbox", ok=True, words=probe().words)


def _settings(settings: Settings) -> Check:
    words = " ".join(settings.warnings) or f"{settings.url}, hosts {', '.join(settings.hosts)}"
    return Check(name="settings", ok=not settings.warnings, words=words)
