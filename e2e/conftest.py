"""A studio of one's own, a browser for all, and a page that fails its test when it complains."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from e2e.browser import launch_options
from e2e.studio import Studio

expect.set_options(timeout=15_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for the whole run; each test opens contexts of its own."""
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(**launch_options())
        yield found
        found.close()


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """A studio with the demo, for the tests of one file."""
    with Studio.new() as found:
        yield found


@pytest.fixture
def own_studio() -> Iterator[Studio]:
    """A studio for one test alone, which may kill it."""
    with Studio.new() as found:
        yield found


SignIn = Callable[..., Page]


@pytest.fixture
def sign_in(browser: Browser) -> Iterator[SignIn]:
    """Open a page signed in as somebody. What the page complains of fails the test."""
    opened: list[BrowserContext] = []
    complaints: list[str] = []

    def go(studio: Studio, person: str = "ann", role: str = "admin", **options: object) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})  # type: ignore[arg-type]
        opened.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("console", lambda said: said.type == "error" and complaints.append(said.text))
        page.goto(studio.link(person, role))
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.complaints = complaints  # type: ignore[attr-defined]
        return page

    yield go
    for context in opened:
        context.close()
    ours = [text for text in complaints if "Failed to load resource" not in text
            and "ERR_CONNECTION" not in text and "net::" not in text]  # fmt: skip
    assert ours == []
