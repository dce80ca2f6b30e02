"""A turn of 100 to 20,000 spans, opened in a real browser: by link and by a click inside the app.

The same spans are opened four times over: as a turn of ours, as a trace that came from outside, and
in Phoenix, where `make test-phoenix` has installed one. At the end it is measured how many spans a
second each takes in until they can be asked for. Server times are whole requests on loopback.

BENCH_SIZES names other sizes (comma between them), BENCH_REPEATS how often each is opened,
BENCH_LIMIT the seconds after which an opening is given up; BENCH_TRACES is a folder that is kept,
so that turns made once are there the next time.
"""

import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from playwright.async_api import Playwright, StorageState, async_playwright

from bench import phoenix, stories, traces_in
from bench.embedded import AGENT
from bench.figures import Figure
from bench.openings import LIMIT, REPEATS, WINDOW, Openings, Peer, Times, opened
from e2e import phoenix as real
from e2e.browser import launch_options
from e2e.studio import Studio
from studio import __version__, app
from studio.core.rules import ids
from studio.core.store import raw
from studio.core.telemetry import messages
from studio.settings import Settings

SIZES = tuple(int(one) for one in os.environ.get("BENCH_SIZES", "100,1000,10000,20000").split(","))
FIRST_MS, FIRST_KB, SPAN_MS = 500, 150, 100  # DESIGN's numbers at 20,000
VISIBLE_MS = 400  # at 1,000
LINK, CLICK = 30, 15  # times faster than Phoenix, at 1,000
MOST = {1_000: VISIBLE_MS, 20_000: FIRST_MS}
ROW = ".wf__row[data-row] .wf__link"


async def run() -> list[Figure]:
    """Every size in every program; the numbers that must be reached are at 1,000 and 20,000."""
    async with _studio() as (studio, sessions):
        bodies, traces = _told(studio, sessions)
        _sent_outside(studio, bodies)
        program = real.python()
        if program is None:
            _say("no Phoenix: make test-phoenix installs one")
            return await _compared(studio, sessions, traces, None)
        with real.phoenix(program) as client:
            took = phoenix.filled(client, bodies, sum(SIZES))
            _say(f"{sum(SIZES):,} spans sent to Phoenix, until queryable, in {took:,.0f} s")
            found = await _compared(studio, sessions, traces, phoenix.peer(client, traces))
            theirs = await phoenix.taken_in(client, traces_in.SPANS)
    ours = (await traces_in.run())[0]
    return [
        *found, ours, theirs,
        Figure(name="taken in: ours over Phoenix's", value=ours.value / theirs.value, unit="×"),
    ]  # fmt: skip


async def _compared(
    studio: Studio, sessions: dict[int, str], traces: dict[int, str], other: Peer | None
) -> list[Figure]:
    found = list[Figure]()
    async with async_playwright() as playwright:
        signed_in = await _signed_in(playwright, studio)
        turn = Peer(
            name="studio", link=lambda n: f"{studio.url}/sessions/{sessions[n]}/turns/1",
            list=f"{studio.url}/traces", row=ROW, signed_in=signed_in,
            opener=lambda n: f'a[href*="{sessions[n]}/turns/1"]',
        )  # fmt: skip
        outside = Peer(
            name="from outside", link=lambda n: f"{studio.url}/traces/{traces[n]}",
            list=f"{studio.url}/traces/outside", row=ROW, signed_in=signed_in,
            opener=lambda n: f'a[href="/traces/{traces[n]}"]',
        )  # fmt: skip
        for size in SIZES:
            found += await _served(signed_in, turn, size)
            seen = [await opened(playwright, of, size) for of in (turn, outside)]
            theirs = await opened(playwright, other, size) if other else None
            found += _figures(size, *seen, theirs)
            _say(f"{size:,} spans opened")
    return found


def _figures(
    size: int, turn: Openings, outside: Openings, theirs: Openings | None
) -> Iterator[Figure]:
    """Ours as the value, the others in the note; ratios as figures of their own."""
    ways = {
        "by link, empty cache": (turn.link, outside.link, theirs and theirs.link, LINK),
        "by link, again": (turn.again, outside.again, theirs and theirs.again, None),
        "by a click": (turn.click, outside.click, theirs and theirs.click, CLICK),
    }
    for way, (ours, taken, other, least) in ways.items():
        yield Figure(
            name=f"{size:,} spans: first rows {way}", value=ours.median, unit="ms",
            most=None if way == "by a click" else MOST.get(size),
            note=f"{_many(ours)}; from outside {taken}; Phoenix {other or 'not here'}",
        )  # fmt: skip
        if other is not None:
            yield Figure(
                name=f"{size:,} spans: {way}, Phoenix over ours",
                value=other.median / ours.median, unit="×",
                least=least if size == 1_000 else None,
                note=("Phoenix's is a lower bound; " if other.is_over else "")
                + f"from outside {other.median / taken.median:,.1f} ×",
            )  # fmt: skip
    yield from _weights(size, turn, outside, theirs)


