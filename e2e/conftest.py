"""A studio of one's own, a browser for all, and pages that fail their test when they complain."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from e2e.browser import launch_options
from e2e.studio import Studio
from e2e.wire import Wire

PATIENCE = 20_000  # ms: what takes longer is broken, also on a busy machine

# Begun first, for the same reason as tests/conftest.py has it.
LONGEST = (
    "test_accessibility.py", "test_live.py", "test_environments.py", "test_keyboard.py",
    "test_disks.py", "test_without_javascript.py", "test_plugins.py", "test_hostile.py",
)  # fmt: skip

expect.set_options(timeout=PATIENCE)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first; the others stay as they are, and so does the order in each."""
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


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
    """A studio for one test alone, which may kill it or change its rules."""
    with Studio.new() as found:
        yield found


@pytest.fixture
def wire() -> Wire:
    """What the pages of this test send and complain of."""
    return Wire()


Open = Callable[..., BrowserContext]
SignIn = Callable[..., Page]
Look = Callable[[Studio], Page]


@pytest.fixture
def context(browser: Browser, wire: Wire) -> Iterator[Open]:
    """Open a browser with nothing in it. What its pages complain of fails the test."""
    with _opening(browser, wire) as go:
        yield go
    assert wire.faults() == []


@pytest.fixture
def sign_in(context: Open) -> SignIn:
    """A page signed in as somebody; who signed in to this studio before comes with their cookie."""
    return _signing_in(context)


@pytest.fixture(scope="module")
def windows(browser: Browser) -> Iterator[tuple[Wire, Look]]:
    """One window a studio, open through the tests of a file."""
    wire, found = Wire(), dict[str, Page]()
    with _opening(browser, wire) as go:
        sign_in = _signing_in(go)

        def look(studio: Studio) -> Page:
            return found.get(studio.url) or found.setdefault(studio.url, sign_in(studio))

        yield wire, look


@pytest.fixture
def window(windows: tuple[Wire, Look]) -> Iterator[Look]:
    """A window signed in as ann for tests that only look; opening one costs more than a look."""
    wire, look = windows

    def go(studio: Studio) -> Page:
        page = look(studio)
        page.goto("about:blank")
        page.emulate_media(color_scheme="null", reduced_motion="null")
        return page

    yield go
    faults, wire.complaints = wire.faults(), []
    assert faults == []


@contextmanager
def _opening(browser: Browser, wire: Wire) -> Iterator[Open]:
    """What opens browsers that this wire hears; they are closed behind the block."""
    opened: list[BrowserContext] = []

    def go(studio: Studio, **options: object) -> BrowserContext:
        wanted = {"viewport": {"width": 1280, "height": 800}, "timezone_id": "Europe/Berlin"}
        made = browser.new_context(**{**wanted, **options})  # type: ignore[arg-type]
        made.set_default_timeout(PATIENCE)
        wire.origins.add(studio.url.partition("://")[2])
        wire.listen(made)
        opened.append(made)
        return made

    yield go
    for made in opened:
        made.close()


def _signing_in(context: Open) -> SignIn:
    def go(studio: Studio, person: str = "ann", role: str = "admin", **options: object) -> Page:
        who = (person, role)
        made = context(studio, storage_state=studio.kept.get(who), **options)
        page = made.new_page()
        if who not in studio.kept:
            page.goto(studio.link(person, role))
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("heading", name="Home", level=1)).to_be_visible()
            studio.kept[who] = made.storage_state()
        return page

    return go
