"""An MCP server as a process of ours: lines of JSON over its pipes, for the SDK's client.

Its environment is narrow, its lines are bounded, what it writes to stderr is kept short for the
person, and at the end, also at ours by kill -9, its whole process group is gone.
"""

import asyncio
import contextlib
import json
import os
import re
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.core.masking import Mask
from studio.core.rules.servers import SAID
from studio.core.tools.intact import Unpacked
from studio.core.tools.mcp.errors import PARSE, TOO_LARGE
from studio.core.tools.mcp.watcher import Watcher

LONGEST_LINE = 8 * 1024 * 1024
KEPT_STDERR, KEPT_STRAY = 64 * 1024, 16 * 1024
EXIT_SECONDS = 2.0
TERMINATE_SECONDS = 2.0
KILLED_SECONDS = 1.0  # a killed process is gone at once, but for one that the kernel holds
CHUNK = 64 * 1024
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\b')


@dataclass(frozen=True, kw_only=True)
class Launch:
    """How a server is started; `unpacked` are files that must be as they were installed."""

    command: Sequence[str]
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    unpacked: Unpacked | None = None


class Ears:
    """What a server said beside the protocol, and whether it is gone."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.exit: int | None = None
        self.stray = ""
        self._stderr = ""

    def hear(self, data: bytes) -> None:
        """Keep the end of what it writes to stderr."""
        self._stderr = (self._stderr + data.decode("utf-8", "replace"))[-KEPT_STDERR:]

    def words(self, mask: Mask) -> str:
        """The last line of stderr, or of its output that was not MCP; without secrets."""
        heard = self._stderr
        if len(heard) == KEPT_STDERR:  # its beginning may be the end of a secret
            heard = heard[mask.longest :]
        lines = [line.strip() for line in mask.text(heard).splitlines() if line.strip()]
        if lines:
            return f"{SAID[0]}{lines[-1][:300]}”"
        stray = mask.text(self.stray)[:200]
        return f"{SAID[1]}{stray}”" if stray else ""


def environment(declared: Mapping[str, str]) -> dict[str, str]:
    """What a server sees: where programs are, a home, a language, and what is declared."""
    plain = {
        "PATH": os.pathsep.join(os.get_exec_path()),
        "HOME": os.path.expanduser("~"),
        "LANG": "C.UTF-8",
    }
    return {**plain, **declared}


@contextlib.asynccontextmanager
async def stdio(
    launch: Launch, ears: Ears, watcher: Watcher | None = None
) -> AsyncIterator[tuple[Any, Any]]:
    """Start the server; gives the streams that the SDK's client reads and writes."""
    import anyio

    process = await asyncio.create_subprocess_exec(
        *launch.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=launch.folder,
        env=environment(launch.env), start_new_session=True,
    )  # fmt: skip
    if watcher is not None:
        await watcher.watch(process.pid)  # it leads a group of its own
    to_client, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_client = anyio.create_memory_object_stream[Any](0)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(_read(process, to_client, ears)),
                group.create_task(_write(process, from_client)),
                group.create_task(_listen(process, ears)),
            ]
            try:
                yield from_server, to_server
            finally:
                await _own_end(process, ears)
                await _end(process)
                for task in tasks:
                    task.cancel()
    finally:
        _kill(process, signal.SIGKILL)
        with anyio.move_on_after(KILLED_SECONDS, shield=True):
            await process.wait()
        _let_go(process)
        if watcher is not None:
            watcher.forget(process.pid)
        for stream in (to_client, from_server, to_server, from_client):
            stream.close()


async def _read(process: Process, to_client: Any, ears: Ears) -> None:
    """Give the client every line; a line that is too long becomes an error of its call."""
    import anyio

    assert process.stdout is not None, "started with pipes"
    line, skipping = bytearray(), False
    try:
        while chunk := await process.stdout.read(CHUNK):
            *whole, rest = chunk.split(b"\n")
            for part in whole:
                if not skipping:
                    await _deliver(bytes(line + part), to_client, ears)
                line, skipping = bytearray(), False
            line += b"" if skipping else rest
            if len(line) > LONGEST_LINE:
                await _too_long(bytes(line[:200]), to_client)
                line, skipping = bytearray(), True
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, ConnectionError):
        pass
    finally:
        ears.ended.set()
        to_client.close()


async def _deliver(line: bytes, to_client: Any, ears: Ears) -> None:
    import mcp_types
    from mcp.shared.message import SessionMessage

    if not line.strip():
        return
    try:
        message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        ears.stray = line[:KEPT_STRAY].decode("utf-8", "replace").strip()
        if (id := _answered(line)) is not None:
            words = "The server answered with something that is not MCP."
            await to_client.send(SessionMessage(_error(id, PARSE, words)))
        return
    await to_client.send(SessionMessage(message))


async def _too_long(head: bytes, to_client: Any) -> None:
    """Tell the call that waits for this line, by the id at its head; else break the connection."""
    from mcp.shared.message import SessionMessage

    found = _ID.search(head)
    if found is None:
        raise ConnectionError("a line is too long and answers no call")
    size = LONGEST_LINE // 1024 // 1024
    words = f"The answer is larger than {size} MiB and was not kept."
    await to_client.send(SessionMessage(_error(int(found[1]), TOO_LARGE, words)))


def _answered(line: bytes) -> int | None:
    """Which request a line answers, however wrong the answer is: its call need not wait longer."""
    try:
        said = json.loads(line)
    except ValueError:
        return None
    if not isinstance(said, dict) or not {"result", "error"} & said.keys():
        return None
    return said["id"] if type(said.get("id")) is int else None


def _error(id: int, code: int, message: str) -> Any:
    import mcp_types

    error = mcp_types.ErrorData(code=code, message=message)
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=id, error=error)


async def _write(process: Process, from_client: Any) -> None:
    assert process.stdin is not None, "started with pipes"
    with contextlib.suppress(ConnectionError):
        async for item in from_client:
            text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode("utf-8", "replace") + b"\n")
            await process.stdin.drain()


async def _listen(process: Process, ears: Ears) -> None:
    assert process.stderr is not None, "started with pipes"
    while data := await process.stderr.read(CHUNK):
        ears.hear(data)


async def _own_end(process: Process, ears: Ears) -> None:
    """Note how a server ended that closed its output by itself."""
    if ears.ended.is_set():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                ears.exit = await process.wait()


async def _end(process: Process) -> None:
    """Close its input, wait, ask it to end, wait, kill it: every wait is bounded."""
    assert process.stdin is not None, "started with pipes"
    process.stdin.close()
    for sign, seconds in ((None, EXIT_SECONDS), (signal.SIGTERM, TERMINATE_SECONDS)):
        if sign is not None:
            _kill(process, sign)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await process.wait()
                return
    _kill(process, signal.SIGKILL)


def _let_go(process: Process) -> None:
    """Close our ends of the pipes, which a process that left the group may hold open."""
    transport = getattr(process, "_transport", None)
    if transport is not None:
        with contextlib.suppress(PermissionError):
            transport.close()


def _kill(process: Process, sign: signal.Signals) -> None:
    """Signal the whole group, which the server leads: it was started in a session of its own."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, sign)
