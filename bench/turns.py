"""Turns a second with 200 sessions at once, and the 10,000th turn of a session against the 10th."""

import asyncio
import os
import statistics
import time

from bench import embedded
from bench.figures import Figure
from studio import app

SESSIONS = 200
EACH = 10
PAIRS = 100
LONG = int(os.environ.get("BENCH_LONG_TURNS", "10000"))


async def run() -> list[Figure]:
    """Both figures, each in a store of its own."""
    return [*await _many(), *await _long()]


async def _many() -> list[Figure]:
    async with embedded.running() as (built, ends):
        sessions = [
            (await built.runtime.start_session(app.STUDIO, agent="bench", title=f"s{n}")).session_id
            for n in range(SESSIONS)
        ]
        await asyncio.gather(*(ends.turn(one) for one in sessions))  # warm
        began = time.perf_counter()
        await asyncio.gather(*(_some(ends, one, EACH) for one in sessions))
        took = time.perf_counter() - began
    rate = SESSIONS * EACH / took
    note = f"{SESSIONS} sessions at once, {EACH} turns each, SQLite FULL"
    return [Figure(name="turns a second", value=rate, unit="1/s", least=200, note=note)]


async def _some(ends: embedded.Ends, session_id: str, count: int) -> None:
    for _ in range(count):
        await ends.turn(session_id)


async def _long() -> list[Figure]:
    async with embedded.running() as (built, ends):
        started = await built.runtime.start_session(app.STUDIO, agent="bench", title="long")
        for _ in range(LONG - PAIRS):
            await ends.turn(started.session_id)
        early, late = list[float](), list[float]()
        for _ in range(PAIRS):  # side by side, so that both have the same machine and store
            young = await built.runtime.start_session(app.STUDIO, agent="bench", title="young")
            await _some(ends, young.session_id, 9)
            early.append(await _timed(ends, young.session_id))
            late.append(await _timed(ends, started.session_id))
    tenth, last = statistics.median(early), statistics.median(late)
    note = f"{tenth * 1000:.1f} ms at the 10th, {last * 1000:.1f} ms at the {LONG:,}th, in pairs"
    return [
        Figure(name=f"turn {LONG:,} against turn 10", value=last / tenth, unit="×", most=1.2,
               note=note)
    ]  # fmt: skip


async def _timed(ends: embedded.Ends, session_id: str) -> float:
    began = time.perf_counter()
    await ends.turn(session_id)
    return time.perf_counter() - began
