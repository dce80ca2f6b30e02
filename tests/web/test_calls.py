"""One call: everything recorded of it, and its bytes, which never open in the page."""

import pytest

from tests.web.conftest import Studio, Visitor


async def test_a_call_shows_arguments_result_and_facts(studio: Studio, bob: Visitor) -> None:
    session_id, effect_id, wait_id = await studio.story.held()
    await studio.story.decide(session_id, wait_id, "approve")
    await studio.story.run(session_id, effect_id, {"published": True})

    text = (await bob.open(f"/calls/{effect_id}")).one(id="main").text

    for words in ("2.4", '"published": true', "call.proposed", "decision.recorded", "1 send"):
        assert words in text


async def test_the_chain_says_when_it_does_not_agree(studio: Studio, bob: Visitor) -> None:
    session_id, effect_id, wait_id = await studio.story.held()
    await studio.story.decide(session_id, wait_id, "approve")
    await studio.story.run(session_id, effect_id)

    text = (await bob.open(f"/calls/{effect_id}")).one(id="main").text

    assert "These differ, and no edit explains it." in text


async def test_a_held_call_leads_to_its_card(studio: Studio, bob: Visitor) -> None:
    _session, effect_id, wait_id = await studio.story.held()

    page = await bob.open(f"/calls/{effect_id}")

    assert page.role("link", "Open the card")[0].attrs["href"] == f"/approvals/{wait_id}"


@pytest.mark.parametrize("value", [{"big": "x" * 100_000}, "<script>alert(1)</script>"])
async def test_bytes_come_as_a_file_that_cannot_act(
    studio: Studio, bob: Visitor, value: object
) -> None:
    session_id, effect_id, _wait = await studio.story.held()
    await studio.story.run(session_id, effect_id, value)

    answer = await bob.get(f"/calls/{effect_id}/result")

    assert answer.json() == value
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert answer.headers["content-disposition"].startswith('attachment; filename="publish_release')
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("part", ["result", "ruling", "__class__", "..%2f"])
async def test_there_are_no_other_parts(studio: Studio, bob: Visitor, part: str) -> None:
    _session, effect_id, _wait = await studio.story.held()

    assert (await bob.get(f"/calls/{effect_id}/{part}")).status_code == 404


async def test_a_strangers_call_is_not_there(studio: Studio, charlie: Visitor) -> None:
    _session, effect_id, _wait = await studio.story.held(private=True)

    for path in ("", "/arguments"):
        assert (await charlie.get(f"/calls/{effect_id}{path}")).status_code == 404
