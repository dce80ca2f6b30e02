"""Files in pieces: streamed in and out by their hash, and gone when nobody refers to them."""

import hashlib
from collections.abc import AsyncIterator

import pytest

from studio.core import faults
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.files import Found
from studio.core.store import blobs, files, upkeep, uploads
from studio.core.store.files import PIECE
from tests.core.store.conftest import Store
from tests.core.store.stories import START

LARGE = b"0123456789" * 300_001  # three pieces, the last one short
HASH = hashlib.sha256(LARGE).hexdigest()


async def in_chunks(data: bytes, size: int = 70_001) -> AsyncIterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def breaking(data: bytes) -> AsyncIterator[bytes]:
    yield data
    raise ConnectionError("cut")


async def keep(store: Store, data: bytes, name: str = "fil_1", at: int = START) -> files.Arrived:
    return await files.keep(store.db, name, in_chunks(data), at=at, most=10 * PIECE)


async def counts(store: Store) -> tuple[int, int]:
    (kept,) = await store.one("SELECT count(*) FROM files")
    (pieces,) = await store.one("SELECT count(*) FROM pieces")
    return kept, pieces


async def test_a_file_that_came_in_chunks_is_whole(store: Store) -> None:
    arrived = await keep(store, LARGE)

    assert (arrived.hash, arrived.size, arrived.utf8) == (HASH, len(LARGE), True)
    assert arrived.head == LARGE[:4_096]
    assert await files.whole(store.db, HASH, len(LARGE)) == LARGE
    assert await counts(store) == (1, 3)


@pytest.mark.parametrize(
    "offset,length",
    [(0, 10), (PIECE - 5, 10), (PIECE, 1), (5, 2 * PIECE + 7), (len(LARGE) - 3, 99), (10**9, 5)],
)
async def test_a_part_is_what_lies_there(store: Store, offset: int, length: int) -> None:
    await keep(store, LARGE)

    part = await store.db.read(lambda conn: files.part(conn, HASH, offset, length))

    assert part == LARGE[offset : offset + length]


async def test_a_stream_may_begin_and_end_anywhere(store: Store) -> None:
    await keep(store, LARGE)

    chunks = [chunk async for chunk in files.stream(store.db, HASH, PIECE - 1, 2 * PIECE + 1)]

    assert b"".join(chunks) == LARGE[PIECE - 1 : 2 * PIECE + 1]
    assert max(map(len, chunks)) <= PIECE


async def test_the_same_bytes_are_kept_once(store: Store) -> None:
    await keep(store, LARGE)

    arrived = await keep(store, LARGE, "fil_2")

    assert arrived.hash == HASH
    assert await counts(store) == (1, 3)


async def test_nothing_is_a_file_too(store: Store) -> None:
    arrived = await keep(store, b"")

    assert (arrived.size, arrived.utf8) == (0, True)
    assert await files.whole(store.db, arrived.hash, 0) == b""


async def test_bytes_are_looked_for_among_contents_too(store: Store) -> None:
    content = contents.of_text("Grüße " * 10_000)
    await store.db.record(lambda conn: blobs.keep(conn, content, 5))

    assert await store.db.read(lambda conn: files.has(conn, content.hash))
    part = await store.db.read(lambda conn: files.part(conn, content.hash, 0, 7))
    assert part == "Grüße".encode()


async def test_bytes_that_are_not_here_are_none(store: Store) -> None:
    assert not await store.db.read(lambda conn: files.has(conn, "0" * 64))
    assert await store.db.read(lambda conn: files.part(conn, "0" * 64, 0, 7)) is None


async def test_nothing_is_left_of_too_much(store: Store) -> None:
    with pytest.raises(files.TooLong):
        await files.keep(store.db, "fil_1", in_chunks(LARGE), at=START, most=len(LARGE) - 1)

    assert await counts(store) == (0, 0)


async def test_nothing_is_left_of_what_was_cut(store: Store) -> None:
    with pytest.raises(ConnectionError):
        await files.keep(store.db, "fil_1", breaking(LARGE), at=START, most=len(LARGE))

    assert await counts(store) == (0, 0)


async def test_a_file_is_not_there_before_it_is_whole(store: Store) -> None:
    faults.arm("file.before_whole", "raise")

    with pytest.raises(faults.Injected):
        await keep(store, LARGE)

    assert not await store.db.read(lambda conn: files.has(conn, HASH))
    assert await counts(store) == (0, 0)


@pytest.mark.parametrize(
    "data,utf8",
    [
        ("Grüße".encode() * 30_000, True), (b"\xef\xbb\xbfa", True), (b"a\0b", False),
        (b"\xff\xfe", False), ("é".encode()[:1], False),
    ],
)  # fmt: skip
async def test_text_is_known_however_it_is_cut(store: Store, data: bytes, utf8: bool) -> None:
    arrived = await files.keep(store.db, "fil_1", in_chunks(data, 7), at=START, most=PIECE)

    assert arrived.utf8 is utf8


async def test_what_nothing_refers_to_is_swept_after_a_day(store: Store) -> None:
    uploaded = (await keep(store, b"uploaded", "fil_1")).hash
    saved = (await keep(store, b"saved", "fil_2")).hash
    lost = (await keep(store, b"lost", "fil_3")).hash
    await store.start()
    await store.journal.commit("ses_1", lambda _: [artifact(saved)], at=START)
    upload = uploads.Upload(
        id="upl_1", name="a", found=Found(media="text/plain", size=8, hash=uploaded),
        time=START + upkeep.DAY,
    )  # fmt: skip
    await store.db.touch(lambda conn: uploads.add(conn, "alice", upload))

    await upkeep.sweep_all(store.db, START + upkeep.DAY)
    still = [
        await store.db.read(lambda conn, h=h: files.has(conn, h)) for h in (uploaded, saved, lost)
    ]
    await upkeep.sweep_all(store.db, START + upkeep.DAY + 1)
    after = [
        await store.db.read(lambda conn, h=h: files.has(conn, h)) for h in (uploaded, saved, lost)
    ]

    assert (still, after) == ([True, True, True], [True, True, False])


async def test_what_never_became_whole_is_swept(store: Store) -> None:
    await store.db.touch(lambda conn: files.raw.put(conn, files.BEGIN, ("fil_1", START)))
    await files._piece(store.db, "fil_1", 0, b"half")

    await upkeep.sweep_all(store.db, START + upkeep.DAY + 1)

    assert await counts(store) == (0, 0)


async def test_sending_the_same_bytes_again_keeps_them_another_day(store: Store) -> None:
    await keep(store, LARGE, at=START)
    await keep(store, LARGE, "fil_2", at=START + upkeep.DAY)

    await upkeep.sweep_all(store.db, START + upkeep.DAY + 1)

    assert await store.db.read(lambda conn: files.has(conn, HASH))


def artifact(hash: str) -> e.ArtifactSaved:
    return e.ArtifactSaved(
        artifact_id="art_1", version=1, name="a.txt", media="text/plain", size=5, hash=hash,
        source="upload", by="alice",
    )  # fmt: skip
