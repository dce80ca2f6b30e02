"""An environment at a sandbox service, reached over HTTP. The protocol: `docs/remote-sandbox.md`.

A command is sent once, under a key. When its answer is lost it is asked for by that key, which runs
nothing; when that brings no end either, the command ended `lost` and nobody says that it did not
run.
"""

import asyncio
import base64
import contextlib
import secrets
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import IO, Any

from studio.core.sandboxes.contract import (
    Command,
    Found,
    Kind,
    Limits,
    Ran,
    Read,
    SandboxError,
    Written,
)
from studio.core.sandboxes.egress.allowing import AllowList
from studio.core.sandboxes.egress.tried import Tried
from studio.core.sandboxes.gaps import KEYS
from studio.core.sandboxes.gate import Gate
from studio.core.sandboxes.output import Output
from studio.core.sandboxes.services import archive as disks
from studio.core.sandboxes.services import believing
from studio.core.sandboxes.services.service import (
    Answer,
    Lost,
    Service,
    Unreadable,
    lines,
    unreadable,
)

GRACE_SECONDS = 15.0  # for a service to end a command that is over its time, and to say so
TRIES = 3  # at asking for a lost answer
DISK_SECONDS = 600.0
_PIECE = 256 * 1024


class RemoteSandbox:
    """One environment at a service. `scratch` is a folder where its disk is brought when needed.

    `tried` hears of each place that the service says a command tried to reach.
    """

    kind: Kind = "remote"

    def __init__(
        self, service: Service, limits: Limits, scratch: Path,
        allow: AllowList | None = None, image: str = "",
        tried: Callable[[Tried], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._service, self._limits, self._scratch = service, limits, scratch
        self._allow, self._image = allow or AllowList(), image
        self._tried = tried
        self._gate, self._starting = Gate(), asyncio.Lock()
        self._places = asyncio.Semaphore(limits.commands)
        self._is_started = False
        self.features: frozenset[str] = frozenset()  # what the service says that it keeps

    async def start(self) -> None:
        """Get or make the environment of this very identity."""
        async with self._starting:
            if self._is_started:
                return
            told = (await self._sure("PUT", json=self._wanted())).json()
            self.features = KEYS & frozenset(map(str, believing.listed(told, "keeps")))
            self._is_started = True

    async def stop(self) -> None:
        """End every process; the disk stays."""
        await self._sure("POST", "/stop")
        self._is_started = False

    async def reset(self) -> None:
        """End every process and leave an empty disk."""
        await self._sure("POST", "/reset")
        self._is_started = False

    async def read(self, path: str, *, offset: int = 0, most: int = 8 * 1024**2) -> Read:
        """A file's bytes."""
        await self.start()
        query = {"path": path, "offset": offset, "most": most}
        answer = await self._sure("GET", "/file", query=query)
        return Read(
            data=answer.body[:most], offset=offset, size=answer.number("file-size"),
            hash=answer.headers.get("file-hash", ""), mode=answer.number("file-mode"),
        )  # fmt: skip

    async def write(self, path: str, data: bytes, *, known: str | None = None) -> Written:
        """Write a file whole. A lost answer is looked into by reading, never by writing again."""
        await self.start()
        guard = {"if-none-match": "*"} if known is None else {"if-match": f'"{known}"'}
        with self._unknown(f"whether {path} was written"):
            answer = await self._service.ask(
                "PUT", "/file", query={"path": path}, headers=guard, content=data
            )
        return believing.written(answer.json())

    async def edit(
        self, path: str, old: str, new: str, *, known: str, every: bool = False
    ) -> Written:
        """Replace a text; `known` as in `write`."""
        await self.start()
        wanted = {"path": path, "old": old, "new": new, "known": known, "every": every}
        with self._unknown(f"whether {path} was changed"):
            answer = await self._service.ask("POST", "/edit", json=wanted)
        return believing.written(answer.json())

    async def glob(self, pattern: str, *, most: int = 1_000) -> Found:
        """Files whose path matches, sorted."""
        await self.start()
        answer = await self._sure("POST", "/glob", json={"pattern": pattern, "most": most})
        return believing.found(answer.json(), most)

    async def grep(self, pattern: str, *, within: str = "**/*", most: int = 500) -> Found:
        """Lines of text files that a regular expression matches."""
        await self.start()
        wanted = {"pattern": pattern, "within": within, "most": most}
        return believing.found((await self._sure("POST", "/grep", json=wanted)).json(), most)

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Run a line once. `Command.egress`, when it is there, is the key it is sent under."""
        await self.start()
        key = command.egress or secrets.token_hex(16)
        seconds = command.seconds or self._limits.command_seconds
        async with self._places, self._gate.shared():
            command.begun()
            output, begun = Output(self._limits.output, heard), time.monotonic()
            try:
                end = await self._end(key, _asked(command, seconds), output, seconds)
            except asyncio.CancelledError:
                await self._give_up(key)
                raise
        if end is None:
            return Ran(
                exit=-1, output=output.kept, size=output.size, ended="lost",
                seconds=time.monotonic() - begun,
                words="The answer of the sandbox service was lost: whether the command ended, and"
                " how, is not known. It was not sent again.",
            )  # fmt: skip
        for item in believing.tried(end, command.egress):
            self._tried(item)
        return believing.ran(end, output, time.monotonic() - begun)

    @contextlib.asynccontextmanager
    async def folder(self, *, changing: bool = False) -> AsyncIterator[Path]:
        """The disk, brought here; with `changing` the service takes back the whole of it."""
        await self.start()
        async with self._gate.alone():
            here = Path(tempfile.mkdtemp(dir=self._scratch, prefix="disk-"))
            try:
                with tempfile.TemporaryFile(dir=self._scratch) as archive:
                    version = await self._fetch(archive)
                    await asyncio.to_thread(_unpacked, archive, here, self._limits.disk)
                yield here
                if changing:
                    with tempfile.TemporaryFile(dir=self._scratch) as archive:
                        await asyncio.to_thread(disks.pack, here, archive)
                        await self._put_back(archive, version)
            finally:
                await asyncio.to_thread(shutil.rmtree, here)

    def _wanted(self) -> dict[str, Any]:
        limits, places = self._limits, self._allow.places
        return {
            "image": self._image,
            "limits": {
                "memory": limits.memory, "processes": limits.processes, "disk": limits.disk,
                "entries": limits.entries,
                "command_seconds": limits.command_seconds, "output": limits.output,
                "file": limits.file, "commands": limits.commands,
            },
            "allow": [{"host": place.host, "ports": sorted(place.ports)} for place in places],
        }  # fmt: skip

    async def _sure(self, *what: Any, **how: Any) -> Answer:
        """An answer to what may be asked twice; SandboxError when it does not come."""
        with self._unknown("the answer"):
            return await self._service.ask(*what, **how)

    @contextlib.contextmanager
    def _unknown(self, what: str) -> Iterator[None]:
        try:
            yield
        except Lost as wrong:
            words = f"The sandbox service gave no whole answer ({wrong}): {what} is not known."
            raise SandboxError("sandbox.unavailable", f"{words} Look before you go on.") from None

    async def _end(
        self, key: str, asked: dict[str, Any], output: Output, seconds: float
    ) -> dict[str, Any] | None:
        """How a command ended, by its own answer or by asking for it; None: nobody says."""
        limit = time.monotonic() + seconds + GRACE_SECONDS
        headers = {"idempotency-key": key}
        with contextlib.suppress(Lost, Unreadable):
            return await self._heard(
                "POST", "/commands", output, limit, json=asked, headers=headers
            )
        for _ in range(TRIES):
            with contextlib.suppress(Lost, SandboxError):
                query = {"after": output.size}
                return await self._heard("GET", f"/commands/{key}", output, limit, query=query)
        return None

    async def _heard(
        self, method: Any, path: str, output: Output, limit: float, **how: Any
    ) -> dict[str, Any]:
        """The end of a command, after all its output. Lost when the answer breaks off."""
        seconds = max(0.0, limit - time.monotonic())
        async with self._service.opened(method, path, seconds=seconds, **how) as response:
            async for line in lines(response):
                if "output" in line:
                    output.hear(believing.output(line["output"]))
                elif "end" in line:
                    return believing.end(line["end"])
        raise Lost("it has no end")

    async def _give_up(self, key: str) -> None:
        """Tell the service to end a command that nobody waits for any more."""
        with contextlib.suppress(Lost, SandboxError, TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await self._service.ask("DELETE", f"/commands/{key}")

    async def _fetch(self, archive: IO[bytes]) -> str:
        """Bring the disk's archive; its version, as the service calls it."""
        with self._unknown("the disk"):
            async with self._service.opened("GET", "/disk", seconds=DISK_SECONDS) as response:
                size = 0
                async for part in response.aiter_raw():
                    size += len(part)
                    if size > 2 * self._limits.disk + _PIECE:
                        raise unreadable("its disk is larger than its limit allows")
                    archive.write(part)
                return str(response.headers.get("etag", ""))

    async def _put_back(self, archive: IO[bytes], version: str) -> None:
        size = archive.tell()
        archive.seek(0)
        headers = {"content-length": str(size), "content-type": "application/x-tar"}
        if version:
            headers["if-match"] = version
        with self._unknown("whether the disk was put back"):
            await self._service.ask("PUT", "/disk", headers=headers, content=_pieces(archive))


async def _pieces(archive: IO[bytes]) -> AsyncIterator[bytes]:
    while piece := await asyncio.to_thread(archive.read, _PIECE):
        yield piece


def _unpacked(archive: IO[bytes], here: Path, most: int) -> None:
    archive.seek(0)
    disks.unpack(archive, here, most)


def _asked(command: Command, seconds: float) -> dict[str, Any]:
    files = {name: base64.b64encode(data).decode() for name, data in command.files.items()}
    return {
        "line": command.line, "cwd": command.cwd, "seconds": seconds,
        "variables": dict(command.variables), "files": files,
    }  # fmt: skip
