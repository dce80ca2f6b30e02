"""Find in a turn whose results are large: 60 of 1 MB, the first time, again, and after one more.

Beside the times: the longest that anything else in the process had to wait meanwhile.
"""

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from random import Random

from bench.embedded import AGENT
from bench.figures import Figure
from bench.stories import ALLOWED, HTTP, USAGE
from studio import app
from studio.core.reader import Reader
from studio.core.rules import contents, ids
from studio.core.rules import events as e
from studio.core.rules.access import Person
from studio.core.store.journal import Journal
from studio.settings import Settings

RESULTS, SIZE, ROUNDS = 60, 1_000_000, 5
QUIET = 1.0  # seconds in which nobody searches, to compare the waits of others with
WORDS = ("needle", "haystack")  # which nothing has
SESSION = ids.make("ses", 1_790_000_000_000, bytes(10))
TURN = f"trn_{ids.core(SESSION)}"
MODEL = ids.model_effect(TURN, 1, 1)
ANN = Person(id="ann", role="operator")
HELD_MS = 50


async def run() -> list[Figure]:
    """Each round asks as if nobody had asked before."""
    with tempfile.TemporaryDirectory(prefix="studio-bench-") as folder:
        Path(folder).chmod(0o700)
        settings = Settings.from_env({"STUDIO_DATA": folder, "HOME": folder})
        app.migrate(settings)
        async with app.parts(settings) as built:
            await _told(built.journal)
            first, again, held, idle = list[float](), list[float](), list[float](), list[float]()
            watch = asyncio.create_task(_watched(idle))
            await asyncio.sleep(QUIET)
            watch.cancel()
            for number in range(ROUNDS):
                words = [f"{word}{number}" for word in WORDS]
                watch = asyncio.create_task(_watched(held))
                first.append(await _asked(built.reader, words))
                watch.cancel()
                again.append(await _asked(built.reader, words))
            await _answered(built.journal, RESULTS)
            more = await _asked(built.reader, words)
    name = f"find in {RESULTS} results of 1 MB"
    return [
        Figure(name=f"{name}: first time", value=statistics.median(first), unit="ms",
               note=f"n = {ROUNDS}, slowest {max(first):,.0f} ms"),
        Figure(name=f"{name}: again", value=statistics.median(again), unit="ms"),
        Figure(name=f"{name}: once one more came", value=more, unit="ms"),
        Figure(name=f"{name}: others waited at most", value=max(held), unit="ms", most=HELD_MS,
               note=f"n = {len(held):,}; {max(idle):,.0f} ms while nobody searched"),
    ]  # fmt: skip


async def _asked(reader: Reader, words: list[str]) -> float:
    began = time.perf_counter()
    found = await reader.trace_words(ANN, SESSION, TURN, words)
    took = (time.perf_counter() - began) * 1000
    assert not found.left, "all of it was to be looked through"
    assert not any(found.effects), "nothing has these words"
    return took


async def _watched(held: list[float]) -> None:
    """How much later than asked for this process comes to something else."""
    while True:
        began = time.perf_counter()
        await asyncio.sleep(0.001)
        held.append((time.perf_counter() - began) * 1000 - 1)


async def _told(journal: Journal) -> None:
    await _record(
        journal,
        e.SessionStarted(agent=AGENT["name"], agent_version=1, title="Large", owner=ANN.id),
        e.MessageAccepted(turn_id=TURN, number=1, text=contents.of_text("Go on."), by=ANN.id),
        e.TurnStarted(turn_id=TURN),
        e.ModelRequested(
            turn_id=TURN, effect_id=MODEL, step=1, attempt=1, provider="scripted", model="steady",
            request_hash="0" * 64,
        ),
        e.ModelReplied(
            turn_id=TURN, effect_id=MODEL, text=contents.of_text("I read."), calls=RESULTS + 1,
            usage=USAGE,
        ),
    )  # fmt: skip
    for number in range(RESULTS):
        await _answered(journal, number)


async def _answered(journal: Journal, number: int) -> None:
    """One more call with a large result of words that nobody else has."""
    effect_id, arguments = ids.call_effect(TURN, 1, number + 1), contents.of({"page": number})
    dice, words = Random(number), list[str]()
    for _ in range(SIZE // 8):
        words.append(f"{dice.randrange(16**7):07x}")
    place = {"turn_id": TURN, "effect_id": effect_id}
    await _record(
        journal,
        e.CallProposed(
            **place, step=1, index=number + 1, provider_call_id=f"c{number}", tool="fetch_page",
            origin=HTTP, arguments=arguments, tool_hash="3" * 64, digest="4" * 64,
            destination="nowhere", ruling=ALLOWED,
        ),
        e.CallStarted(**place, key="1" * 64, send=1, digest_sent="4" * 64),
        e.CallSucceeded(**place, result=contents.of_text(" ".join(words))),
    )  # fmt: skip


async def _record(journal: Journal, *events: e.Event) -> None:
    await journal.commit(
        SESSION, lambda _: events, at=1_790_000_000_000, actor="runtime", must_exist=False
    )
