"""The questions as a whole: how much they ask of the store, what they carry, and following it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, Unavailable
from studio.core.store.db import Db
from studio.core.store.feed import Feed
from studio.core.store.journal import Journal
from studio.core.store.migrate import migrate
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import Story, StoryClock

BOB = Person(id="bob", role="operator")
ADA = Person(id="ada", role="admin")
STATEMENTS_MOST = 4
PAYLOAD = "payload " * 3_000


@dataclass
class Told:
    """A story on SQLite, a reader of it, and what that asks of the store."""

    story: Story
    reader: Reader
    counting: CountingDb


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    url = f"sqlite:///{tmp_path / 'studio.db'}"
    migrate(url)
    db = Db.open(url, readers=2)
    await db.start()
    feed = Feed(db)
    await feed.start()
    journal, clock, counting = Journal(db, feed), StoryClock(), CountingDb(db)
    yield Told(
        story=Story(db=db, feed=feed, journal=journal, clock=clock),
        reader=Reader(db=counting, journal=journal, feed=feed, clock=clock, data=tmp_path),  # type: ignore[arg-type]
        counting=counting,
    )
    await feed.close()
    await db.close()


async def crowded(story: Story) -> tuple[str, str, str]:
    """Sessions with large values everywhere; one held call's session, effect and wait."""
    for number in range(4):
        session_id = await story.session(f"Session {number}")
        await story.message(session_id, PAYLOAD)
        call = {"tool": "send_mail", "arguments": {"text": PAYLOAD}}
        sent, held = await story.reply(session_id, PAYLOAD, call, call)
        await story.run(session_id, sent, PAYLOAD)
        wait_id = await story.hold(session_id, held, prompt=PAYLOAD)
    await story.session("Last")
    return session_id, held, wait_id


QUESTIONS: dict[str, Callable[[Reader, str, str, str], Awaitable[Any]]] = {
    "home": lambda reader, s, c, w: reader.home(BOB),
    "pending": lambda reader, s, c, w: reader.pending(BOB),
    "sessions": lambda reader, s, c, w: reader.sessions(BOB),
    "sessions by words": lambda reader, s, c, w: reader.sessions(BOB, q="session"),
    "session": lambda reader, s, c, w: reader.session(BOB, s),
    "timeline": lambda reader, s, c, w: reader.timeline(BOB, s),
    "calls": lambda reader, s, c, w: reader.calls(BOB, s),
    "call": lambda reader, s, c, w: reader.call(BOB, c),
    "waits": lambda reader, s, c, w: reader.waits(BOB),
    "closed waits by words": lambda reader, s, c, w: reader.waits(BOB, state="closed", q="a"),
    "wait": lambda reader, s, c, w: reader.wait(BOB, w),
    "cards": lambda reader, s, c, w: reader.cards(BOB, s),
    "events": lambda reader, s, c, w: reader.events(BOB, s),
    "agents": lambda reader, s, c, w: reader.agents(BOB),
    "policy": lambda reader, s, c, w: reader.policy(BOB),
    "keys": lambda reader, s, c, w: reader.keys(ADA),
    "position": lambda reader, s, c, w: reader.position(),
    "health": lambda reader, s, c, w: reader.health(),
}
LISTS = ("home", "sessions", "sessions by words", "calls", "waits")


@pytest.mark.parametrize("question", QUESTIONS)
async def test_question_asks_few_statements(told: Told, question: str) -> None:
    place = await crowded(told.story)

    await QUESTIONS[question](told.reader, *place)

    assert 1 <= len(told.counting.statements) <= STATEMENTS_MOST


async def test_lines_that_changed_ask_few_statements(told: Told) -> None:
    session_id, *_ = await crowded(told.story)

    await told.reader.grown(BOB, session_id, 1)

    assert len(told.counting.statements) <= STATEMENTS_MOST + 3  # with the facts themselves


async def test_frame_of_every_page_asks_one_statement(told: Told) -> None:
    await crowded(told.story)

    await told.reader.pending(BOB)

    assert len(told.counting.statements) == 1


@pytest.mark.parametrize("question", LISTS)
async def test_list_carries_no_payload(told: Told, question: str) -> None:
    place = await crowded(told.story)

    answer = await QUESTIONS[question](told.reader, *place)

    assert max(map(len, texts(answer))) <= 500


