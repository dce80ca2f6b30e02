"""A trace opened in a real browser, in whatever program: until rows can be read, and what it costs.

Four ways: the trace's address with an empty cache, the same again with what the browser kept, a
click in the program's own list of traces, and one opening that is weighed. An opening that takes
longer than LIMIT is given up and counts as "more than" that; no way takes much longer than ROOM.

An opening ends in the frame in which the last row of a screenful has its place, which is what
Playwright calls visible; beside it stands when that frame was on the screen, as Element Timing
(W3C) tells it. A click begins with the press as the page got it. All of it is noted inside the
page: asking from outside whether a row is there would round each time up to the next asking.
"""

import asyncio
import json
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Playwright,
    StorageState,
)  # fmt: skip

from e2e.browser import launch_options

REPEATS = int(os.environ.get("BENCH_REPEATS", "7"))
LIMIT = float(os.environ.get("BENCH_LIMIT", "60"))  # seconds
ROOM = LIMIT
SOON = 5.0  # seconds
AT_REST = 0.5  # seconds that a list is left alone before the click
WINDOW: Any = {"width": 1280, "height": 900}
PLACE = 14  # of the row that is waited for: the last that such a window shows of ours
SEEN = "row seen "
WATCH = """
([selector, place, seen]) => {
  const at = moment => performance.timeOrigin + moment;
  const pressed = event => sessionStorage.setItem("pressed", at(event.timeStamp));
  addEventListener("click", pressed, true);
  let visible;
  new PerformanceObserver(list => {
    for (const { identifier, renderTime } of list.getEntries()) {
      if (identifier !== "row") continue;
      const times = [+sessionStorage.getItem("pressed"), visible, at(renderTime)];
      console.info(seen + JSON.stringify(times));
    }
  }).observe({ type: "element", buffered: true });
  const watch = new MutationObserver(() => {
    const row = document.querySelectorAll(selector)[place];
    if (!row) return;
    watch.disconnect();
    for (const one of [row, ...row.querySelectorAll("*")]) one.setAttribute("elementtiming", "row");
    const look = () => {
      if (row.getBoundingClientRect().height) visible = at(performance.now());
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  });
  watch.observe(document, { childList: true, subtree: true });
}
"""

Moments = tuple[float, float]  # ms until visible, and until painted
NEVER: Moments = (LIMIT * 1000, LIMIT * 1000)


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that shows the same traces.

    `link` is the address of a trace by its size, `list` that of the page from which it is opened
    by a click on `opener` (a selector, by size), `row` a CSS selector of what has the words of a
    row. `signed_in` is what a browser keeps of a sign-in.
    """

    name: str
    link: Callable[[int], str]
    list: str
    opener: Callable[[int], str]
    row: str
    signed_in: StorageState | None = None


@dataclass(frozen=True)
class Times:
    """Milliseconds until visible of each opening, and until painted; one that was given up counts
    as LIMIT."""

    values: tuple[float, ...]
    painted: tuple[float, ...]

    @property
    def median(self) -> float:
        """Of all openings."""
        return statistics.median(self.values)

    @property
    def on_screen(self) -> str:
        """The median until painted, in words."""
        return f"painted {statistics.median(self.painted):,.0f}"

    @property
    def is_over(self) -> bool:
        """Half of the openings or more were given up, so the median is a lower bound."""
        return self.median >= LIMIT * 1000

    def __str__(self) -> str:
        many = f"n = {len(self.values)}, slowest {max(self.values):,.0f}, {self.on_screen}"
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

        async def cold() -> Moments:
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


async def _times(act: Callable[[], Awaitable[Moments]]) -> Times:
    """REPEATS times, or until one is given up or the room is used up."""
    found, end = list[Moments](), time.monotonic() + ROOM
    while len(found) < REPEATS and (not found or time.monotonic() < end):
        visible, painted = await act()
        found.append((min(visible, LIMIT * 1000), min(painted, LIMIT * 1000)))
        if visible >= LIMIT * 1000:
            break
    return Times(*zip(*found, strict=True))


async def _by_link(context: BrowserContext, of: Peer, size: int) -> Moments:
    page = await _watched(context, of)
    try:
        async with asyncio.timeout(LIMIT), page.expect_console_message(_is_seen) as seen:
            began = time.time() * 1000
            await page.goto(of.link(size), wait_until="commit")
        _, visible, painted = _told(await seen.value)
        return visible - began, painted - began
    except TimeoutError:
        return NEVER
    finally:
        await _closed(page)


async def _by_click(context: BrowserContext, of: Peer, size: int) -> Moments:
    page = await _watched(context, of)
    try:
        async with asyncio.timeout(LIMIT):
            await page.goto(of.list, wait_until="commit")
            opener = page.locator(of.opener(size)).first
            await opener.wait_for()
        await asyncio.sleep(AT_REST)
        async with asyncio.timeout(LIMIT), page.expect_console_message(_is_seen) as seen:
            await opener.click(no_wait_after=True)
        pressed, visible, painted = _told(await seen.value)
        return visible - pressed, painted - pressed
    except TimeoutError:
        return NEVER
    finally:
        await _closed(page)


async def _watched(context: BrowserContext, of: Peer) -> Page:
    page = await context.new_page()
    await page.add_init_script(f"({WATCH})({json.dumps([of.row, PLACE, SEEN])})")
    return page


def _is_seen(message: ConsoleMessage) -> bool:
    return message.text.startswith(SEEN)


def _told(message: ConsoleMessage) -> tuple[float, float, float]:
    """When it was clicked, and when the row was visible and painted, in ms since 1970."""
    pressed, visible, painted = json.loads(message.text.removeprefix(SEEN))
    return float(pressed), float(visible), float(painted)


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
            await page.locator(of.row).nth(PLACE).wait_for()
            await asyncio.sleep(AT_REST)
            await network.send("HeapProfiler.collectGarbage")
            nodes = await page.evaluate("document.getElementsByTagName('*').length")
            heap = await network.send("Runtime.getHeapUsage")
    except TimeoutError:
        return None
    return Weight(
        bytes=sum(sizes), requests=len(asked), heap=float(heap["usedSize"]), nodes=float(nodes)
    )
