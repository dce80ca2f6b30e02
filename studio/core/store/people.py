"""Sign-ins, things that can be used once, and the keys of programs. Secrets are hashes here."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from studio.core.store import raw

OPEN = "INSERT INTO sign_ins (id, person, role, made, seen, ended) VALUES (?, ?, ?, ?, ?, NULL)"
FIND = (
    "SELECT id, person, role, made, seen FROM sign_ins WHERE id = ? AND ended IS NULL "
    "AND seen >= ? AND made >= ?"
)
SEEN = "UPDATE sign_ins SET seen = ? WHERE id = ? AND seen < ?"
END = "UPDATE sign_ins SET ended = ? WHERE id = ? AND ended IS NULL"
END_ALL = "UPDATE sign_ins SET ended = ? WHERE person = ? AND ended IS NULL"
SPEND = "INSERT INTO spent (id, what, by, time) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
SPENT = "SELECT id, what, by, time FROM spent WHERE id = ?"
KEYS = (
    "SELECT k.id, k.name, k.role, k.hash, k.by, k.made, k.revoked, u.used "
    "FROM keys AS k LEFT JOIN key_uses AS u ON u.id = k.id"
)
USE = (
    "INSERT INTO key_uses (id, used) VALUES (?, ?) "
    "ON CONFLICT (id) DO UPDATE SET used = excluded.used"
)


DAY = 86_400_000


@dataclass(frozen=True, kw_only=True)
class Ages:
    """How long (ms) a sign-in is good: after it was last seen, and in all."""

    idle: int = 30 * DAY
    total: int = 90 * DAY


@dataclass(frozen=True, kw_only=True)
class SignIn:
    """A browser that somebody signed in with. `id` is SHA-256 of its cookie's secret."""

    id: str
    person: str
    role: str
    made: int
    seen: int


@dataclass(frozen=True, kw_only=True)
class Spent:
    """A thing that was used once and cannot be used again: by whom, when."""

    id: str
    what: str
    by: str
    time: int


@dataclass(frozen=True, kw_only=True)
class Key:
    """An application key, without the key."""

    id: str
    name: str
    role: str
    hash: str
    by: str
    made: int
    revoked: int | None
    used: int | None


def open(conn: sa.Connection, secret_hash: str, person: str, role: str, at: int) -> None:
    """Somebody signed in."""
    raw.put(conn, OPEN, (secret_hash, person, role, at, at))


def find(conn: sa.Connection, secret_hash: str, now: int, ages: Ages) -> SignIn | None:
    """Who this is, unless they signed out or their sign-in has grown too old."""
    row = raw.one(conn, FIND, (secret_hash, now - ages.idle, now - ages.total))
    if row is None:
        return None
    id, person, role, made, seen = row
    return SignIn(id=id, person=person, role=role, made=made, seen=seen)


def see(conn: sa.Connection, secret_hash: str, at: int) -> None:
    """This sign-in was used."""
    raw.put(conn, SEEN, (at, secret_hash, at))


def end(conn: sa.Connection, secret_hash: str, at: int) -> bool:
    """Sign out; false when it was over already."""
    return raw.put(conn, END, (at, secret_hash)) > 0


def end_all(conn: sa.Connection, person: str, at: int) -> int:
    """Sign a person out everywhere; how many sign-ins that ended."""
    return raw.put(conn, END_ALL, (at, person))


def spend(conn: sa.Connection, token_hash: str, what: str, by: str, at: int) -> Spent | None:
    """Use a single-use thing. None: it is used now. Else who used it before, and when."""
    if raw.put(conn, SPEND, (token_hash, what, by, at)) > 0:
        return None
    id, what, by, time = raw.one(conn, SPENT, (token_hash,))
    return Spent(id=id, what=what, by=by, time=time)


def find_key(conn: sa.Connection, hash: str) -> Key | None:
    """The application key of this hash, also when it was revoked."""
    row = raw.one(conn, f"{KEYS} WHERE k.hash = ?", (hash,))
    return None if row is None else _key(row)


def list_keys(conn: sa.Connection) -> tuple[Key, ...]:
    """All application keys, newest first."""
    return tuple(_key(row) for row in raw.every(conn, f"{KEYS} ORDER BY k.made DESC, k.id"))


def key_used(conn: sa.Connection, key_id: str, at: int) -> None:
    """An application key was used."""
    raw.put(conn, USE, (key_id, at))


def _key(row: Any) -> Key:
    id, name, role, hash, by, made, revoked, used = row
    return Key(id=id, name=name, role=role, hash=hash, by=by, made=made, revoked=revoked, used=used)
