"""Intake: bytes become a file of the store once they are what they are said to be.

They are kept as they come, never whole in memory but once, to look at a picture's header or to
count a PDF's pages. What is refused is left to be swept.
"""

from collections.abc import AsyncIterator

from studio.core import pdf
from studio.core.rules import files, media, pictures
from studio.core.rules.errors import TooLarge
from studio.core.rules.files import Found
from studio.core.store import files as kept
from studio.core.store.db import Db


async def take(
    db: Db, file_id: str, chunks: AsyncIterator[bytes], *, name: str, declared: str, at: int,
    most: int,
) -> Found:  # fmt: skip
    """Keep the bytes and say what they are; TooLarge, or Invalid when they are of another type."""
    try:
        arrived = await kept.keep(db, file_id, chunks, at=at, most=most)
    except kept.TooLong:
        raise TooLarge(
            f"“{name}” has more than {most:,} bytes, the most that one file may have. Nothing of "
            "it was kept.",
            code="file.too_large", details={"name": name, "limit": most},
        ) from None  # fmt: skip
    told = media.settled(name, declared, arrived.head, utf8=arrived.utf8)
    wrong = media.mismatch(told, arrived.head, utf8=arrived.utf8, size=arrived.size)
    if wrong:
        raise files.of_other_type(name, told, wrong)
    return await looked_at(db, Found(media=told, size=arrived.size, hash=arrived.hash))


async def take_bytes(
    db: Db, file_id: str, data: bytes, *, name: str, declared: str, at: int
) -> Found:
    """As `take`, of bytes in hand."""

    async def once() -> AsyncIterator[bytes]:
        yield data

    return await take(db, file_id, once(), name=name, declared=declared, at=at, most=len(data))


async def looked_at(db: Db, found: Found) -> Found:
    """With the size of the picture or the pages of the PDF, when a model could be given it."""
    is_pdf = found.media == "application/pdf"
    if not is_pdf and found.media not in media.INLINE_IMAGES:
        return found
    if found.size > files.GIVEN_BYTES:
        return found
    data = await kept.whole(db, found.hash, found.size)
    pages = await pdf.pages(data) if is_pdf else 0
    width, height = pictures.size(found.media, data) or (0, 0)
    return Found(
        media=found.media, size=found.size, hash=found.hash, width=width, height=height,
        pages=pages,
    )  # fmt: skip
