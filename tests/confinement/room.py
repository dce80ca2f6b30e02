"""A box to try to get out of, with things outside of it that must stay untouched."""

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.contract import Command, Limits, Ran
from studio.core.sandboxes.sandbox import Box

SECRET = "TOPSECRET"
LIMITS = Limits(
    memory=256 * 2**20, processes=64, disk=48 * 2**20, entries=2_000, file=24 * 2**20,
    output=64 * 2**10, command_seconds=10,
)  # fmt: skip
PYTHON = "/usr/bin/python3"


@dataclass
class Room:
    """One box, its disk, and what lies beside it: a file, a TCP port, sockets with a name."""

    box: Box
    machine: Machine
    base: Path
    port: int

    @property
    def disk(self) -> Path:
        return self.base / "disk"

    @property
    def secret(self) -> Path:
        return self.base / "secret"

    async def run(self, line: str, **given) -> Ran:
        return await self.box.shell(Command(line=line, **given))

    async def said(self, line: str, **given) -> str:
        """What a line writes."""
        return (await self.run(line, **given)).output.decode("utf-8", "replace")

    async def python(self, program: str) -> str:
        """What a program in Python writes."""
        return await self.said(f"{PYTHON} -I - <<'END'\n{program}\nEND")


Try = Callable[[Room], Awaitable[object]]


@dataclass(frozen=True)
class Case:
    """A try: it raises AssertionError when the box does not hold. `where` it has to."""

    name: str
    tried: Try
    where: frozenset[str]
    root: bool


CASES: list[Case] = []


def case(name: str, *, where: str = "bubblewrap", root: bool = False) -> Callable[[Try], Try]:
    """Register a try; `root`: only root can arrange it."""

    def register(tried: Try) -> Try:
        CASES.append(Case(name, tried, frozenset(where.split()), root))
        return tried

    return register


@asynccontextmanager
async def room(machine: Machine, launcher: Launcher) -> AsyncIterator[Room]:
    """A room of its own."""
    with tempfile.TemporaryDirectory(prefix="confined-") as name, socket.socket() as listener:
        base = Path(name)
        base.chmod(0o755)
        (base / "secret").write_text(SECRET)
        (base / "secret").chmod(0o644)
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        box = Box(base / "disk", machine=machine, launcher=launcher, limits=LIMITS, free=0)
        await box.start()
        try:
            yield Room(box, machine, base, listener.getsockname()[1])
        finally:
            await box.stop()


def alive(tag: str) -> list[int]:
    """Processes of this machine that have a text in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if tag.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def gone(tag: str, seconds: float = 5.0) -> list[int]:
    """Wait for the last of them; what is left when time is up."""
    async with asyncio.timeout(seconds + 1):
        deadline = asyncio.get_running_loop().time() + seconds
        while (left := alive(tag)) and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
    return left
