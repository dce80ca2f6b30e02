"""A worker in a process of its own, on a store and a folder that it shares with others.

`python -m tests.core.environments_worker FOLDER URL SESSIONS` works until it is ended, and moves at
most so many sessions at once.
"""

import asyncio
import sys

from studio import app
from studio.settings import Settings


async def main(folder: str, url: str, sessions: str) -> None:
    environ = {
        "STUDIO_DATA": folder, "STUDIO_DATABASE_URL": url, "HOME": folder,
        "STUDIO_CONCURRENCY": sessions,
    }  # fmt: skip
    async with app.parts(Settings.from_env(environ)) as built:
        worker = app.worker(built)
        print("at work", flush=True)  # noqa: T201
        await worker.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
