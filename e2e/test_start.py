"""When the scripts of a page begin: its first frame waits for none of what others wrote."""

from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from e2e.acts import HIDING, LIVE
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
