"""Files: bytes of any size by their hash, in pieces, streamed in and out.

A file arrives under an id of its own, a piece a transaction, so that a large one holds up nobody;
it is there for others once it is whole. The same bytes are kept once. What nothing refers to is
swept after a day. Contents of facts lie in `blobs`, and are found here by their hash as well.
"""

import codecs
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import sqlalchemy as sa

from studio.core import faults
from studio.core.rules import contents, media
from studio.core.store import blobs, raw
from studio.core.store.db import Db

PIECE = 1024 * 1024
KEEP_PIECE = "INSERT INTO pieces (file_id, number, data) VALUES (?, ?, ?)"
BEGIN = "INSERT INTO files (id, hash, size, time) VALUES (?, NULL, 0, ?)"
WHOLE = "UPDATE files SET hash = ?, size = ?, time = ? WHERE id = ?"
KNOWN = "SELECT id FROM files WHERE hash = ?"
RENEW = "UPDATE files SET time = ? WHERE id = ?"
SIZE = "SELECT id, size FROM files WHERE hash = ?"
PIECES = "SELECT data FROM pieces WHERE file_id = ? AND number >= ? AND number <= ? ORDER BY number"
IN_BLOBS = "SELECT size FROM blobs WHERE hash = ? AND media <> ?"
DROP_PIECES = "DELETE FROM pieces WHERE file_id = ?"
DROP = "DELETE FROM files WHERE id = ?"
UNUSED = (
    "SELECT id FROM files WHERE time < ? AND (hash IS NULL OR "
    "(NOT EXISTS (SELECT 1 FROM artifact_versions WHERE artifact_versions.hash = files.hash) "
    "AND NOT EXISTS (SELECT 1 FROM uploads WHERE uploads.hash = files.hash))) LIMIT 8"
)


class TooLong(Exception):
    """More bytes came than were allowed."""


@dataclass(kw_only=True)
class Arrived:
    """A file that is whole: its hash (SHA-256 in hex), its beginning, and whether it is UTF-8."""

    hash: str
    size: int
    head: bytes
    utf8: bool


@dataclass
class _Coming:
    """What is found out while the bytes pass."""

    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")()
    )
    size: int = 0
    head: bytes = b""
    utf8: bool = True

    def take(self, data: bytes) -> None:
        """Some more bytes."""
        self.digest.update(data)
        self.size += len(data)
        if len(self.head) < media.HEAD_BYTES:
            self.head += data[: media.HEAD_BYTES - len(self.head)]
        if self.utf8:
            self._decode(data, final=False)

    def end(self) -> None:
        """No more will come."""
        if self.utf8:
            self._decode(b"", final=True)

    def _decode(self, data: bytes, *, final: bool) -> None:
        try:
            self.utf8 = "\x00" not in self.decoder.decode(data, final)
        except UnicodeDecodeError:
            self.utf8 = False


async def keep(
    db: Db, file_id: str, chunks: AsyncIterator[bytes], *, at: int, most: int
) -> Arrived:
    """Keep the bytes as they come; TooLong when there are more than `most`.

    Nothing is left of what did not arrive whole, unless we die meanwhile: that is swept.
    """
    coming, waiting, number = _Coming(), bytearray(), 0
    await db.touch(lambda conn: raw.put(conn, BEGIN, (file_id, at)))
    try:
        async for chunk in chunks:
            coming.take(chunk)
            if coming.size > most:
                raise TooLong
            waiting += chunk
            while len(waiting) >= PIECE:
                await _piece(db, file_id, number, bytes(waiting[:PIECE]))
                del waiting[:PIECE]
                number += 1
        if waiting:
            await _piece(db, file_id, number, bytes(waiting))
        coming.end()
        hash = coming.digest.hexdigest()
        faults.fault("file.before_whole")
        await db.record(lambda conn: _whole(conn, file_id, hash, coming.size, at))
        faults.fault("file.after_whole")
    except BaseException:
        await db.touch(lambda conn: drop(conn, file_id))
        raise
    return Arrived(hash=hash, size=coming.size, head=coming.head, utf8=coming.utf8)


async def keep_bytes(db: Db, file_id: str, data: bytes, *, at: int) -> Arrived:
    """Keep bytes that are in hand."""

    async def once() -> AsyncIterator[bytes]:
        yield data

    return await keep(db, file_id, once(), at=at, most=len(data))


async def _piece(db: Db, file_id: str, number: int, data: bytes) -> None:
    await db.touch(lambda conn: raw.put(conn, KEEP_PIECE, (file_id, number, data)))


def _whole(conn: sa.Connection, file_id: str, hash: str, size: int, at: int) -> None:
    """It is whole; when the same bytes are here already, theirs are kept for another day."""
    known = raw.one(conn, KNOWN, (hash,))
    if known is None:
        raw.put(conn, WHOLE, (hash, size, at, file_id))
    else:
        raw.put(conn, RENEW, (at, known[0]))
        drop(conn, file_id)


def drop(conn: sa.Connection, file_id: str) -> None:
    """Take a file away."""
    raw.put(conn, DROP_PIECES, (file_id,))
    raw.put(conn, DROP, (file_id,))


def has(conn: sa.Connection, hash: str) -> bool:
    """Whether these bytes are here, whole."""
    return raw.one(conn, KNOWN, (hash,)) is not None or (
        raw.one(conn, IN_BLOBS, (hash, contents.OPAQUE)) is not None
    )


def size(conn: sa.Connection, hash: str) -> int | None:
    """How many bytes a file has that arrived whole; None when there is none."""
    row = raw.one(conn, SIZE, (hash,))
    return None if row is None else int(row[1])


def part(conn: sa.Connection, hash: str, offset: int, length: int) -> bytes | None:
    """Some of the bytes of this hash, fewer at the end; None when they are not here."""
    found = raw.one(conn, SIZE, (hash,))
    if found is None:
        return blobs.part(conn, hash, offset, length)
    file_id, size = found
    end = min(offset + length, size)
    if offset >= end:
        return b""
    first, last = offset // PIECE, (end - 1) // PIECE
    pieces = raw.every(conn, PIECES, (file_id, first, last))
    data = b"".join(bytes(piece) for (piece,) in pieces)
    begin = offset - first * PIECE
    return data[begin : begin + end - offset]


async def whole(db: Db, hash: str, size: int) -> bytes:
    """All bytes of a file that is small enough to be held at once."""
    data = bytearray()
    async for piece in stream(db, hash, 0, size):
        data += piece
    return bytes(data)


async def stream(db: Db, hash: str, begin: int, end: int) -> AsyncIterator[bytes]:
    """The bytes from `begin` up to `end`, a piece at a time."""
    while begin < end:
        length = min(PIECE - begin % PIECE, end - begin)
        data = await db.read(lambda conn, at=begin, some=length: part(conn, hash, at, some))  # type: ignore[misc]
        if not data:
            return
        yield data
        begin += len(data)


def sweep(conn: sa.Connection, before: int) -> int:
    """Take away some files that nothing refers to and that are older; how many. In `record`."""
    unused = raw.every(conn, UNUSED, (before,))
    for (file_id,) in unused:
        drop(conn, file_id)
    return len(unused)
