"""Sessions and turns as files: whole, counted, only what one may see, a page at a time."""

import asyncio
import json
import time
from typing import Any

import pytest
import sqlalchemy as sa

from studio.core import export_questions
from studio.core.projections import facts
from studio.core.reader import Export, Reader
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound, Unavailable
from studio.core.store import tables
from tests.core.projections.story import Story

ALICE = Person(id="alice", role="operator")
CHARLIE = Person(id="charlie", role="viewer")
LARGE = {"text": "x" * 50_000}


async def whole(export: Export) -> str:
    return "".join([piece async for piece in export.text])


async def lines(export: Export) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await whole(export)).splitlines()]


async def full(story: Story, title: str = "Release") -> str:
    """A session with a decided call, a large result and a turn that failed."""
    session_id, effect_id, wait_id = await story.held(title)
    await story.decide(session_id, wait_id, "approve", reason="Fine.")
    await story.run(session_id, effect_id, LARGE)
    await story.end(session_id)
    await story.message(session_id, "Again")
    await story.end(session_id, code="model.away", message="The model is away.")
    return session_id


async def recorded(story: Story, session_id: str) -> list[tuple[int, str]]:
    c = tables.events.c
    query = sa.select(c.seq, c.type).where(c.session_id == session_id).order_by(c.seq)
    return await story.db.read(lambda conn: [tuple(row) for row in conn.execute(query)])


async def test_a_session_is_there_fact_by_fact_and_counted(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_questions, "FACTS", 4)
    session_id = await full(story)

    found = await reader.export_session(ALICE, session_id, "jsonl", version="1")
    told = await lines(found)

    of_journal = await recorded(story, session_id)
    assert found.name == f"session-{session_id}.jsonl"
    assert [one["line"] for one in told[:2]] == ["export", "session"]
    assert [(one["seq"], one["type"]) for one in told[2:-1]] == of_journal
    assert told[-1] == {
        "line": "end", "complete": True, "sessions": 1, "turns": 2, "facts": len(of_journal),
        "spans": 0,
    }  # fmt: skip


async def test_large_contents_come_by_reference_or_whole(story: Story, reader: Reader) -> None:
    session_id = await full(story)

    by_hash = await lines(await reader.export_session(ALICE, session_id, "jsonl", version="1"))
    inline = await lines(
        await reader.export_session(ALICE, session_id, "jsonl", version="1", inline=True)
    )

    (short,) = [one for one in by_hash if one.get("type") == "call.succeeded"]
    (long,) = [one for one in inline if one.get("type") == "call.succeeded"]
    assert short["payload"]["result"]["stored"] is True
    assert short["payload"]["result"]["value"] is None
    assert long["payload"]["result"]["value"] == LARGE
    assert long["payload"]["result"]["hash"] == short["payload"]["result"]["hash"]


