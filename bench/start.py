"""From the start of `studio serve` to its first page, and what it weighs in memory at rest."""

import statistics
import time
import urllib.request
from pathlib import Path

from bench.figures import Figure
from e2e.studio import Studio, until

REPEATS = 7


async def run() -> list[Figure]:
    """Median start of a store that exists, and resident memory after a page and a rest."""
    times, memory = [], []
    for _ in range(REPEATS):
        # as people start it: what Python compiled at the first start is there at the next
        with Studio.new(command="serve", PYTHONDONTWRITEBYTECODE="") as studio:
            studio.stop()
            began = time.perf_counter()
            studio.start()
            until(lambda at=studio.url: _answers(at), what="the first page")
            times.append(time.perf_counter() - began)
            time.sleep(2.0)
            memory.append(_resident(studio))
    note = f"n = {REPEATS}, SQLite, `studio serve`"
    return [
        Figure(name="start to first page", value=statistics.median(times), unit="s", most=1.2,
               note=note),
        Figure(name="idle memory", value=statistics.median(memory), unit="MB", most=90, note=note),
    ]  # fmt: skip


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/sign-in", timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _resident(studio: Studio) -> float:
    assert studio.process is not None, "it runs"
    for line in Path(f"/proc/{studio.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise LookupError("no VmRSS")
