"""Find on a turn: a word that stands only in the middle of a large result is found and led to."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from e2e.acts import begin, ends, look, same_as_reloaded
from e2e.conftest import SignIn
from e2e.studio import Studio
from e2e.wire import elsewhere

HAY = "hay and straw, " * 6_600  # 100 kB
SCRIPT = [{"when": "", "steps": [
    {"say": "I look.", "calls": [{"tool": "look_up"}, {"tool": "read_aloud"}]},
    {"say": "I look again.", "calls": [{"tool": "look_up"}]}, {"say": "Done."},
]}]  # fmt: skip


@pytest.fixture(scope="module")
def turn() -> Iterator[tuple[Studio, str]]:
    """A turn with two results of 200 kB that have the word in their middle, and one that has not;
    the path of its page."""
    with elsewhere() as site:
        site.answers["/look_up"] = (200, "text/plain", f"{HAY} One Needle here. {HAY}")
        site.answers["/read_aloud"] = (200, "text/plain", HAY + HAY)
        allowed = site.url.partition("://")[2]
        with Studio.new(STUDIO_HTTP_ALLOW=allowed) as studio:
            studio.api.agents.save("seeker", {
                "name": "seeker", "description": "Seeks.", "instructions": "Seek.",
                "model": {"provider": "scripted", "name": "steady", "script": SCRIPT},
                "tools": [
                    {"name": name, "kind": "http", "method": "GET", "url": f"{site.url}/{name}",
                     "description": "Reads.", "input": {"type": "object"}}
                    for name in ("look_up", "read_aloud")
                ],
            })  # fmt: skip
            session_id = begin(studio, "Seek.", "seeker")
            ends(studio, session_id)
            yield studio, f"/sessions/{session_id}/turns/1"


def test_a_word_in_the_middle_of_large_results_is_walked_to(
    turn: tuple[Studio, str], sign_in: SignIn
) -> None:
    studio, path = turn
    page = sign_in(studio)
    look(page, studio, path)

    page.get_by_label("Find in this turn").fill("needle")
    page.keyboard.press("Enter")
    hits = page.locator("#hits")
    expect(hits).to_contain_text("2 hits")
    expect(hits).to_contain_text("Arguments and results are looked through whole.")
    for key, place in (("n", 1), ("n", 2), ("p", 1)):
        page.keyboard.press(key)
        expect(hits).to_contain_text(f"{place} of 2 hits")
        expect(page.locator("#span-title")).to_have_text("execute_tool look_up")
    same_as_reloaded(page)

    expect(page.locator("#span mark")).to_have_count(0)
    expect(page.get_by_label("Find in arguments and result")).to_have_value("needle")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.locator("#span mark")).to_have_text("Needle")
    expect(page.locator("#span")).to_contain_text("One Needle here.")
    assert re.search("q=needle.*find=needle", page.url)


def test_the_same_without_scripts(turn: tuple[Studio, str], sign_in: SignIn) -> None:
    studio, path = turn
    page = sign_in(studio, java_script_enabled=False)
    page.goto(f"{studio.url}{path}?q=NEEDLE")

    page.get_by_role("link", name="Next").click()
    page.get_by_role("link", name="Next").click()
    expect(page.locator("#hits")).to_contain_text("2 of 2 hits")
    page.get_by_role("button", name="Find", exact=True).click()

    expect(page.locator("#span mark")).to_have_text("Needle")
