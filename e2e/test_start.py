"""When the scripts of a page begin: its first frame waits for none of what others wrote."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from e2e.acts import HIDING, LIVE, begin, ends
from e2e.conftest import SignIn
from e2e.studio import Studio

# What the browser had painted at the moment at which htmx begins, and what htmx was until then.
NOTES = """
addEventListener("studio:begin", () => {
  window.painted = performance.getEntriesByName("first-contentful-paint").length;
  window.before = typeof window.htmx;
}, { capture: true });
"""
SILENT = "PerformanceObserver.prototype.observe = () => {};"
NEVER = (
    NOTES + "setTimeout = (later => (act, ms) => later(act, ms === 200 ? 1e9 : ms))(setTimeout);"
)


def noted(context: BrowserContext, studio: Studio, script: str = "") -> dict[str, Any]:
    """What a page noted, once htmx has looked through it."""
    page = context.new_page()
    page.add_init_script(NOTES + script)
    page.goto(f"{studio.url}/sessions")
    page.wait_for_function("() => window.htmx && document.querySelector('[data-htmx-powered]')")
    if not script:
        expect(page.locator(LIVE)).to_be_visible()
    found: dict[str, Any] = page.evaluate("() => ({ painted, before })")
    page.close()
    return found


def test_htmx_begins_when_the_first_frame_is_on_the_screen(studio: Studio, sign_in: SignIn) -> None:
    found = noted(sign_in(studio).context, studio)

    assert found == {"painted": 1, "before": "undefined"}


@pytest.mark.parametrize("script", [SILENT, HIDING % "true"], ids=["untold", "hidden"])
def test_where_nobody_tells_of_a_frame_htmx_begins_all_the_same(
    studio: Studio, sign_in: SignIn, script: str
) -> None:
    found = noted(sign_in(studio).context, studio, script)

    assert found["before"] == "undefined"


@pytest.mark.parametrize("press", ["key", "click"])
def test_what_is_pressed_before_htmx_is_there_is_pressed_once_it_is(
    studio: Studio, sign_in: SignIn, press: str
) -> None:
    session_id = begin(studio, "call look {}")
    ends(studio, session_id)
    page = sign_in(studio)
    page.add_init_script(SILENT + NEVER)
    page.goto(f"{studio.url}/sessions/{session_id}/turns/1?q=chat")
    page.evaluate("() => { window.kept = true; }")

    if press == "key":
        page.keyboard.press("n")
    else:
        page.get_by_role("link", name="Next").click()

    expect(page.locator("#hits")).to_contain_text("1 of ")
    expect(page.locator(":focus")).to_contain_text("chat")
    assert page.evaluate("() => window.kept && window.before") == "undefined"  # the same page
