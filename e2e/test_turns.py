"""The trace of a turn: true while the turn moves, by keyboard, and without scripts."""

from playwright.sync_api import expect

from e2e.acts import LIVE, STAGING, approve, begin, card, ends, held, same_as_reloaded, visit
from e2e.conftest import SignIn
from e2e.studio import Studio


def test_a_trace_grows_with_its_turn_and_is_what_a_reload_shows(
    studio: Studio, sign_in: SignIn
) -> None:
    page, other = sign_in(studio), sign_in(studio)
    session_id = begin(studio, STAGING)
    held(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}/turns/1")
    expect(page.locator(LIVE)).to_be_visible()
    expect(page.get_by_role("link", name="wait approval")).to_have_count(1)

    visit(other, studio, session_id)
    approve(card(other, "publish_release"))
    expect(page.get_by_role("link", name="execute_tool publish_release")).to_be_visible()
    approve(card(other, "notify_team"))
    ends(studio, session_id)

    expect(page.get_by_role("link", name="execute_tool notify_team")).to_be_visible()
    expect(page.locator(".head .state")).to_have_text("completed")
    same_as_reloaded(page)


def test_a_span_is_opened_by_keyboard_and_stays_in_the_address(
    studio: Studio, sign_in: SignIn
) -> None:
    page = sign_in(studio)
    session_id = begin(studio, "Compare 4.1.0 and 4.2.0.")
    ends(studio, session_id)
    page.goto(f"{studio.url}/sessions/{session_id}/turns/1")
    expect(page.locator(LIVE)).to_be_visible()

    names = page.locator(".wf__link").all_inner_texts()
    for _ in range(names.index("execute_tool read_changelog") + 1):
        page.keyboard.press("j")
    page.keyboard.press("Enter")

    expect(page.locator("#span-title")).to_contain_text("execute_tool")
    assert "span=" in page.url
    expect(page.locator(".wf__row[aria-current]")).to_have_count(1)
    same_as_reloaded(page)