async def test_spans_are_those_of_the_traces_and_the_last_line_counts_them(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_questions, "FACTS", 1)
    session_id = await full(story)
    traces = [await reader.trace(ALICE, session_id, turn) for turn in ("1", "2")]

    told = await lines(await reader.export_session(ALICE, session_id, "otlp", version="1"))

    spans = [
        span["spanId"]
        for line in told
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    assert spans == [span.id for trace in traces for span in trace.spans]
    assert told[-1]["resourceSpans"] == []
    assert told[-1]["studioExport"]["spans"] == len(spans)
    assert told[-1]["studioExport"]["turns"] == 2


async def test_a_transcript_says_what_was_said_and_decided(story: Story, reader: Reader) -> None:
    session_id = await full(story, "Release `1`")

    text = await whole(await reader.export_session(ALICE, session_id, "markdown", version="1"))

    facts_there = len(await recorded(story, session_id))
    for words in ("# Session `` Release `1` ``", "## Turn 2", "Call of `publish_release`", "Fine.",
                  "50,011 bytes in all", "`model.away`"):  # fmt: skip
        assert words in text
    assert text.endswith(
        f"The end of this export, which is complete: 1 session, 2 turns, {facts_there} facts.\n"
    )


async def test_filters_choose_and_what_is_private_is_nowhere(story: Story, reader: Reader) -> None:
    seen = await full(story, "Seen")
    await story.session("Hidden", private=True)
    await story.session("Other", agent="other")

    async def ids(person: Person, **filters: str) -> list[str]:
        told = await lines(await reader.export_sessions(person, filters, "jsonl", version="1"))
        return [one["title"] for one in told if one["line"] == "session"]

    assert await ids(ALICE) == ["Other", "Hidden", "Seen"]
    assert await ids(CHARLIE) == ["Other", "Seen"]
    assert await ids(CHARLIE, agent="helper") == ["Seen"]
    turns = await reader.export_turns(CHARLIE, {"error": "model.away"}, "jsonl", version="1")
    told = await lines(turns)
    of_turn = {one["turn_id"] for one in told if one["line"] == "fact"}
    assert told[0]["turns"] == {"error": "model.away"}
    assert len(of_turn) == 1
    assert (told[-1]["turns"], told[-1]["sessions"]) == (1, 0)
    assert {one["session_id"] for one in told if one["line"] == "fact"} == {seen}


async def test_pages_of_a_list_leave_nobody_out(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_questions.pages, "LIMIT_MOST", 2)
    for number in range(5):
        await story.session(f"S{number}")

    told = await lines(await reader.export_sessions(ALICE, {}, "jsonl", version="1"))

    assert [one["title"] for one in told if one["line"] == "session"] == [
        "S4", "S3", "S2", "S1", "S0",
    ]  # fmt: skip


async def test_what_goes_on_meanwhile_is_not_in_it(story: Story, reader: Reader) -> None:
    session_id = await full(story)
    found = await reader.export_session(ALICE, session_id, "jsonl", version="1")
    pieces = [await anext(found.text), await anext(found.text)]

    await story.message(session_id, "Later")
    pieces += [piece async for piece in found.text]

    told = [json.loads(line) for line in "".join(pieces).splitlines()]
    assert told[-2]["seq"] == told[1]["seq"]
    assert "Later" not in "".join(pieces)


@pytest.mark.parametrize("format", ["jsonl", "markdown"])
async def test_an_error_in_the_middle_is_said_in_the_last_line(
    small_story: Story, asked: Any, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    reader, _ = asked
    session_id = await full(small_story)
    found = await reader.export_session(ALICE, session_id, format, version="1")

    def broken(*_: object, **__: object) -> None:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(facts, "between", broken)
    last = (await whole(found)).strip().splitlines()[-1]

    assert "The disk is full." in last
    assert ("**This export is not complete.**" in last) or not json.loads(last)["complete"]


async def test_a_mistake_of_ours_is_said_without_its_words(
    small_story: Story, asked: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, _ = asked
    session_id = await full(small_story)

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(facts, "between", broken)
    told = await lines(await reader.export_session(ALICE, session_id, "jsonl", version="1"))

    assert told[-1]["error"]["code"] == "internal"
    assert "secret" not in json.dumps(told)


async def test_a_reader_that_goes_away_ends_it(small_story: Story, asked: Any) -> None:
    reader, counting = asked
    for number in range(3):
        await full(small_story, f"S{number}")
    found = await reader.export_sessions(ALICE, {}, "jsonl", version="1")
    for _ in range(3):
        await anext(found.text)

    await found.text.aclose()
    before = len(counting.statements)

    assert [piece async for piece in found.text] == []
    assert len(counting.statements) == before


async def test_what_cannot_be_written_is_refused_before_anything_is(
    small_story: Story, asked: Any
) -> None:
    reader, _ = asked
    private = await small_story.session("Hidden", private=True)

    with pytest.raises(NotFound):
        await reader.export_session(CHARLIE, private, "jsonl", version="1")
    with pytest.raises(Invalid, match="markdown, jsonl, otlp"):
        await reader.export_session(ALICE, private, "pdf", version="1")
    with pytest.raises(Invalid, match="status"):
        await reader.export_turns(ALICE, {"status": "zebra"}, "jsonl", version="1")


async def test_what_a_provider_wants_back_is_shown_to_nobody(story: Story, reader: Reader) -> None:
    session_id = await story.session()
    await story.message(session_id)
    state = contents.of({"thinking": "sealed"})
    opaque = e.Content(hash=state.hash, size=state.size, media=contents.OPAQUE, value=state.value)
    turn_id = story.turns[session_id]
    effect_id = f"eff_{turn_id.removeprefix('trn_')}s001m01"
    await story.record(
        session_id,
        e.ModelRequested(turn_id=turn_id, effect_id=effect_id, step=1, attempt=1, provider="chat",
                         model="m", request_hash="0" * 64),
        e.ModelReplied(turn_id=turn_id, effect_id=effect_id, text=contents.of_text("Hi"), calls=0,
                       usage=e.Usage(), state=opaque),
    )  # fmt: skip

    text = await whole(
        await reader.export_session(ALICE, session_id, "jsonl", version="1", inline=True)
    )

    assert "sealed" not in text
    assert json.loads(text.splitlines()[-1])["complete"]


async def large(story: Story, values: list[Any]) -> str:
    """A session with a call for each of these results."""
    session_id = ""
    for value in values:
        session_id, effect_id, wait_id = await story.held("Large")
        await story.decide(session_id, wait_id, "approve")
        await story.run(session_id, effect_id, value)
        await story.end(session_id)
    return session_id


ODD = {"odd": ["\ud800", "\n\r\u2028", '"', 1.50, None, 10**20, "ü" * 200_000], "x": "y" * 300_000}


@pytest.mark.parametrize("format", ["jsonl", "markdown"])
async def test_whatever_a_large_content_holds_its_line_is_whole(
    story: Story, reader: Reader, format: str
) -> None:
    session_id = await large(story, [ODD])

    text = await whole(
        await reader.export_session(ALICE, session_id, format, version="1", inline=True)
    )

    if format == "markdown":
        assert "y" * 300_000 in text
        assert "bytes in all" not in text
        return
    told = [json.loads(line) for line in text.split("\n") if line]
    (result,) = [one["payload"]["result"] for one in told if one.get("type") == "call.succeeded"]
    assert result["value"] == {**ODD, "odd": ["\ufffd" * 3, *ODD["odd"][1:]]}
    assert (result["stored"], result["head"], told[-1]["complete"]) == (False, "", True)


@pytest.mark.parametrize("format", ["jsonl", "markdown"])
async def test_a_large_export_lets_everybody_else_have_their_turn(
    story: Story, reader: Reader, format: str
) -> None:
    if story.db.kind == "postgresql":
        pytest.skip("the file is made in the same way of either store")
    value = list(range(1_050_000))  # about 7 MB
    for _ in range(7):
        await large(story, [value])
    waited, size, done = list[float](), 0, asyncio.Event()

    async def others() -> None:
        while not done.is_set():
            begun = time.thread_time()  # the loop's own work, however busy the machine is
            await asyncio.sleep(0)
            waited.append(time.thread_time() - begun)

    async with asyncio.TaskGroup() as group:
        group.create_task(others())
        found = await reader.export_sessions(ALICE, {}, format, version="1", inline=True)
        async for piece in found.text:
            size += len(piece)
            assert len(piece) <= export_questions.PIECE
        done.set()

    assert size > 50_000_000
    assert len(waited) > 20
    assert max(waited) < 0.05, f"the loop stood still: {sorted(waited)[-10:]}"
