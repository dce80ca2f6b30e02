"""How far spans were exported: one row, moved by the one worker that has the lease of it.

The place is a position of the journal and, of the next turn that ended, how many of its spans were
accepted already. It moves when the collector answered, or when spans are given up; so a worker that
dies sends again what it had in hand, under the same ids, and nothing else. Times are ms.
"""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.rules import events as e
from studio.core.store import raw
from studio.core.store.db import Db

LIVES = 30_000  # ms that a sign of life is good for
FACTS = 5_000  # that one look goes through
COLUMNS = (
    "position, part, sent, refused, dropped, endpoint, owner, expires, seen, last_sent, "
    "failing_since, retry_at, error, error_at"
)
READ = f"SELECT {COLUMNS} FROM collector WHERE id = 1"  # noqa: S608
BEGIN = (  # what ended before anybody exported is for a backfill
    "INSERT INTO collector (id, position) SELECT 1, last FROM positions WHERE id = 1 "
    "ON CONFLICT (id) DO NOTHING"
)
TAKE = (
    "UPDATE collector SET owner = ?, expires = {clock}?, seen = ?, endpoint = ? WHERE id = 1 "
    "AND (owner IS NULL OR owner = ? OR expires < {clock}? {alone}) RETURNING position, part"
)
RENEW = "UPDATE collector SET expires = {clock}?, seen = ? WHERE id = 1 AND owner = ? RETURNING id"
LEAVE = "UPDATE collector SET owner = NULL, expires = NULL WHERE id = 1 AND owner = ?"
MOVE = (
    "UPDATE collector SET position = ?, part = ?, sent = sent + ?, refused = refused + ?, "
    "dropped = dropped + ? WHERE id = 1 AND owner = ? AND position = ? AND part = ? RETURNING id"
)
HEARD = "UPDATE collector SET failing_since = NULL, retry_at = NULL WHERE id = 1 AND owner = ?"
SENT = "UPDATE collector SET last_sent = ? WHERE id = 1 AND owner = ?"
WORDS = "UPDATE collector SET error = ?, error_at = ? WHERE id = 1 AND owner = ?"
FAILING = (
    "UPDATE collector SET failing_since = COALESCE(failing_since, ?), retry_at = ?, error = ?, "
    "error_at = ? WHERE id = 1 AND owner = ?"
)
UNSET = (
    "UPDATE collector SET endpoint = '', owner = NULL, expires = NULL, failing_since = NULL, "
    "retry_at = NULL WHERE id = 1 AND (owner IS NULL OR expires < {clock}? {alone}) RETURNING id"
)
ENDING = ", ".join(f"'{one.TYPE}'" for one in (e.TurnCompleted, e.TurnFailed, e.TurnCancelled))
ENDS = (
    "SELECT position, turn_id, time FROM events WHERE position > ? AND position <= ? "  # noqa: S608
    f"AND type IN ({ENDING}) AND turn_id IS NOT NULL ORDER BY position LIMIT ?"
)
LAST = "SELECT last FROM positions WHERE id = 1"
MOMENT = "SELECT time FROM events WHERE position <= ? ORDER BY position DESC LIMIT 1"
_PARTS = {
    "sqlite": {"clock": "", "alone": "OR 1 = 1"},  # no other process lives
    "postgresql": {
        "clock": "(extract(epoch from clock_timestamp()) * 1000)::bigint + ", "alone": "",
    },
}  # fmt: skip


