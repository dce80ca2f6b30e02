"""What every kind of environment can do. One test suite holds all kinds to it.

A path is what the agent wrote: relative to the disk, or absolute below `/work`, which is the disk's
root as commands see it. Nothing outside the disk is ever read or written through a path.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["none", "sandbox", "container", "remote"]
# Why a command ended before it was done by itself.
Ended = Literal["timeout", "output", "disk", "memory", "stopped", "lost"]


class SandboxError(Exception):
    """The environment says no. `code` is stable; the message tells the model what to do instead.

    Codes: `path.name` (it cannot be a path: not UTF-8, a null character, too long),
    `path.outside`, `path.missing`, `path.kind` (a folder where a file is needed, a device),
    `path.denied` (its mode forbids it), `path.exists`, `file.stale` (it changed since it was read),
    `file.too_large`, `file.binary` (no UTF-8 text, for `edit`), `text.missing`, `text.many` (what
    `edit` replaces must stand there exactly once), `disk.full`, `pattern.bad`,
    `sandbox.unavailable` (it cannot be started here; nothing ran), `sandbox.unsupported` (this
    kind cannot do that).
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds of one environment. Bytes, and seconds; `commands` run side by side at most.

    `entries` bounds files, folders and links on the disk, which can fill it without a byte.
    """

    memory: int = 1024**3
    processes: int = 128
    disk: int = 2 * 1024**3
    entries: int = 200_000
    command_seconds: float = 30.0
    output: int = 1024**2
    file: int = 512 * 1024**2
    commands: int = 8


@dataclass(frozen=True, kw_only=True)
class Read:
    """Bytes of a file from `offset` on. `size` and `hash` (SHA-256, hex) are the whole file's."""

    data: bytes = field(repr=False)
    offset: int
    size: int
    hash: str
    mode: int


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a write left: the file's new size and SHA-256, and whether it was not there before."""

    size: int
    hash: str
    made: bool


@dataclass(frozen=True, kw_only=True)
class Match:
    """One line that a pattern was found in. `line` counts from 1."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """Paths or matches in a stable order; `more` says that there are others beyond the bound."""

    paths: tuple[str, ...] = ()
    matches: tuple[Match, ...] = ()
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class Command:
    """A line for the shell. `cwd` is a folder of the disk; `variables` are for this line alone.

    `files` (name: bytes) are readable for this command alone below `/run/secrets`, mode 0400.
    `egress` is the id under which the proxy notes what this command reaches. `begun` is called when
    it no longer waits for others.
    """

    line: str
    cwd: str = "."
    seconds: float | None = None
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    egress: str = ""
    begun: Callable[[], None] = field(default=lambda: None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What became of a command. `output` is stdout and stderr as they came, its first bytes.

    `size` is all that was written, also what was not kept. `exit` is the shell's code, or minus the
    signal; `ended` says why it was ended early, with `words` for a person; `seconds` is wall time.
    """

    exit: int
    output: bytes = field(repr=False)
    size: int
    seconds: float
    ended: Ended | None = None
    words: str = ""


class Sandbox(Protocol):
    """One environment at work. Methods may be called side by side; each raises SandboxError."""

    kind: Kind

    async def start(self) -> None:
        """Be ready for commands; calling it again is nothing. Never attaches to another's."""

    async def stop(self) -> None:
        """End every process; the disk stays."""

    async def reset(self) -> None:
        """End every process and leave an empty disk."""

    async def read(self, path: str, *, offset: int = 0, most: int = 8 * 1024**2) -> Read:
        """A file's bytes."""

    async def write(self, path: str, data: bytes, *, known: str | None = None) -> Written:
        """Write a file whole, making its folders; as it was or as it is, never between.

        `known` is the hash that the writer saw: `file.stale` when the file has another now. With
        None the file must not be there yet (`path.exists`).
        """

    async def edit(
        self, path: str, old: str, new: str, *, known: str, every: bool = False
    ) -> Written:
        """Replace a text that stands there exactly once (or `every`); `known` as in `write`."""

    async def glob(self, pattern: str, *, most: int = 1_000) -> Found:
        """Files whose path matches (`**` crosses folders), sorted."""

    async def grep(self, pattern: str, *, within: str = "**/*", most: int = 500) -> Found:
        """Lines of text files that a regular expression matches; a slow pattern is ended."""

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Run a line in a fresh process tree, gone when this returns. `heard` gets output."""

    def folder(self, *, changing: bool = False) -> AbstractAsyncContextManager[Path]:
        """The disk as a folder of this machine, while no command of this environment runs.

        A kind whose disk lies elsewhere brings it here first, and with `changing` takes back what
        was made of it, whole or not at all.
        """
