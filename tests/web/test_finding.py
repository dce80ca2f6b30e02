"""Find on a turn's page: large payloads are looked through whole, or the page says what was not."""

import pytest

from studio.core.projections import trace_words
from tests.web.conftest import Studio, Visitor

HAY = "hay " * 25_000  # 100 kB
WHOLE = "Arguments and results are looked through whole."


async def told(studio: Studio, *results: object) -> tuple[str, list[str]]:
    """A turn with a call for each result: its address and the ids of the calls."""
    story = studio.story
    session_id = await story.session("Search")
    await story.message(session_id)
    calls = await story.reply(session_id, "", *({"tool": "look"} for _ in results))
    for effect_id, result in zip(calls, results, strict=True):
        await story.run(session_id, effect_id, result)
    return f"/sessions/{session_id}/turns/1", calls


async def test_a_word_in_the_middle_of_a_large_result_is_a_hit_and_leads_to_it(
    studio: Studio, alice: Visitor
) -> None:
    turn, _ = await told(studio, f"{HAY}Needle{HAY}", "small", f"{HAY}a needle{HAY}")

    page = await alice.open(f"{turn}?q=needle")

    assert "2 hits" in page.one(id="hits").text
    assert WHOLE in page.one(id="hits").text
    hit = await alice.open(page.role("link", "Next n")[0].leads)
    assert "1 of 2 hits" in hit.one(id="hits").text
    (form,) = [one for one in hit.one(id="span").all("form") if "find" in one.fields()]
    assert form.fields()["find"] == "needle"
    found = await alice.open(f"{turn}?span={form.fields()['span']}&q=needle&find=needle")
    assert [mark.text for mark in found.one(id="span").all("mark")] == ["Needle"]


async def test_what_was_not_looked_at_is_said_with_what_to_do(
    studio: Studio, alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_words, "MOST_BYTES", 250_000)
    turn, _ = await told(studio, *(f"{HAY}straw {number}{HAY}" for number in range(3)))

    some = (await alice.open(f"{turn}?q=straw")).one(id="hits").text
    none = (await alice.open(f"{turn}?q=zebra")).one(id="hits").text

    words = (
        "2 large arguments and results were looked at only at the beginning and end (400 kB in "
        "all): a search looks through 250 kB of a turn's large ones, the newest first. Open a span "
        "to search in it."
    )
    assert "1 hit" in some
    assert words in some
    assert "Nothing that was looked at has that." in none
    assert words in none
    assert WHOLE not in some + none


async def test_a_search_in_one_span_finds_what_the_search_of_the_turn_found(
    studio: Studio, alice: Visitor
) -> None:
    turn, calls = await told(studio, {"a": f'{HAY} \u0130 say "NEEDLE" {HAY}'})

    for word in ('"needle"', "needle"):
        page = await alice.open(f"{turn}?q={word}")
        assert "1 hit" in page.one(id="hits").text
        side = (await alice.open(f"{turn}?of={calls[0]}&find={word}")).one(id="span")
        assert "1 place" in side.text
        assert "NEEDLE" in side.one("mark").text