class NotOurs(Exception):
    """Another worker exports by now."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """The row as it stands; see `tables.collector`."""

    position: int
    part: int
    sent: int
    refused: int
    dropped: int
    endpoint: str
    owner: str | None
    expires: int | None
    seen: int | None
    last_sent: int | None
    failing_since: int | None
    retry_at: int | None
    error: str
    error_at: int | None

    def is_worked(self, now: int) -> bool:
        """A worker exports now."""
        return self.owner is not None and (self.seen or 0) >= now - LIVES


@dataclass(frozen=True, kw_only=True)
class Place:
    """How far: everything up to `at` (and `id`, among equals), and `part` spans of what follows."""

    at: int
    id: str = ""
    part: int = 0


@dataclass(frozen=True, kw_only=True)
class Came:
    """What became of some spans. `heard`: the collector answered; `words` say what went wrong."""

    sent: int = 0
    refused: int = 0
    dropped: int = 0
    heard: bool = False
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """A turn that ended at `time`, and the place behind it.

    With `of` it ended before, and something came of it: what that is, in words that name its spans,
    and the position of its fact.
    """

    turn_id: str
    time: int
    place: Place
    of: str = ""
    came: int = 0


@dataclass(frozen=True, kw_only=True)
class Window:
    """Turns that ended, in order; what was looked through reaches up to `scanned`."""

    turns: tuple[Ended, ...]
    scanned: Place
    more: bool


def read(conn: sa.Connection) -> Row | None:
    """The row; None when nobody ever exported."""
    found = raw.one(conn, READ)
    return None if found is None else Row(**dict(zip(COLUMNS.split(", "), found, strict=True)))


async def take(db: Db, owner: str, now: int, ttl: int, endpoint: str) -> Place | None:
    """Have the lease, from now for `ttl`; the place to go on from. None: another one has it."""

    def act(conn: sa.Connection) -> Any:
        raw.put(conn, BEGIN)
        moment = _moment(db, now)
        values = (owner, moment + ttl, now, endpoint, owner, moment)
        return raw.one(conn, _text(TAKE, db), values)

    row = await db.touch(act)
    return None if row is None else Place(at=row[0], part=row[1])


async def renew(db: Db, owner: str, now: int, ttl: int) -> None:
    """Keep the lease; NotOurs when it is gone."""
    values = (_moment(db, now) + ttl, now, owner)
    if await db.touch(lambda conn: raw.one(conn, _text(RENEW, db), values)) is None:
        raise NotOurs


async def leave(db: Db, owner: str) -> None:
    """Let another one have it."""
    await db.touch(lambda conn: raw.put(conn, LEAVE, (owner,)))


async def unset(db: Db, now: int) -> bool:
    """Write down that no collector is set any more; False while a worker that has one exports."""
    moment = _moment(db, now)
    return await db.touch(lambda conn: raw.one(conn, _text(UNSET, db), (moment,))) is not None


async def move(db: Db, owner: str, before: Place, after: Place, came: Came, now: int) -> None:
    """Everything up to `after` is done; NotOurs, and nothing moved, when another one exports."""

    def act(conn: sa.Connection) -> None:
        values = (
            after.at, after.part, came.sent, came.refused, came.dropped, owner, before.at,
            before.part,
        )  # fmt: skip
        if raw.one(conn, MOVE, values) is None:
            raise NotOurs
        told(conn, owner, came, now)

    await db.touch(act)


def told(conn: sa.Connection, owner: str, came: Came, now: int) -> None:
    """How the collector is, as it shows in an answer."""
    if came.heard:
        raw.put(conn, HEARD, (owner,))
    if came.sent:
        raw.put(conn, SENT, (now, owner))
    if came.words:
        raw.put(conn, WORDS, (came.words, now, owner))


async def failing(db: Db, owner: str, words: str, now: int, retry_at: int) -> None:
    """It could not be reached, or asks to be asked again later."""
    values = (now, retry_at, words, now, owner)
    await db.touch(lambda conn: raw.put(conn, FAILING, values))


def ends(conn: sa.Connection, after: Place, limit: int) -> Window:
    """Turns that ended behind a place, in the journal's order."""
    last = int(raw.one(conn, LAST)[0])
    reach = min(last, after.at + FACTS)
    rows = raw.every(conn, ENDS, (after.at, reach, limit))
    turns = tuple(
        Ended(turn_id=turn_id, time=time, place=Place(at=position))
        for position, turn_id, time in rows
    )
    cut = len(turns) == limit
    return Window(
        turns=turns, scanned=turns[-1].place if cut else Place(at=max(reach, after.at)),
        more=cut or reach < last,
    )  # fmt: skip


def last(conn: sa.Connection) -> int:
    """The position of the newest fact."""
    return int(raw.one(conn, LAST)[0])


def moment(conn: sa.Connection, place: Place) -> int | None:
    """When the newest fact up to a place was recorded."""
    row = raw.one(conn, MOMENT, (place.at,))
    return None if row is None else int(row[0])


def _moment(db: Db, now: int) -> int:
    """SQLite goes by the caller's clock; PostgreSQL adds its own where the text says {clock}."""
    return now if db.kind == "sqlite" else 0


def _text(statement: str, db: Db) -> str:
    return statement.format(**_PARTS[db.kind])
