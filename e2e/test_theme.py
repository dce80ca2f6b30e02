"""The theme a person chose: there from the first byte of every page, and gone with the sign-in."""

from playwright.sync_api import Page, expect

from e2e.acts import LIVE, begin, ends, look
from e2e.conftest import SignIn
from e2e.studio import Studio

COLOUR = "getComputedStyle(document.body).color"
LINE = "node => getComputedStyle(node).borderBlockEndColor"
CURRENT, OTHER = ".tabs a[aria-current]", ".tabs a:not([aria-current])"


def worn(page: Page, url: str) -> str | None:
    """What the answer itself says, before any script runs in it."""
    answer = page.goto(url)
    assert answer is not None
    for theme in ("light", "dark"):
        if f'data-theme="{theme}"' in answer.text().partition("<head>")[0]:
            return theme
    return None


def test_a_theme_is_worn_from_the_first_byte_on(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio)
    page.emulate_media(color_scheme="light")
    look(page, studio, "/sessions")
    switch, light = page.locator("[data-theme-switch]"), page.evaluate(COLOUR)
    expect(switch).to_contain_text("system")

    switch.click()
    expect(switch).to_contain_text("light")
    switch.click()
    expect(switch).to_contain_text("dark")
    dark = page.evaluate(COLOUR)

    assert dark != light
    beside = page.context.new_page()
    for url in (f"{studio.url}/sessions", f"{studio.url}/nowhere", f"{studio.url}/policy"):
        assert worn(beside, url) == "dark", url
        assert beside.evaluate(COLOUR) == dark, url
    expect(beside.locator("[data-theme-switch]")).to_contain_text("dark")

    beside.locator("[data-theme-switch]").click()  # back to what the system says
    assert worn(beside, f"{studio.url}/sessions") is None
    assert [one for one in page.context.cookies() if one.get("name") == "studio-theme"] == []
    page.reload()
    expect(page.locator(LIVE)).to_be_visible()
    assert page.evaluate(COLOUR) == light


def test_a_theme_is_gone_with_the_sign_in(studio: Studio, sign_in: SignIn) -> None:
    page = sign_in(studio, person="ted")
    look(page, studio, "/sessions")
    page.locator("[data-theme-switch]").click()
    assert "studio-theme" in {one.get("name") for one in page.context.cookies()}

    page.get_by_role("button", name="Sign out").click()

    expect(page.get_by_role("heading", level=1)).to_contain_text("Sign in")
    assert page.context.cookies() == []
    assert page.locator("html").get_attribute("data-theme") is None


def test_where_colours_are_forced_the_current_tab_and_drawn_words_stand_out(
    studio: Studio, sign_in: SignIn
) -> None:
    session_id = begin(studio, "say hello")
    ends(studio, session_id)
    page = sign_in(studio)
    page.emulate_media(color_scheme="dark", forced_colors="active")
    look(page, studio, f"/sessions/{session_id}?panel=usage")
    lines = [page.locator(tab).first.evaluate(LINE) for tab in (CURRENT, OTHER)]

    look(page, studio, f"/sessions/{session_id}/turns/1")
    drawn = page.locator(".wf__ticks text").first.evaluate("node => getComputedStyle(node).fill")

    assert lines[0] == page.evaluate(COLOUR) == drawn
    assert lines[1] == page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
