"""The panel of the export: what it says in each state, and that it looks again by itself."""

import pytest

from studio.core.projections.collector import Waiting
from studio.core.store import collector, raw
from studio.core.store.collector import Came, Place
from studio.core.telemetry import unset
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


async def turn(studio: Studio) -> None:
    session_id = await studio.story.session("Plans")
    await studio.story.message(session_id, "Go")
    await studio.story.reply(session_id, "Done.")
    await studio.story.end(session_id)


async def test_once_no_collector_is_set_nothing_is_counted_and_it_is_said_since_when(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = studio.story.clock.now()
    place = await collector.take(studio.db, "w", now, 60_000, "http://otel.example")
    assert place is not None
    await collector.move(studio.db, "w", place, place, Came(sent=1_204, dropped=7), now)
    await collector.leave(studio.db, "w")
    await turn(studio)

    await unset.say(studio.db, studio.story.clock, rest=0)
    monkeypatch.setattr(collector, "ends", None)  # whoever counts breaks
    found = await studio.reader.collector(alice.person)
    text = (await alice.open("/traces")).one("section", id="collector").text

    assert (found.state, found.behind, found.sent) == ("off", 0, 1_204)
    assert found.unsent_since is not None
    assert found.unsent_since <= now
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in text
    for words in ("1,204 spans were sent before", "7 given up", "Turns that ended after"):
        assert words in text
    assert "otel.example" not in text


async def test_what_waits_is_counted_from_where_it_was_looked_at_last(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, ends = list[int](), collector.ends

    def told(conn: object, after: Place, limit: int) -> object:
        looked.append(after.at)
        return ends(conn, after, limit)  # type: ignore[arg-type]

    monkeypatch.setattr(collector, "ends", told)
    waiting, place = Waiting(), await studio.db.read(collector.last)
    count = []
    for _ in range(3):
        await turn(studio)
        count.append(await studio.db.read(lambda conn: waiting.times(conn, Place(at=place))))
    last = await studio.db.read(collector.last)
    none = await studio.db.read(lambda conn: waiting.times(conn, Place(at=last)))

    assert [len(times) for times in count] == [1, 2, 3]
    assert none == []
    assert looked == sorted(set(looked[:-1])) + looked[-1:]
    assert looked[0] == place


async def test_a_collector_that_answers_no_to_everything_is_not_said_to_be_sending(
    studio: Studio, alice: Visitor
) -> None:
    now = studio.story.clock.now()
    place = await collector.take(studio.db, "w", now, 60_000, "http://otel.example")
    assert place is not None
    lost = Came(refused=7, heard=True, words="It answered 401.")
    await collector.move(studio.db, "w", place, Place(at=place.at + 1), lost, now)
    refusing = (await alice.open("/traces")).one("section", id="collector").text
    taken = Came(sent=7, heard=True)
    at = Place(at=place.at + 1)
    await collector.move(studio.db, "w", at, Place(at=place.at + 2), taken, now + 1_000)
    sending = (await alice.open("/traces")).one("section", id="collector").text

    assert "refusing" in refusing
    assert "took none of the spans" in refusing
    assert "It answered 401." in refusing
    assert "sending" in sending
    assert "refusing" not in sending
