"""A turn of 100 to 20,000 spans, opened by link and by a click inside the app, in a real browser.

Server times are whole requests on loopback. BENCH_SPANS names other sizes (comma between them);
BENCH_TRACES a folder that is kept, so that turns made once are there the next time (20,000 spans
take some minutes to make). Another program can be measured beside it: see `Peer`.
"""

import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import BrowserContext, Page, async_playwright

from bench import stories
from bench.embedded import AGENT
from bench.figures import Figure
from e2e.browser import launch_options
from e2e.studio import Studio
from studio import app
from studio.core.rules import ids
from studio.core.store import raw
from studio.settings import Settings

SIZES = tuple(int(one) for one in os.environ.get("BENCH_SPANS", "100,1000,10000,20000").split(","))
REPEATS = 7
FIRST_MS, FIRST_KB, SPAN_MS = 500, 150, 100  # DESIGN's numbers at 20,000
VISIBLE_MS = 400  # at 1,000


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A program that shows the same traces.

    `link` is the address of a trace by its size, `list` that of the page from which it is opened
    by a click on `opener` (a selector, by size), `row` what is there once rows can be read.
    """

    name: str
    link: Callable[[int], str]
    list: str
    opener: Callable[[int], str]
    row: str


async def run() -> list[Figure]:
    """Every size, ours; the numbers that must be reached are at 1,000 and 20,000."""
    found = list[Figure]()
    async with _studio() as (studio, sessions):
        ours = Peer(
            name="studio", link=lambda n: f"{studio.url}/sessions/{sessions[n]}/turns/1",
            list=f"{studio.url}/traces", row=".wf__row[data-row] >> nth=40",
            opener=lambda n: f'a[href*="{sessions[n]}/turns/1"]',
        )  # fmt: skip
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(**launch_options())
            context = await browser.new_context(viewport={"width": 1280, "height": 900})
            page = await context.new_page()
            await page.goto(studio.link())
            await page.get_by_role("button", name="Sign in").click()
            await page.wait_for_url(f"{studio.url}/")
            for size in SIZES:
                found += await _served(context, ours, size)
                found += await opened(context, ours, size)
            await browser.close()
    return found


@asynccontextmanager
async def _studio() -> AsyncIterator[tuple[Studio, dict[int, str]]]:
    """A studio over a store that has a turn of every size; ids of their sessions."""
    kept = os.environ.get("BENCH_TRACES", "")
    with tempfile.TemporaryDirectory(prefix="studio-bench-") as made:
        folder = Path(kept or made)
        folder.mkdir(mode=0o700, exist_ok=True)
        sessions = await _filled(folder)
        studio = Studio(data=folder).start()
        try:
            yield studio, sessions
        finally:
            studio.stop()


async def _filled(folder: Path) -> dict[int, str]:
    settings, found = Settings.from_env({"STUDIO_DATA": str(folder), "HOME": str(folder)}), {}
    app.migrate(settings)
    async with app.parts(settings) as built:
        await built.runtime.save_agent(app.STUDIO, AGENT)
        for size in SIZES:
            found[size] = stories.session_of(size)
            if not await built.db.read(partial(_is_there, session_id=found[size])):
                began = time.perf_counter()
                await stories.turn(built.db, AGENT["name"], size)
                print(
                    f"     {size:,} spans made in {time.perf_counter() - began:,.0f} s", flush=True
                )
    return found


def _is_there(conn: Any, session_id: str) -> bool:
    return raw.one(conn, "SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is not None


async def _served(context: BrowserContext, of: Peer, size: int) -> list[Figure]:
    """What the server takes for the rows, the first time and again, and for one span."""
    cookies = {one["name"]: one["value"] for one in await context.cookies()}  # type: ignore[typeddict-item]
    turn = f"trn_{ids.core(stories.session_of(size))}"
    call = ids.call_effect(turn, max(1, size // 10), 1)
    headers = {"HX-Request": "true", "Accept-Encoding": "gzip"}
    async with httpx.AsyncClient(cookies=cookies, headers=headers, timeout=60) as http:
        first = await _asked(http, f"{of.link(size)}?region=trace")
        again = [await _asked(http, f"{of.link(size)}?region=trace") for _ in range(REPEATS)]
        span = [
            await _asked(http, f"{of.link(size)}?region=span&of={call}") for _ in range(REPEATS)
        ]
        find = [await _asked(http, f"{of.link(size)}?region=trace&q=order") for _ in range(3)]
    name, is_most = f"{size:,} spans", size == 20_000
    return [
        Figure(name=f"{name}: rows, server, first time", value=first, unit="ms"),
        Figure(name=f"{name}: rows, server, again", value=statistics.median(again), unit="ms",
               note=f"n = {REPEATS}, slowest {max(again):,.0f} ms"),
        Figure(name=f"{name}: one span, server", value=statistics.median(span), unit="ms",
               most=SPAN_MS if is_most else None, note=f"n = {REPEATS}"),
        Figure(name=f"{name}: search in payloads, server", value=statistics.median(find), unit="ms",
               note="n = 3"),
    ]  # fmt: skip


async def _asked(http: httpx.AsyncClient, url: str) -> float:
    began = time.perf_counter()
    answer = await http.get(url)
    assert answer.status_code == 200, answer.text[:500]
    return (time.perf_counter() - began) * 1000


async def opened(context: BrowserContext, of: Peer, size: int) -> list[Figure]:
    """Until rows can be read, by link and by a click; what came over the wire; what is held."""
    link = [await _by_link(context, of, size) for _ in range(REPEATS)]
    click = [await _by_click(context, of, size) for _ in range(REPEATS)]
    weight = await _weighed(context, of, size)
    most = {1_000: VISIBLE_MS, 20_000: FIRST_MS}.get(size)
    name = f"{of.name}, {size:,} spans"
    return [
        Figure(name=f"{name}: first rows by link", value=statistics.median(link), unit="ms",
               most=most, note=f"n = {REPEATS}, slowest {max(link):,.0f} ms"),
        Figure(name=f"{name}: first rows by a click", value=statistics.median(click), unit="ms",
               note=f"n = {REPEATS}"),
        Figure(name=f"{name}: the page on the wire", value=weight["bytes"] / 1e3, unit="kB",
               most=FIRST_KB if size == 20_000 else None, note="with style and script, cold cache"),
        Figure(name=f"{name}: requests", value=weight["requests"], unit=""),
        Figure(name=f"{name}: JS heap", value=weight["heap"] / 1e6, unit="MB"),
        Figure(name=f"{name}: DOM elements", value=weight["nodes"], unit=""),
    ]  # fmt: skip


async def _by_link(context: BrowserContext, of: Peer, size: int) -> float:
    page = await context.new_page()
    began = time.perf_counter()
    await page.goto(of.link(size), wait_until="commit")
    await page.locator(of.row).wait_for()
    taken = (time.perf_counter() - began) * 1000
    await page.close()
    return taken


async def _by_click(context: BrowserContext, of: Peer, size: int) -> float:
    page = await context.new_page()
    await page.goto(of.list)
    opener = page.locator(of.opener(size)).first
    await opener.wait_for()
    began = time.perf_counter()
    await opener.click(no_wait_after=True)
    await page.locator(of.row).wait_for()
    taken = (time.perf_counter() - began) * 1000
    await page.close()
    return taken


async def _weighed(context: BrowserContext, of: Peer, size: int) -> dict[str, float]:
    """One opening with an empty cache: bytes, requests; then heap and nodes of the page."""
    page: Page = await context.new_page()
    network = await context.new_cdp_session(page)
    sizes, asked = list[int](), list[str]()

    def ended(event: dict[str, Any]) -> None:
        sizes.append(int(event["encodedDataLength"]))

    network.on("Network.loadingFinished", ended)
    network.on("Network.requestWillBeSent", lambda event: asked.append(event["request"]["url"]))
    await network.send("Network.enable")
    await network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await page.goto(of.link(size))
    await page.locator(of.row).wait_for()
    await network.send("HeapProfiler.collectGarbage")
    nodes = await page.evaluate("document.getElementsByTagName('*').length")
    heap = await network.send("Runtime.getHeapUsage")
    await page.close()
    return {
        "bytes": sum(sizes), "requests": len(asked), "heap": float(heap["usedSize"]),
        "nodes": float(nodes),
    }  # fmt: skip