@pytest.mark.parametrize("question", LISTS)
async def test_list_reads_no_column_of_payloads(told: Told, question: str) -> None:
    place = await crowded(told.story)

    await QUESTIONS[question](told.reader, *place)

    asked = " ".join(told.counting.statements)
    assert "effects.arguments" not in asked
    assert "effects.result" not in asked
    assert "payload" not in asked


def texts(value: Any) -> list[str]:
    """Every text in an answer."""
    if is_dataclass(value) and not isinstance(value, type):
        return texts(asdict(value))
    if isinstance(value, dict):
        return [text for item in value.values() for text in texts(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in texts(item)]
    return [value] if isinstance(value, str) else [""]


async def test_page_of_a_long_session_reads_a_window_of_it(told: Told) -> None:
    session_id = await told.story.session()
    for _ in range(60):
        await told.story.message(session_id)
        await told.story.reply(session_id)
        await told.story.end(session_id)

    timeline = await told.reader.timeline(BOB, session_id, limit=10)
    view = await told.reader.session(BOB, session_id)

    assert (len(timeline.lines), len(view.turns)) == (10, 20)
    assert all("LIMIT" in asked for asked in told.counting.statements if "ORDER BY" in asked)


# What comes from outside -------------------------------------------------------------------------


async def strange(reader: Reader, text: str) -> list[str]:
    """How each question that takes a text takes this one."""
    taken = []
    for ask in (
        reader.sessions(BOB, q=text), reader.sessions(BOB, agent=text), reader.session(BOB, text),
        reader.timeline(BOB, text), reader.grown(BOB, text, 0), reader.calls(BOB, text),
        reader.call(BOB, text), reader.waits(BOB, q=text), reader.waits(BOB, tool=text),
        reader.waits(BOB, session_id=text), reader.wait(BOB, text), reader.cards(BOB, text),
        reader.events(BOB, text), reader.events_before(BOB, text), reader.agent(BOB, text),
        reader.blob(BOB, "0" * 64, text),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            await ask
        taken.append(refused.value.code)
    return taken


@pytest.mark.parametrize("text", ["a\0b", "half a pair: \ud800"])
async def test_text_that_no_store_can_hold_is_refused_before_it_is_asked(
    told: Told, text: str
) -> None:
    assert set(await strange(told.reader, text)) == {"text.not_plain"}
    assert told.counting.statements == []


# Following ----------------------------------------------------------------------------------------


async def test_sessions_that_grew_are_told_together(told: Told) -> None:
    first = await told.story.session()
    async with told.reader.follow() as growth:
        second = await told.story.session()
        await told.story.message(first)

        async with asyncio.timeout(5):
            grown = await growth.get()

    assert grown == {first, second}


async def test_facts_behind_a_seq_are_given_to_a_stream(told: Told) -> None:
    session_id = await told.story.session()
    await told.story.message(session_id)

    grown = await told.reader.grown(BOB, session_id, 1)

    assert [(fact.seq, fact.event.TYPE) for fact in grown.facts] == [
        (2, "message.accepted"), (3, "turn.started"),
    ]  # fmt: skip
    assert (await told.reader.grown(BOB, session_id, 3)).facts == ()


async def test_draft_and_progress_are_told_while_they_last(told: Told) -> None:
    told.story.feed.set_draft("ses_1", "eff_1", "Dear")
    told.story.feed.set_progress("ses_1", "eff_2", 1, 4, "reading")
    written = told.reader.draft("ses_1"), told.reader.progress("ses_1")
    told.story.feed.set_draft("ses_1", "eff_1", None)

    assert written == (("eff_1", "Dear"), {"eff_2": (1, 4, "reading")})
    assert told.reader.draft("ses_1") is None


async def test_position_is_that_of_the_newest_fact(told: Told) -> None:
    before = await told.reader.position()
    await told.story.session()

    assert (before, await told.reader.position()) == (0, 1)


async def test_reader_is_ready_while_its_store_answers(told: Told) -> None:
    open_store = await told.reader.ready()
    await told.counting.db.close()

    closed_store = await told.reader.ready()

    assert open_store == {"ready": True, "why": None}
    assert closed_store == {"ready": False, "why": "The store is not open."}
    with pytest.raises(Unavailable):
        await told.reader.position()
