"""Starting other processes from tests, and never leaving one behind."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def other(*arguments: str, **environ: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """`tests.core.store.other` with these arguments, killed at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.core.store.other", *arguments,
        cwd=ROOT, stdout=asyncio.subprocess.PIPE, env={"PYTHONPATH": str(ROOT), **environ},
    )  # fmt: skip
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def line(process: asyncio.subprocess.Process) -> str:
    """The next line it says; empty at its end."""
    assert process.stdout is not None
    async with asyncio.timeout(60):
        return (await process.stdout.readline()).decode().strip()
