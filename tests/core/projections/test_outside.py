"""Traces from outside as they are asked for, on both stores."""

from collections.abc import Iterable

import pytest

from studio.core.outside_questions import Arranged
from studio.core.projections import outside, outside_words
from studio.core.projections.outside import AskedOutside
from studio.core.reader import Reader
from studio.core.rules.access import Person
from studio.core.rules.errors import Invalid, NotFound
from studio.core.rules.outside.claims import Claim, Limits, Refusal
from studio.core.rules.outside.recognising import recognised
from studio.core.store import outside as kept
from studio.core.store.outside import Ready
from tests.core.projections.story import Story
from tests.core.rules.outside.spans import TRACE, claim, span_id

AT = 1_796_000_000_000
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "llm.cost.total": 0.25}


async def keep(story: Story, spans: Iterable[Claim], *, at: int = AT) -> None:
    known = [recognised(one) for one in spans]
    ready = [Ready(known=one, payload=kept.pack(one)) for one in known]
    await story.db.touch(lambda conn: kept.keep(conn, ready, at=at, sent_by="ann", limits=Limits()))


async def test_pages_of_the_list_hold_each_trace_once_also_of_one_moment(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await keep(story, (claim(1, trace_id=f"{n:032x}") for n in range(1, 8)))
    await keep(story, (claim(1, trace_id=f"{n:032x}") for n in range(8, 11)), at=AT + 1)
    asked, seen, cursor = AskedOutside(), list[str](), None

    while True:
        page = await reader.outside_traces(charlie, asked, limit=3, cursor=cursor)
        seen += [row.id for row in page.items]
        cursor = page.next
        if cursor is None:
            break

    assert seen == [f"{n:032x}" for n in (10, 9, 8, 7, 6, 5, 4, 3, 2, 1)]
    with pytest.raises(Invalid):
        await reader.outside_traces(
            charlie, AskedOutside(service="x"), cursor=(await reader.outside_traces(
                charlie, asked, limit=3)).next,
        )  # fmt: skip


async def test_filters_and_names(story: Story, reader: Reader, charlie: Person) -> None:
    await keep(story, [claim(1, is_error=True, service="shop")])
    await keep(story, [claim(2, 1, trace_id="cd" * 16, service="desk")], at=AT + 5)

    async def found(**filters: object) -> list[str]:
        asked = AskedOutside(**filters)  # type: ignore[arg-type]
        return [row.service for row in (await reader.outside_traces(charlie, asked)).items]

    assert await found(service="shop") == ["shop"]
    assert await found(state="failed") == ["shop"]
    assert await found(state="incomplete") == ["desk"]
    assert await found(since=AT + 1) == ["desk"]
    assert await found(agent="nobody") == []
    assert await reader.outside_names(charlie) == (("desk", "shop"), ())


async def test_a_trace_comes_as_a_tree_with_its_counts(
    story: Story, reader: Reader, charlie: Person
) -> None:
    spans = [claim(1), claim(2, 1, attributes=CHAT), claim(3, 2, end=0), claim(4, 99)]
    await keep(story, spans)

    found = await reader.outside_trace(charlie, TRACE)

    assert [(span.depth, span.id) for span in found.trace.spans] == [
        (0, span_id(1)), (1, span_id(2)), (2, span_id(3)), (1, span_id(4)),
    ]  # fmt: skip
    assert dict(found.conventions) == {"": 3, "GenAI": 1}
    assert (found.row.cost, found.row.cost_known, found.row.spans) == (0.25, True, 4)
    assert found.trace.spans[2].end is None


async def test_all_spans_come_in_full_in_windows(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "EXPORTED", 2)
    await keep(story, (claim(n, attributes={"n": n}) for n in range(1, 6)))

    windows = [window async for window in reader.outside_spans(charlie, TRACE)]

    assert [[span.attributes["n"] for span in window] for window in windows] == [
        [1, 2],
        [3, 4],
        [5],
    ]
    assert (await reader.outside_span(charlie, TRACE, span_id(3))).attributes == {"n": 3}


async def test_words_are_found_in_what_spans_say_but_not_in_their_resource(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside_words, "WINDOW", 2)
    long = {"input.value": "hay " * 2_000 + 'the \u00dcber "Needle"'}
    resource = {"service.name": "shop"}
    spans = [claim(1), *(claim(n, 1, attributes=long, resource=resource) for n in (2, 3, 5))]
    event = {"name": "retry", "time": "1", "attributes": {}}
    await keep(story, [*spans, claim(4, 1, events=[event], resource=resource)])

    found = await reader.outside_words(charlie, TRACE, ["\u00fcber", '"needle"', "retry", "shop"])
    monkeypatch.setattr(outside_words, "MOST_CHARACTERS", 10_000)
    some = await reader.outside_words(charlie, TRACE, ["hay"])

    many = frozenset(map(span_id, (2, 3, 5)))
    assert found == [many, many, {span_id(4)}, frozenset()]
    assert some == [{span_id(2), span_id(3)}]


async def test_a_search_is_kept_until_its_trace_grows(
    story: Story, reader: Reader, charlie: Person
) -> None:
    await keep(story, [claim(1, attributes={"a": "needle"})])
    first = await reader.outside_words(charlie, TRACE, ["needle"])

    again = await reader.outside_words(charlie, TRACE, ["needle"])
    await keep(story, [claim(2, 1, attributes={"a": "needle"})], at=AT + 1)

    assert again is first
    assert await reader.outside_words(charlie, TRACE, ["needle"]) == [{span_id(1), span_id(2)}]


async def test_what_is_not_there_is_not_found(reader: Reader, charlie: Person) -> None:
    with pytest.raises(NotFound):
        await reader.outside_trace(charlie, TRACE)
    with pytest.raises(NotFound):
        await reader.outside_span(charlie, TRACE, span_id(1))
    with pytest.raises(NotFound):
        await anext(reader.outside_spans(charlie, TRACE))


async def test_refusals_are_told_in_words(story: Story, reader: Reader, charlie: Person) -> None:
    await story.db.touch(
        lambda conn: kept.refuse(conn, [Refusal("late", "“x”")], at=AT, sent_by="ann")
    )

    (row,) = await reader.outside_refusals(charlie)

    assert (row.reason, row.count, row.example) == ("its clock is more than a day ahead", 1, "“x”")


async def test_large_traces_are_kept_arranged_until_they_grow_or_others_come(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.core.outside_questions.SPANS_KEPT", 3)
    arranged = Arranged()
    await keep(story, [claim(1), claim(2, 1)])
    await keep(story, [claim(1, trace_id="cd" * 16), claim(2, 1, trace_id="cd" * 16)])
    one = await reader.outside_trace(charlie, TRACE)
    other = await reader.outside_trace(charlie, "cd" * 16)

    arranged.put(one)
    assert arranged.get(one.row) is one
    await keep(story, [claim(3, 1)], at=AT + 1)
    assert arranged.get(await reader.outside_head(charlie, TRACE)) is None
    arranged.put(other)

    assert arranged.get(one.row) is None
    assert arranged.get(other.row) is other


async def test_names_are_those_of_the_newest_traces(
    story: Story, reader: Reader, charlie: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "LOOKED", 2)  # however many there are, a page looks at so many
    for number, service in enumerate(("old", "shop", "desk")):
        await keep(
            story, [claim(1, trace_id=f"{number + 1:032x}", service=service)], at=AT + number
        )

    assert (await reader.outside_names(charlie))[0] == ("desk", "shop")


async def test_a_window_of_an_export_is_bounded_by_what_its_spans_say(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "EXPORTED_BYTES", 10_000)
    long = {"input.value": "x" * 4_000}  # a few bytes once they are packed
    await keep(story, [claim(n, attributes=long) for n in range(1, 8)])

    after, sizes = "", list[int]()
    while found := await story.db.read(
        lambda conn, after=after: outside.window(conn, TRACE, after)  # type: ignore[misc]
    ):
        sizes.append(len(found))
        after = found[-1].id

    assert sizes == [2, 2, 2, 1]
