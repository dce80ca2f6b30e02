"""A trace opened in a real browser, in whatever program: until rows can be read, and what it costs.

Four ways: the trace's address with an empty cache, the same again with what the browser kept, a
click in the program's own list of traces, and one opening that is weighed. An opening that takes
longer than LIMIT is given up and counts as "more than" that; no way takes much longer than ROOM.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, Playwright, StorageState

from e2e.browser import launch_options

REPEATS = int(os.environ.get("BENCH_REPEATS", "7"))
LIMIT = float(os.environ.get("BENCH_LIMIT", "60"))  # seconds
ROOM = LIMIT
SOON = 5.0  # seconds
AT_REST = 0.5  # seconds that a list is left alone before the click
WINDOW: Any = {"width": 1280, "height": 900}


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that shows the same traces.

    `link` is the address of a trace by its size, `list` that of the page from which it is opened
    by a click on `opener` (a selector, by size), `row` what is there once a screenful of rows can
    be read. `signed_in` is what a browser keeps of a sign-in.
    """

    name: str
    link: Callable[[int], str]
    list: str
    opener: Callable[[int], str]
    row: str
    signed_in: StorageState | None = None


@dataclass(frozen=True)
class Times:
    """Milliseconds of each opening; one that was given up counts as LIMIT."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of all openings."""
        return statistics.median(self.values)

    @property
    def is_over(self) -> bool:
        """Half of the openings or more were given up, so the median is a lower bound."""
        return self.median >= LIMIT * 1000

    def __str__(self) -> str:
        many = f"n = {len(self.values)}, slowest {max(self.values):,.0f}"
        return f"{'more than ' if self.is_over else ''}{self.median:,.0f} ms ({many})"


@dataclass(frozen=True, kw_only=True)
class Weight:
    """What one opening with an empty cache brought: bytes on the wire, requests, bytes of JS heap,
    elements of the DOM."""

    bytes: float
    requests: float
    heap: float
    nodes: float


@dataclass(frozen=True, kw_only=True)
class Openings:
    """One trace in one program. Where it never opened, `weight` is None and `again` is `link`."""

    link: Times
    again: Times
    click: Times
    weight: Weight | None


async def opened(playwright: Playwright, of: Peer, size: int) -> Openings:
    """Open the trace of so many spans in all ways, in a browser of its own."""
    browser = await playwright.chromium.launch(**launch_options())
    try:

        async def cold() -> float:
            context = await _context(browser, of)
            taken = await _by_link(context, of, size)
            await _closed(context)
            return taken

        link = await _times(cold)
        context = await _context(browser, of)
        again = None
        if not link.is_over:
            await _by_link(context, of, size)
            again = await _times(lambda: _by_link(context, of, size))
        click = await _times(lambda: _by_click(context, of, size))
        weight = None if link.is_over else await _weighed(browser, of, size)
        return Openings(link=link, again=again or link, click=click, weight=weight)
    finally:
        await browser.close()


async def _context(browser: Browser, of: Peer) -> BrowserContext:
    context = await browser.new_context(viewport=WINDOW, storage_state=of.signed_in)
    context.set_default_timeout(2 * LIMIT * 1000)  # ours comes first
    return context


async def _closed(what: Page | BrowserContext) -> None:
    """Closed, if that is soon: a page that is at work is left to the end of its browser."""
    with suppress(TimeoutError):
        async with asyncio.timeout(SOON):
            await what.close()


async def _times(act: Callable[[], Awaitable[float]]) -> Times:
    """REPEATS times, or until one is given up or the room is used up."""
    found, end = list[float](), time.monotonic() + ROOM
    while len(found) < REPEATS and (not found or time.monotonic() < end):
        found.append(min(await act(), LIMIT * 1000))
        if found[-1] >= LIMIT * 1000:
            break
    return Times(tuple(found))


async def _by_link(context: BrowserContext, of: Peer, size: int) -> float:
    page = await context.new_page()
    began = time.perf_counter()
    try:
        async with asyncio.timeout(LIMIT):
            await page.goto(of.link(size), wait_until="commit")
            await page.locator(of.row).wait_for()
            return (time.perf_counter() - began) * 1000
    except TimeoutError:
        return LIMIT * 1000
    finally:
        await _closed(page)


async def _by_click(context: BrowserContext, of: Peer, size: int) -> float:
    page = await context.new_page()
    try:
        async with asyncio.timeout(LIMIT):
            await page.goto(of.list, wait_until="commit")
            opener = page.locator(of.opener(size)).first
            await opener.wait_for()
        await asyncio.sleep(AT_REST)
        async with asyncio.timeout(LIMIT):
            began = time.perf_counter()
            await opener.click(no_wait_after=True)
            await page.locator(of.row).wait_for()
            return (time.perf_counter() - began) * 1000
    except TimeoutError:
        return LIMIT * 1000
    finally:
        await _closed(page)


async def _weighed(browser: Browser, of: Peer, size: int) -> Weight | None:
    """One opening with an empty cache; what is counted is counted a moment after its rows came."""
    context = await _context(browser, of)
    page = await context.new_page()
    try:
        network = await context.new_cdp_session(page)
        sizes, asked = list[int](), list[str]()

        def ended(event: dict[str, Any]) -> None:
            sizes.append(int(event["encodedDataLength"]))

        network.on("Network.loadingFinished", ended)
        network.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
        async with asyncio.timeout(2 * LIMIT):
            await network.send("Network.enable")
            await page.goto(of.link(size), wait_until="commit")
            await page.locator(of.row).wait_for()
            await asyncio.sleep(AT_REST)
            await network.send("HeapProfiler.collectGarbage")
            nodes = await page.evaluate("document.getElementsByTagName('*').length")
            heap = await network.send("Runtime.getHeapUsage")
    except TimeoutError:
        return None
    return Weight(
        bytes=sum(sizes), requests=len(asked), heap=float(heap["usedSize"]), nodes=float(nodes)
    )
