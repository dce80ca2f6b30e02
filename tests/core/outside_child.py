"""A studio in a process of its own that forgets traces from outside; killed where asked."""

import asyncio
from pathlib import Path

from studio import app
from studio.core.rules.access import Person
from studio.core.store import outside_sweeping
from studio.core.verbs import outside
from studio.settings import Settings

ADMIN = Person(id="ada", role="admin", via="browser")
SENDER = "application:bot"
ONE = f"{1:032x}"


def main(folder: str, url: str, act: str, fault: str) -> None:
    """Forget one trace, or all of the sender, in small steps."""
    outside.TRACES, outside_sweeping.PIECE, outside_sweeping.SWEPT = 4, 20, 10
    asyncio.run(_forget(settings(Path(folder), url, fault), act))


def settings(folder: Path, url: str, fault: str = "") -> Settings:
    """The same for whoever looks afterwards."""
    environ = {"STUDIO_DATA": str(folder), "STUDIO_DATABASE_URL": url, "HOME": str(folder)}
    return Settings.from_env({**environ, "STUDIO_FAULT": fault})


async def _forget(settings: Settings, act: str) -> None:
    async with app.parts(settings) as built:
        if act == "one":
            await built.runtime.forget_outside_trace(ADMIN, ONE)
        else:
            await built.runtime.forget_outside_sender(ADMIN, SENDER)
