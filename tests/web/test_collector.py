"""The panel of the export: what it says in each state, and that it looks again by itself."""

from studio.core.store import collector, raw
from studio.core.store.collector import Came, Place
from tests.web.conftest import Studio, Visitor


async def test_without_a_collector_it_says_how_to_have_one(alice: Visitor) -> None:
    page = await alice.open("/traces")

    panel = page.one("section", id="collector")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in panel.text
    assert panel.attrs["hx-get"] == "/traces/collector"


async def test_it_counts_and_tells_what_fails(studio: Studio, alice: Visitor) -> None:
    now = studio.story.clock.now()
    place = await collector.take(studio.db, "w", now, 60_000, "http://otel.example:4318")
    assert place is not None
    came = Came(sent=1_204, refused=3, dropped=512, heard=True, words="It answered 400: <b>no</b>")
    await collector.move(studio.db, "w", place, Place(at=place.at + 1), came, now)
    await collector.failing(studio.db, "w", "It could not be reached.", now, now + 60_000)

    answer = await alice.get("/traces/collector", HX_Request="true")
    page = await alice.open("/traces")

    assert "<html" not in answer.text
    text = page.one("section", id="collector").text
    for words in (
        "http://otel.example:4318",
        "failing",
        "1,204",
        "512",
        "It could not be reached.",
    ):
        assert words in text


async def test_a_worker_that_is_gone_is_told(studio: Studio, alice: Visitor) -> None:
    now = studio.story.clock.now()
    await collector.take(studio.db, "w", now - 60_000, 1, "http://otel.example")

    found = await studio.reader.collector(alice.person)

    assert found.state == "gone"
    assert "No worker exports now" in (await alice.open("/traces")).one("main").text


async def test_turns_that_wait_are_counted(studio: Studio, alice: Visitor) -> None:
    now = studio.story.clock.now()
    await studio.db.touch(lambda conn: raw.put(conn, collector.BEGIN))
    await collector.take(studio.db, "w", now, 60_000, "http://otel.example")
    session_id = await studio.story.session("Plans")
    await studio.story.message(session_id, "Go")
    await studio.story.reply(session_id, "Done.")
    await studio.story.end(session_id)

    found = await studio.reader.collector(alice.person)

    assert found.behind == 1
    assert "the oldest ended" in (await alice.open("/traces")).one("section", id="collector").text
