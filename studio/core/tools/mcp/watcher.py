"""Ends servers of ours that outlive us: a small process that stays behind for that alone.

A server should end when its input does, and some do not. This process knows every server's group,
and learns of our end, by kill -9 or otherwise, from the end of its own input.
"""

import asyncio
import contextlib
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process

GRACE_SECONDS = 2.0  # for servers that end by themselves
PROGRAM = f"""
import os, signal, sys, time
groups = set()
for line in sys.stdin:
    group = int(line[1:])
    groups.add(group) if line[0] == "+" else groups.discard(group)
if groups:
    time.sleep({GRACE_SECONDS})
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""


class Watcher:
    """Started with the first server; one for all of them."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._starting = asyncio.Lock()
        self._groups = set[int]()

    async def watch(self, group: int) -> None:
        """This process group is ended when we are gone."""
        self._groups.add(group)
        async with self._starting:
            if self._process is None or self._process.returncode is not None:
                self._process = await asyncio.create_subprocess_exec(
                    sys.executable, "-I", "-S", "-c", PROGRAM, stdin=PIPE, stdout=DEVNULL,
                    stderr=DEVNULL, start_new_session=True, env={},
                )  # fmt: skip
                for known in self._groups:
                    self._tell(f"+{known}")
            else:
                self._tell(f"+{group}")

    def forget(self, group: int) -> None:
        """This group is gone."""
        self._groups.discard(group)
        self._tell(f"-{group}")

    async def close(self) -> None:
        """End it; what it still knows of is ended with it."""
        process, self._process = self._process, None
        if process is not None and process.stdin is not None:
            process.stdin.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS * 2):
                    await process.wait()

    def _tell(self, line: str) -> None:
        process = self._process
        if process is not None and process.stdin is not None and process.returncode is None:
            process.stdin.write(f"{line}\n".encode())
