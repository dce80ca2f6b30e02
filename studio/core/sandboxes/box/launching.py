"""Our side of the launcher: start it, hand it plans, and hear what becomes of each."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from studio.core.sandboxes.box.plan import END, FORGET, GO, START, Plan, asking
from studio.core.sandboxes.contract import SandboxError

_ROOT = str(Path(__file__).parents[4])
# Not by a module's name: its start would then read the environment and the folder we stand in.
_PROGRAM = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); sys.dont_write_bytecode = True;"
    " from studio.core.sandboxes.box import launcher; launcher.main(int(sys.argv[1]))"
)
_MESSAGE = 4_096
_PIECE = 64 * 1024


class Started:
    """A command that the launcher was asked for."""

    def __init__(self, ours: socket.socket, output: int) -> None:
        self._ours, self._output = ours, output

    async def output(self) -> AsyncIterator[bytes]:
        """What it writes, as it comes, until nobody can write any more."""
        while True:
            await _readable(self._output)
            if not (piece := os.read(self._output, _PIECE)):
                return
            yield piece

    async def event(self) -> dict[str, Any]:
        """The next thing that the launcher says of it; a listener is under `listening`.

        {"started"}, {"listening"}, {"refused": words}, {"exit": code}; {} when it is gone.
        """
        await _readable(self._ours.fileno())
        message, found = self._next()
        event: dict[str, Any] = json.loads(message) if message else {}
        if found:
            os.set_inheritable(found[0], False)
            event["listening"] = socket.socket(fileno=found[0])
        return event

    def _next(self) -> tuple[bytes, list[int]]:
        """The next message; empty when there is no more.

        Where the other end was closed with a word of ours unread, that is told once, and before
        what was said there last.
        """
        for _ in range(2):
            with suppress(ConnectionError):
                return socket.recv_fds(self._ours, _MESSAGE, 1)[:2]
        return b"", []

    def go(self) -> None:
        """Let a held command go on."""
        self._tell(GO)

    def end(self) -> None:
        """End it and everything it started; `event` tells when that is so."""
        self._tell(END)

    def close(self) -> None:
        """Hear no more of it; what still runs is ended."""
        self._ours.close()

    def _tell(self, word: bytes) -> None:
        with suppress(OSError):  # it has ended already, which is what `event` says
            self._ours.send(word)


class Launcher:
    """One launcher for all boxes of a studio, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int:
        """The process id of the launcher that runs now. LookupError: none was needed yet."""
        if self._process is None:
            raise LookupError("no launcher runs")
        return self._process.pid

    @asynccontextmanager
    async def started(self, plan: Plan, descriptors: Sequence[int]) -> AsyncIterator[Started]:
        """Start a command; `descriptors` are copied. It is ended at the latest when this is left.

        SandboxError `sandbox.unavailable` when the launcher cannot be started.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        output, written = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(output, False)
        planned = memory("plan", plan.packed())
        try:
            self._ask(START, plan.joins, [theirs.fileno(), written, planned, *descriptors])
        except OSError as wrong:
            os.close(output)
            ours.close()
            words = f"Commands cannot be started now ({wrong.strerror}). Nothing ran; try again."
            raise SandboxError("sandbox.unavailable", words) from None
        finally:
            theirs.close()
            os.close(written)
            os.close(planned)
        found = Started(ours, output)
        try:
            yield found
        finally:
            os.close(output)
            found.close()

    async def close(self) -> None:
        """End everything that still runs, and the launcher."""
        process, self._process = self._process, None
        if self._control is not None:
            self._control.close()
        if process is not None:
            await asyncio.to_thread(process.wait)

    async def forget(self, joins: Sequence[str]) -> None:
        """Let go of control groups in which no command runs any more, so that they can go."""
        if self._process is None or self._process.poll() is not None:
            return
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                self._ask(FORGET, joins, [theirs.fileno()])
            await _readable(ours.fileno())  # it is closed when that is done

    def _ask(self, what: str, joins: Sequence[str], descriptors: list[int]) -> None:
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._control is not None
        socket.send_fds(self._control, [asking(what, joins)], descriptors)

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, str(theirs.fileno())],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True,
                env={},
            )  # fmt: skip


def memory(name: str, data: bytes) -> int:
    """A descriptor of a nameless file in memory that holds these bytes, at its beginning."""
    found = os.memfd_create(name)
    os.set_inheritable(found, False)
    view = memoryview(data)
    while view:
        view = view[os.write(found, view) :]
    os.lseek(found, 0, os.SEEK_SET)
    return found


async def _readable(watched: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(watched, _set, ready)
    try:
        await ready
    finally:
        loop.remove_reader(watched)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
