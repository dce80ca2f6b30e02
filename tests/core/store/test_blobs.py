"""Large bytes by their hash."""

from studio.core.rules import contents
from studio.core.store import blobs, files
from tests.core.store.conftest import Store

LARGE = "Grüße " * 10_000


async def test_a_large_content_is_kept_and_comes_back_whole(store: Store) -> None:
    content = contents.of({"text": LARGE})

    short = await store.db.record(lambda conn: blobs.keep(conn, content, 5))

    assert short == contents.shorten(content)
    kept = await store.db.read(lambda conn: blobs.read(conn, content.hash))
    assert kept is not None
    assert contents.parse(kept, short) == {"text": LARGE}


async def test_a_small_content_is_left_as_it_is(store: Store) -> None:
    content = contents.of("small")

    assert await store.db.record(lambda conn: blobs.keep(conn, content, 5)) is content
    assert await store.db.read(lambda conn: blobs.read(conn, content.hash)) is None


async def test_a_part_of_the_bytes_can_be_read(store: Store) -> None:
    content = contents.of_text(LARGE)
    await store.db.record(lambda conn: blobs.keep(conn, content, 5))

    def parts(conn: object) -> list[bytes | None]:
        part = blobs.part
        return [part(conn, content.hash, at, 7) for at in (0, 8, content.size - 3, content.size)]  # type: ignore[arg-type]

    whole = LARGE.encode()
    assert await store.db.read(parts) == [whole[:7], whole[8:15], whole[-3:], b""]
    assert await store.db.read(lambda conn: blobs.part(conn, "none", 0, 7)) is None


async def test_what_is_opaque_is_kept_apart_however_small_and_read_by_nobody_by_its_hash(
    store: Store,
) -> None:
    content = contents.of_text('["signed"]', media=contents.OPAQUE)

    short = await store.db.record(lambda conn: blobs.keep(conn, content, 5))

    assert (short.stored, short.head, short.tail, short.value) == (True, "", "", None)
    assert await store.db.read(lambda conn: blobs.read(conn, content.hash)) == b'["signed"]'
    assert await store.db.read(lambda conn: blobs.part(conn, content.hash, 0, 7)) is None
    assert await store.db.read(lambda conn: files.has(conn, content.hash)) is False
    assert await store.db.read(lambda conn: files.part(conn, content.hash, 0, 7)) is None
