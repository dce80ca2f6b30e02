"""Uploads: files that a person sent and no message carries yet. Kept for a day."""

from dataclasses import dataclass

import sqlalchemy as sa

from studio.core.rules.files import Found
from studio.core.store import raw

INSERT = (
    "INSERT INTO uploads (id, by, name, media, size, hash, width, height, pages, time) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
SELECT = (
    "SELECT id, name, media, size, hash, width, height, pages, time FROM uploads "
    "WHERE id = ? AND by = ?"
)
DROP = "DELETE FROM uploads WHERE id = ? AND by = ?"
SWEEP = "DELETE FROM uploads WHERE id IN (SELECT id FROM uploads WHERE time < ? LIMIT ?)"


@dataclass(frozen=True, kw_only=True)
class Upload:
    """One upload. `time` is when it came (ms, UTC)."""

    id: str
    name: str
    found: Found
    time: int


def add(conn: sa.Connection, by: str, upload: Upload) -> None:
    """Keep word of an upload of this person."""
    found = upload.found
    raw.put(
        conn, INSERT,
        (upload.id, by, upload.name, found.media, found.size, found.hash, found.width,
         found.height, found.pages, upload.time),
    )  # fmt: skip


def get(conn: sa.Connection, by: str, upload_id: str) -> Upload | None:
    """An upload of this very person."""
    row = raw.one(conn, SELECT, (upload_id, by))
    if row is None:
        return None
    found = Found(media=row[2], size=row[3], hash=row[4], width=row[5], height=row[6], pages=row[7])
    return Upload(id=row[0], name=row[1], found=found, time=row[8])


def drop(conn: sa.Connection, by: str, upload_id: str) -> int:
    """Forget an upload; its bytes are swept when nothing else refers to them."""
    return raw.put(conn, DROP, (upload_id, by))
