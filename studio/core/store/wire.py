"""Between processes on PostgreSQL: NOTIFY on one connection, LISTEN on another, a thread each."""

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw
from studio.core.store.db import Db
from studio.core.store.writer import close

CHANNEL = "studio"
POLL_SECONDS = 1.0
DRAFT_SECONDS = 0.1  # the fastest that drafts and progress of one process go out
RETRY_SECONDS = 0.5
START_SECONDS = 5.0
PAYLOAD_BYTES = 7_000  # PostgreSQL takes 8,000
DRAFT_CHARACTERS = 6_000
ASKED_AT_ONCE = 5_000

NOTIFY = "SELECT pg_notify(?, said) FROM unnest(?::text[]) AS said"
LAST = "SELECT last FROM positions WHERE id = 1"
SINCE = "SELECT session_id, position FROM events WHERE position > ? ORDER BY position LIMIT ?"

Progress = tuple[float, float | None, str]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What was heard. `asked`: the journal itself was asked, up to this position."""

    grown: list[tuple[str, int]] = field(default_factory=list)
    drafts: list[tuple[str, str, str | None]] = field(default_factory=list)
    progress: list[tuple[str, str, Progress | None]] = field(default_factory=list)
    asked: int = 0


class Wire:
    """Tells the other processes and hears them; `heard` is called on the event loop."""

    def __init__(
        self, db: Db, position: int, loop: asyncio.AbstractEventLoop, heard: Callable[[Said], None]
    ) -> None:
        self._db, self._loop, self._heard = db, loop, heard
        self._me = secrets.token_hex(4)
        self._asked = position
        self._lock = threading.Lock()
        self._more = threading.Event()
        self._listens = threading.Event()
        self._closing = threading.Event()
        self._grown: dict[str, int] = {}
        self._drafts: dict[str, tuple[str, str | None]] = {}
        self._progress: dict[tuple[str, str], Progress | None] = {}
        self._threads = [
            threading.Thread(target=self._telling, name="store-notify", daemon=True),
            threading.Thread(target=self._listening, name="store-listen", daemon=True),
        ]

    def start(self) -> None:
        """Begin both ways; returns when the server listens for us. Blocks shortly."""
        for thread in self._threads:
            thread.start()
        self._listens.wait(START_SECONDS)

    def close(self) -> None:
        """Tell what is left, then stop. Blocks shortly."""
        self._closing.set()
        self._more.set()
        for thread in self._threads:
            thread.join()

    def tell_grown(self, session_id: str, position: int) -> None:
        """To all: this journal grew."""
        with self._lock:
            self._grown[session_id] = position
        self._more.set()

    def tell_draft(self, session_id: str, effect_id: str, text: str | None) -> None:
        """To all: the draft so far; its end is enough when it is long."""
        with self._lock:
            self._drafts[session_id] = (effect_id, text)
        self._more.set()

    def tell_progress(self, session_id: str, effect_id: str, progress: Progress | None) -> None:
        """To all: how far a call has come."""
        with self._lock:
            self._progress[session_id, effect_id] = progress
        self._more.set()

    # Telling --------------------------------------------------------------------------------------

    def _telling(self) -> None:
        conn: sa.Connection | None = None
        drafts_at = 0.0
        while True:
            self._more.wait(DRAFT_SECONDS if self._drafts or self._progress else None)
            last_time = self._closing.is_set()
            self._more.clear()
            due = last_time or time.monotonic() - drafts_at >= DRAFT_SECONDS
            said = list(self._said(with_drafts=due))
            if last_time:
                said.append(self._payload())  # wakes our own listener, so that it sees the end
            if due:
                drafts_at = time.monotonic()
            try:
                if said:
                    conn = conn or self._db.own_connection()
                    raw.put(conn, NOTIFY, (CHANNEL, said))
            except Exception:  # noqa: BLE001 - a hint that is lost costs a second
                _give_up(conn)
                conn = None
                self._closing.wait(RETRY_SECONDS)
            if last_time:
                _give_up(conn)
                return

    def _said(self, *, with_drafts: bool) -> Iterator[str]:
        with self._lock:
            grown, self._grown = self._grown, {}
            drafts: dict[str, tuple[str, str | None]] = {}
            progress: dict[tuple[str, str], Progress | None] = {}
            if with_drafts:
                drafts, self._drafts = self._drafts, drafts
                progress, self._progress = self._progress, progress
        pairs = list(grown.items())
        for start in range(0, len(pairs), 100):
            yield self._payload(grown=pairs[start : start + 100])
        for session_id, (effect_id, text) in drafts.items():
            yield self._payload(drafts=[(session_id, effect_id, _end(text))])
        for (session_id, effect_id), at in progress.items():
            short = None if at is None else (at[0], at[1], at[2][:300])
            yield self._payload(progress=[(session_id, effect_id, short)])

    def _payload(self, **said: Any) -> str:
        return json.dumps({"from": self._me, **said}, ensure_ascii=False, separators=(",", ":"))

    # Listening ------------------------------------------------------------------------------------

    def _listening(self) -> None:
        conn: sa.Connection | None = None
        while not self._closing.is_set():
            try:
                if conn is None:
                    conn = self._db.own_connection()
                    raw.put(conn, f"LISTEN {CHANNEL}")
                    self._listens.set()
                self._ask(conn)
                for notify in raw.driver(conn).notifies(timeout=POLL_SECONDS):
                    self._hear(notify.payload)
                    if self._closing.is_set():
                        break
            except Exception:  # noqa: BLE001 - the server may be gone for a while; it is tried again
                _give_up(conn)
                conn = None
                self._closing.wait(RETRY_SECONDS)
        _give_up(conn)

    def _hear(self, payload: str) -> None:
        said = json.loads(payload)
        if said.pop("from") != self._me:
            parts = {key: [_tuple(item) for item in items] for key, items in said.items()}
            self._pass_on(Said(**parts))  # type: ignore[arg-type]

    def _ask(self, conn: sa.Connection) -> None:
        """Hear of what the journal itself holds since it was last asked."""
        last = raw.one(conn, LAST)[0]
        while self._asked < last and not self._closing.is_set():
            rows = raw.every(conn, SINCE, (self._asked, ASKED_AT_ONCE))
            if not rows:
                return
            self._asked = rows[-1][1]
            newest = {session_id: position for session_id, position in rows}
            self._pass_on(Said(grown=list(newest.items()), asked=self._asked))

    def _pass_on(self, said: Said) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is left to hear
            self._loop.call_soon_threadsafe(self._heard, said)


def _end(text: str | None) -> str | None:
    """The end of a draft, short enough for one NOTIFY however it is written."""
    if text is None:
        return None
    text = text[-DRAFT_CHARACTERS:]
    room = PAYLOAD_BYTES - 300
    while len(json.dumps(text, ensure_ascii=False).encode("utf-8", "replace")) > room:
        text = text[len(text) // 4 + 1 :]
    return text.encode("utf-8", "replace").decode()


def _tuple(made: list[Any]) -> tuple[Any, ...]:
    return tuple(tuple(part) if isinstance(part, list) else part for part in made)


def _give_up(conn: sa.Connection | None) -> None:
    if conn is not None:
        close(conn)
