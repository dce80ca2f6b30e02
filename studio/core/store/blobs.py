"""Bytes by their hash: contents too large to stand in a fact. The same bytes are kept once."""

import hashlib

import sqlalchemy as sa

from studio.core.rules import contents
from studio.core.rules.events import Content
from studio.core.store import raw

KEEP = (
    "INSERT INTO blobs (hash, size, media, data, time) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (hash) DO NOTHING"
)


def keep(conn: sa.Connection, content: Content, at: int) -> Content:
    """Keep the bytes of a large content; what is left is its hash, size, head and tail.

    A small content, or one that is kept already, comes back as it is.
    """
    short = contents.shorten(content)
    if short is not content:
        data = contents.data(content)
        raw.put(conn, KEEP, (content.hash, content.size, content.media, data, at))
    return short


def put(conn: sa.Connection, data: bytes, at: int) -> tuple[str, bool]:
    """Keep bytes of a file; their SHA-256 in hex, and whether they are new here."""
    hash = hashlib.sha256(data).hexdigest()
    count = raw.put(conn, KEEP, (hash, len(data), "application/octet-stream", data, at))
    return hash, count > 0


def read(conn: sa.Connection, hash: str) -> bytes | None:
    """The bytes of this hash."""
    row = raw.one(conn, "SELECT data FROM blobs WHERE hash = ?", (hash,))
    return None if row is None else bytes(row[0])


def is_opaque(conn: sa.Connection, hash: str) -> bool:
    """The bytes are a provider's own: they go back to it and are shown to nobody."""
    row = raw.one(conn, "SELECT media FROM blobs WHERE hash = ?", (hash,))
    return row is not None and row[0] == contents.OPAQUE


def part(conn: sa.Connection, hash: str, offset: int, length: int) -> bytes | None:
    """Some of the bytes, so that a page can show a large content in windows.

    Of what is opaque there are none to be shown.
    """
    statement = "SELECT substr(data, ?, ?) FROM blobs WHERE hash = ? AND media <> ?"
    row = raw.one(conn, statement, (offset + 1, length, hash, contents.OPAQUE))
    return None if row is None else bytes(row[0])
