"""No disk and no shell: an environment that only holds secrets and variables for its sessions."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from studio.core.sandboxes.contract import Command, Found, Kind, Ran, Read, SandboxError, Written


class NoSandbox:
    """Every call is refused in words; start, stop and reset have nothing to do."""

    kind: Kind = "none"

    async def start(self) -> None:
        """There is nothing to start."""

    async def stop(self) -> None:
        """There is nothing to stop."""

    async def reset(self) -> None:
        """There is nothing to empty."""

    async def read(self, path: str, *, offset: int = 0, most: int = 8 * 1024**2) -> Read:
        """Refused."""
        raise _no("no files")

    async def write(self, path: str, data: bytes, *, known: str | None = None) -> Written:
        """Refused."""
        raise _no("no files")

    async def edit(
        self, path: str, old: str, new: str, *, known: str, every: bool = False
    ) -> Written:
        """Refused."""
        raise _no("no files")

    async def glob(self, pattern: str, *, most: int = 1_000) -> Found:
        """Refused."""
        raise _no("no files")

    async def grep(self, pattern: str, *, within: str = "**/*", most: int = 500) -> Found:
        """Refused."""
        raise _no("no files")

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Refused."""
        raise _no("no shell")

    @asynccontextmanager
    async def folder(self, *, changing: bool = False) -> AsyncIterator[Path]:
        """Refused."""
        raise _no("no disk")
        yield Path()  # what makes it a context manager


def _no(what: str) -> SandboxError:
    words = (
        f"This environment has {what}: its kind is “none”. Go on without, or ask the operator for"
        " an environment of another kind."
    )
    return SandboxError("sandbox.unsupported", words)