def _weights(
    size: int, turn: Openings, outside: Openings, theirs: Openings | None
) -> Iterator[Figure]:
    assert turn.weight is not None, "ours opens"
    rows = (
        ("on the wire", "bytes", 1e3, "kB"), ("requests", "requests", 1, ""),
        ("JS heap", "heap", 1e6, "MB"), ("DOM elements", "nodes", 1, ""),
    )  # fmt: skip
    for name, of, unit, word in rows:
        ours, *others = (
            getattr(one.weight, of) / unit if one is not None and one.weight is not None else None
            for one in (turn, outside, theirs)
        )
        taken, other = ("not known" if one is None else f"{one:,.1f} {word}" for one in others)
        yield Figure(
            name=f"{size:,} spans: {name}", value=ours or 0.0, unit=word,
            most=FIRST_KB if size == 20_000 and of == "bytes" else None,
            note=f"from outside {taken}; Phoenix {other}",
        )  # fmt: skip


def _many(times: Times) -> str:
    return f"n = {len(times.values)}, slowest {max(times.values):,.0f}, {times.on_screen}"


async def _signed_in(playwright: Playwright, studio: Studio) -> StorageState:
    """What a browser keeps of a sign-in."""
    browser = await playwright.chromium.launch(**launch_options())
    context = await browser.new_context(viewport=WINDOW)
    page = await context.new_page()
    await page.goto(studio.link())
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{studio.url}/")
    kept = await context.storage_state()
    await browser.close()
    return kept


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
                _say(f"{size:,} spans made in {time.perf_counter() - began:,.0f} s")
    return found


def _is_there(conn: Any, session_id: str) -> bool:
    return raw.one(conn, "SELECT 1 FROM sessions WHERE id = ?", (session_id,)) is not None


def _told(studio: Studio, sessions: dict[int, str]) -> tuple[list[bytes], dict[int, str]]:
    """All turns as requests of OTLP's protobuf, and the ids of their traces by size."""
    bodies, traces = list[bytes](), dict[int, str]()
    for size, session_id in sessions.items():
        told = studio.api.sessions.trace(session_id, 1)
        spans = told["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert len(spans) == size, f"{len(spans)} spans, not {size}"
        traces[size] = spans[0]["traceId"]
        for start in range(0, size, traces_in.REQUEST):
            some = map(messages.span, spans[start : start + traces_in.REQUEST])
            bodies.append(messages.request(some, version=__version__, service="operator-studio"))
    return bodies, traces


def _sent_outside(studio: Studio, bodies: list[bytes]) -> None:
    """Send them to the studio itself, as another agent's."""
    key = (studio.data / "cli.key").read_text().strip()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": messages.MEDIA}
    with httpx.Client(base_url=studio.url, headers=headers, timeout=LIMIT) as http:
        for body in bodies:
            answer = http.post(traces_in.PATH, content=body)
            answer.raise_for_status()
            assert messages.refused(answer.content) == (0, ""), messages.refused(answer.content)


async def _served(signed_in: StorageState, of: Peer, size: int) -> list[Figure]:
    """What the server takes for the rows, the first time and again, and for one span."""
    cookies = {one["name"]: one["value"] for one in signed_in["cookies"]}
    turn = f"trn_{ids.core(stories.session_of(size))}"
    call = ids.call_effect(turn, max(1, size // 10), 1)
    headers = {"HX-Request": "true", "Accept-Encoding": "gzip"}
    async with httpx.AsyncClient(cookies=cookies, headers=headers, timeout=60) as http:
        first = await _asked(http, f"{of.link(size)}?region=trace")
        again = [await _asked(http, f"{of.link(size)}?region=trace") for _ in range(REPEATS)]
        span = [
            await _asked(http, f"{of.link(size)}?region=span&of={call}") for _ in range(REPEATS)
        ]
        looks = [f"{of.link(size)}?region=trace&q={word}" for word in ("order", "ledger", "zebra")]
        find = [await _asked(http, look) for look in looks]
        more = await _asked(http, looks[-1])
    name, is_most = f"{size:,} spans", size == 20_000
    return [
        Figure(name=f"{name}: rows, server, first time", value=first, unit="ms"),
        Figure(name=f"{name}: rows, server, again", value=statistics.median(again), unit="ms",
               note=f"n = {REPEATS}, slowest {max(again):,.0f} ms"),
        Figure(name=f"{name}: one span, server", value=statistics.median(span), unit="ms",
               most=SPAN_MS if is_most else None, note=f"n = {REPEATS}"),
        Figure(name=f"{name}: search in payloads, server", value=statistics.median(find), unit="ms",
               note="n = 3, each for another word"),
        Figure(name=f"{name}: the same search again, server", value=more, unit="ms"),
    ]  # fmt: skip


async def _asked(http: httpx.AsyncClient, url: str) -> float:
    began = time.perf_counter()
    answer = await http.get(url)
    assert answer.status_code == 200, answer.text[:500]
    return (time.perf_counter() - began) * 1000


def _say(words: str) -> None:
    """How far it is."""
    print(f"     {words}", flush=True)
