"""Another process, for tests of several: `python -m tests.core.store.other <what> <url> …`."""

import asyncio
import os
import sys
from typing import Any

from studio.core import faults
from studio.core.rules import events as e
from studio.core.store import wakes
from studio.core.store.presence import Presence
from tests.core.store.conftest import Store, opened, started
from tests.core.store.stories import START


async def write(url: str, name: str, count: str) -> None:
    """Append to sessions of one's own and to one that all share; every fifth rule fails."""
    async with opened(url) as store:

        async def append(number: int) -> None:
            def rule(session: Any) -> list[e.Event]:
                if number % 5 == 0:
                    raise ValueError("on purpose")
                first = [started()] if session.seq == 0 else []
                return [*first, e.TurnStarted(turn_id=f"trn_{name}_{number}")]

            session_id = "ses_all" if number % 2 else f"ses_{name}{number % 3}"
            await store.journal.commit(session_id, rule, at=START, must_exist=False)

        for first in range(0, int(count), 8):
            appends = [append(number) for number in range(first, first + 8)]
            await asyncio.gather(*appends, return_exceptions=True)
        say("done")


async def hold(url: str, name: str) -> None:
    """Claim all there is and keep it until killed."""
    async with opened(url) as store:
        presence = Presence(store.db, name, 10_000)
        await presence.start()
        leases = await wakes.claim(store.db, name, 100, START, 10_000)
        say(f"holds {len(leases)}")
        await asyncio.Event().wait()
        await presence.close()


async def crash(url: str, count: str) -> None:
    """Append one after the other and say each that is durable, until killed."""
    async with opened(url) as store:
        await append_and_say(store, int(count))


async def append_and_say(store: Store, count: int) -> None:
    await store.start()
    for number in range(count):
        event = e.TurnStarted(turn_id=f"trn_{number}")
        done = await store.journal.commit("ses_1", lambda _, x=event: [x], at=START, wake_at=START)
        say(str(done.facts[-1].seq))


def say(words: str) -> None:
    """A line for the test that started us."""
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    faults.arm_from(os.environ.get("STUDIO_FAULT", ""))
    what, *arguments = sys.argv[1:]
    asyncio.run({"write": write, "hold": hold, "crash": crash}[what](*arguments))
