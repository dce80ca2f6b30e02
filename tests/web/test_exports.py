"""Files of sessions and lists from a page: named, kept from opening, with the page's filters."""

import json

import pytest

from tests.web.conftest import Studio, Visitor


async def test_a_session_is_taken_away_from_its_page(studio: Studio, alice: Visitor) -> None:
    session_id, _effect_id, _wait_id = await studio.story.held("Plans")
    page = await alice.open(f"/sessions/{session_id}")
    links = [a.attrs["href"] for a in page.all("a") if "/export?" in a.attrs.get("href", "")]

    for link in links:
        answer = await alice.get(link)
        assert answer.status_code == 200
        assert "attachment" in answer.headers["content-disposition"]
        assert session_id in answer.headers["content-disposition"]
        assert "sandbox" in answer.headers["content-security-policy"]
    assert len(links) == 3


@pytest.mark.parametrize("path", ["/traces?tool=publish", "/sessions?q=plans"])
async def test_a_list_is_taken_away_with_its_filters(
    studio: Studio, alice: Visitor, path: str
) -> None:
    await studio.story.held("Plans")
    await studio.story.session("Other")
    page = await alice.open(path)
    (link,) = [a.attrs["href"] for a in page.all("a") if "format=jsonl" in a.attrs.get("href", "")]

    told = [json.loads(line) for line in (await alice.get(link)).text.splitlines()]

    assert [one["title"] for one in told if one["line"] == "session"] == ["Plans"]
    assert told[-1]["complete"]


async def test_a_stranger_takes_nothing_away(studio: Studio, charlie: Visitor) -> None:
    session_id = await studio.story.session("Plans", private=True)

    hidden = await charlie.get(f"/sessions/{session_id}/export?format=jsonl")
    of_all = await charlie.get("/exports/sessions?format=jsonl")

    assert hidden.status_code == 404
    assert session_id not in of_all.text


async def test_an_unknown_format_is_told(studio: Studio, alice: Visitor) -> None:
    answer = await alice.get("/exports/turns?format=pdf")

    assert answer.status_code == 422
    assert "Choose one of markdown, jsonl, otlp." in answer.text


async def test_few_files_are_written_for_one_person_at_once(
    studio: Studio, alice: Visitor, bob: Visitor
) -> None:
    session_id = await studio.story.session("Plans")
    path = f"/sessions/{session_id}/export?format=jsonl"
    written = studio.app.state.exports
    written[alice.person.id] = 3

    assert (await alice.get(path)).status_code == 409
    assert (await bob.get(path)).status_code == 200
    assert (await bob.http.head(path)).text == ""
    assert written[bob.person.id] == 0
