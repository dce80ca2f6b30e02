"""PDF: how many pages a file has. Read in a thread; what cannot be read is said, never raised."""

import asyncio
import io
import logging

LOCKED, BROKEN = -1, 0
SIDE_BY_SIDE = asyncio.Semaphore(2)

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every oddity of a file


async def pages(data: bytes) -> int:
    """The number of pages; `LOCKED` when a password is needed, `BROKEN` when it is no PDF."""
    async with SIDE_BY_SIDE:
        return await asyncio.to_thread(count, data)


def count(data: bytes) -> int:
    """As `pages`, in the caller's own thread."""
    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            return LOCKED
        return max(reader.get_num_pages(), BROKEN)
    except Exception as error:  # noqa: BLE001 - whatever a hostile file makes its reader do
        logging.getLogger("studio.files").info("A PDF cannot be read: %s", type(error).__name__)
        return BROKEN
