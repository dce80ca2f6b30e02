"""Words are found in payloads of any size, on both stores; what was not looked at is counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from studio.core.projections import trace_words
from studio.core.reader import Reader, TraceWords
from studio.core.rules import contents
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.rules.errors import NotFound
from studio.core.rules.events import Content
from studio.core.rules.pieces import PIECE
from tests.core.projections.conftest import reader_of
from tests.core.projections.counting import CountingDb
from tests.core.projections.story import Story

HAY = "hay " * 25_000  # 100 kB


async def turn(story: Story, *results: object, **more: bool) -> tuple[str, list[str]]:
    """A turn with a call for each result; the ids of the session and of the calls."""
    session_id = await story.session("Search", **more)
    await story.message(session_id)
    calls = await story.reply(session_id, "", *({"tool": "look"} for _ in results))
    for effect_id, result in zip(calls, results, strict=True):
        await answer(story, session_id, effect_id, result)
    return session_id, calls


async def answer(story: Story, session_id: str, effect_id: str, result: object) -> None:
    place = {"turn_id": story.turns[session_id], "effect_id": effect_id}
    made = result if isinstance(result, Content) else contents.of(result)
    await story.record(
        session_id, e.CallStarted(**place, key="1" * 64, send=1, digest_sent="2" * 64),
        e.CallSucceeded(**place, result=made),
    )  # fmt: skip


async def find(
    story: Story, reader: Reader, person: Person, session_id: str, *words: str
) -> TraceWords:  # fmt: skip
    return await reader.trace_words(person, session_id, story.turns[session_id], words)


def blobs_read(asked: CountingDb) -> int:
    return sum("FROM blobs" in statement for statement in asked.statements)


async def test_a_word_in_the_middle_of_a_large_result_is_found(
    story: Story, reader: Reader, bob: Person
) -> None:
    border = "." * (PIECE - 4) + "Border" + "." * PIECE
    session_id, calls = await turn(
        story, {"page": f"{HAY} Needle {HAY}"}, contents.of_text(f"{HAY} say \"needle\"\n {HAY}"),
        contents.of_text(border), "small needle", HAY,
    )  # fmt: skip

    found = await find(story, reader, bob, session_id, "needle", "border", '"needle"', "sha", "hay")

    needle, borders, quoted, sha, hay = found.effects
    assert needle == {calls[0], calls[1], calls[3]}
    assert borders == {calls[2]}
    assert quoted == {calls[1]}
    assert sha == frozenset()
    assert hay == {calls[0], calls[1], calls[4]}
    assert (found.left, found.left_bytes) == (0, 0)


async def test_large_arguments_are_looked_through_as_well(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id = await story.session("Search")
    await story.message(session_id)
    given = {"text": f"{HAY}needle{HAY}"}
    (effect_id,) = await story.reply(session_id, "", {"tool": "look", "arguments": given})

    found = await find(story, reader, bob, session_id, "needle")

    assert found.effects == (frozenset([effect_id]),)


async def test_letters_are_compared_alike_in_small_and_in_large_payloads(
    story: Story, reader: Reader, bob: Person
) -> None:
    session_id, calls = await turn(
        story, "ÜBER ПРИВЕТ", f"{HAY} ÜBER ПРИВЕТ {HAY}", {"über": "привет"}, "uber", "ÜBE R",
        "日本語 Q",
    )  # fmt: skip

    found = await find(story, reader, bob, session_id, "über", "привет", "日本", '"über"')

    assert found.effects[0] == found.effects[1] == frozenset(calls[:3])
    assert found.effects[2] == {calls[5]}
    assert found.effects[3] == frozenset()  # as it is written: not text of anybody


async def test_what_is_beyond_the_bound_is_counted_and_the_newest_looked_at(
    story: Story, reader: Reader, bob: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_words, "MOST_BYTES", 450_000)
    texts = [f"{HAY}needle{HAY}{number}" for number in (1, 2, 3)]  # 200 kB each
    session_id, calls = await turn(story, *texts, texts[2])

    found = await find(story, reader, bob, session_id, "needle", "hay")

    assert found.effects == (frozenset(calls[1:]), frozenset(calls))
    assert (found.left, found.left_bytes) == (1, len(texts[0]) + 2)
    assert found.most == 450_000


async def test_what_was_found_is_kept_and_what_came_since_is_read(
    small_story: Story, asked: tuple[Reader, CountingDb], alice: Person
) -> None:
    reader, counting = asked
    session_id, calls = await turn(small_story, f"{HAY}needle{HAY}", HAY, HAY)
    first = await find(small_story, reader, alice, session_id, "needle", "straw")
    assert blobs_read(counting) == 2  # the same bytes once
    counting.statements.clear()

    again = await find(small_story, reader, alice, session_id, "needle", "straw")
    one = await find(small_story, reader, alice, session_id, "straw")

    assert not any("FROM effects" in one for one in counting.statements)
    assert blobs_read(counting) == 0
    assert (again, one.effects) == (first, first.effects[1:])
    (more,) = await small_story.reply(session_id, "", {"tool": "look"})
    await answer(small_story, session_id, more, f"{HAY}straw{HAY}")
    moved = await find(small_story, reader, alice, session_id, "needle", "straw")
    assert blobs_read(counting) == 1
    assert moved.effects == (frozenset(calls[:1]), frozenset([more]))


async def test_searches_that_are_kept_are_few_and_the_answer_is_the_same(
    small_story: Story, asked: tuple[Reader, CountingDb], alice: Person
) -> None:
    reader, _ = asked
    session_id, calls = await turn(small_story, f"{HAY}needle{HAY}", "needle", HAY)
    kept = trace_words.Kept(2)
    reader.__dict__["_found_words"] = kept

    found = [await find(small_story, reader, alice, session_id, "needle", "hay") for _ in range(2)]

    assert found[0] == found[1]
    assert found[0].effects == (frozenset(calls[:2]), frozenset([calls[0], calls[2]]))
    assert kept.held <= 2


async def test_what_was_kept_is_for_those_who_may_see_it(
    story: Story, reader: Reader, alice: Person, charlie: Person
) -> None:
    session_id, calls = await turn(story, f"{HAY}needle{HAY}", private=True)
    assert (await find(story, reader, alice, session_id, "needle")).effects == (frozenset(calls),)

    with pytest.raises(NotFound):
        await find(story, reader, charlie, session_id, "needle")


async def test_what_a_provider_wants_back_is_not_looked_through(
    story: Story, reader: Reader, bob: Person
) -> None:
    hidden = replace(contents.of_text(f"{HAY}needle"), media=contents.OPAQUE)
    session_id, _ = await turn(story, hidden)

    found = await find(story, reader, bob, session_id, "needle")

    assert found == TraceWords(effects=(frozenset(),))


async def test_a_search_reads_large_results_in_windows(
    small_story: Story, tmp_path: Path, alice: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_words, "WINDOW", 450_000)
    counting = ReadsDb(small_story.db)
    reader = reader_of(small_story, counting, tmp_path)
    texts = [f"{HAY}straw{number}{HAY}" for number in range(5)]  # 200 kB each
    session_id, calls = await turn(small_story, *texts)

    found = await find(small_story, reader, alice, session_id, "straw3")

    assert found.effects == (frozenset([calls[3]]),)
    assert counting.reads == 1 + 3


class ReadsDb(CountingDb):
    """Counts transactions as well."""

    reads = 0

    async def read(self, act):  # type: ignore[no-untyped-def]
        self.reads += 1
        return await super().read(act)
