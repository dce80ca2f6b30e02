"""A sandbox service that speaks the protocol of `docs/remote-sandbox.md`, over a real socket.

It keeps disks in folders and runs commands in bubblewrap. `asked` holds every request; `cuts` says
after how many lines the answer to a command breaks off, one number for each answer to come.
"""

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.core.sandboxes.box import folders
from studio.core.sandboxes.box.usage import Watch
from studio.core.sandboxes.contract import Limits, SandboxError
from studio.core.sandboxes.host_disk import HostDisk
from studio.core.sandboxes.services import archive as disks
from tests.standins import boxed, raw_http
from tests.standins.raw_http import Asked, Talk

TOKEN = "box-token"
STATUS = {"path.missing": 404, "path.exists": 412, "file.stale": 412, "disk.full": 507}


@dataclass
class Run:
    """A command that was started: what it wrote, and how it ended."""

    output: bytearray = field(default_factory=bytearray)
    end: dict[str, Any] | None = None
    process: asyncio.subprocess.Process | None = None
    why: str | None = None
    words: str = ""
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self) -> None:
        """Wake whoever follows it."""
        self.changed.set()
        self.changed = asyncio.Event()

    def kill(self, why: str, words: str = "It was ended.") -> None:
        """End it, and all that it started; the first reason stands."""
        if self.process is not None and self.process.returncode is None:
            self.why, self.words = self.why or why, self.words or words
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)


class Environment(HostDisk):
    """One environment: its disk, and what bounds it."""

    def __init__(self, disk: Path, wanted: dict[str, Any]) -> None:
        self.limits = Limits(**wanted["limits"])
        super().__init__(disk, self.limits, None, free=0)
        self.disk, self.wanted = disk, wanted
        self.watch = Watch(disk, self.limits, free=0)


class BoxService:
    """The service. `keeps` is what it says that it keeps."""

    def __init__(self, root: Path) -> None:
        self.root, self.url = root, ""
        self.asked: list[tuple[str, str]] = []
        self.environments: dict[str, Environment] = {}
        self.runs: dict[str, Run] = {}
        self.ran: list[str] = []
        self.cuts: list[int] = []
        self.keeps = ["files", "system", "network", "tree", "secret_files", "no_such_promise"]
        self.forgets = False
        self.tried: list[object] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def handle(self, asked: Asked, talk: Talk) -> None:
        """One request."""
        self.asked.append((asked.method, asked.path))
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            await _refuse(talk, 401, "token.unknown", "This token is not known.")
            return
        _, _, name, *rest = asked.path.split("/")
        try:
            await self._do(asked, talk, name, rest)
        except SandboxError as no:
            await _refuse(talk, STATUS.get(no.code, 400), no.code, no.message)

    async def _do(self, asked: Asked, talk: Talk, name: str, rest: list[str]) -> None:
        what = f"{asked.method} {rest[0] if rest else ''}"
        if what == "PUT ":
            made = Environment(self.root / name, json.loads(asked.body))
            await self.environments.setdefault(name, made).start()
            await _tell(talk, {"keeps": self.keeps})
            return
        if (found := self.environments.get(name)) is None:
            raise SandboxError("sandbox.unsupported", "There is no such environment.")
        if what in {"POST stop", "POST reset"}:
            self.stop()
            if what == "POST reset":
                await folders.empty(found.disk)
            await _tell(talk, {})
        elif rest[0] in {"file", "edit", "glob", "grep"}:
            await self._file(asked, talk, found, what)
        elif rest[0] == "disk":
            await self._disk(asked, talk, found)
        else:
            await self._command(asked, talk, found, rest)

    async def _file(self, asked: Asked, talk: Talk, at: Environment, what: str) -> None:
        query = asked.query
        if what == "GET file":
            found = await at.read(
                query["path"], offset=int(query["offset"]), most=int(query["most"])
            )
            await talk.answer(found.data, file_size=str(found.size), file_hash=found.hash,
                              file_mode=str(found.mode))  # fmt: skip
        elif what == "PUT file":
            known = asked.headers.get("if-match", "").strip('"') or None
            await _tell(talk, vars(await at.write(query["path"], asked.body, known=known)))
        else:
            wanted = json.loads(asked.body)
            if what == "POST edit":
                await _tell(talk, vars(await at.edit(**wanted)))
            elif what == "POST glob":
                found = await at.glob(**wanted)
                await _tell(talk, {"paths": list(found.paths), "more": found.more})
            else:
                found = await at.grep(**wanted)
                matches = [vars(match) for match in found.matches]
                await _tell(talk, {"matches": matches, "more": found.more})

    async def _disk(self, asked: Asked, talk: Talk, at: Environment) -> None:
        with tempfile.TemporaryFile() as archive:
            if asked.method == "GET":
                disks.pack(at.disk, archive)
                archive.seek(0)
                await talk.answer(archive.read(), etag='"d1"')
                return
            archive.write(asked.body)
            archive.seek(0)
            fresh = Path(tempfile.mkdtemp(dir=self.root))
            disks.unpack(archive, fresh, 1 << 30)
            shutil.rmtree(at.disk)
            fresh.rename(at.disk)
        await _tell(talk, {})

    async def _command(self, asked: Asked, talk: Talk, at: Environment, rest: list[str]) -> None:
        if asked.method == "POST":
            key, wanted = asked.headers["idempotency-key"], json.loads(asked.body)
            if key not in self.runs:
                async with at.at_work(wanted["cwd"]):  # a folder that is none is refused
                    pass
                self.runs[key] = run = Run()
                self._begin(self._run(run, at, wanted))
        else:
            key = "forgotten" if self.forgets else rest[1]
        if key not in self.runs:
            await _refuse(talk, 404, "command.unknown", "There is no such command.")
        elif asked.method == "DELETE":
            self.runs[key].kill("stopped")
            await _tell(talk, {})
        else:
            await self._follow(self.runs[key], talk, int(asked.query.get("after", "0")))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, run: Run, talk: Talk, after: int) -> None:
        left = self.cuts.pop(0) if self.cuts else 1 << 30
        await talk.head(content_type="application/x-ndjson")
        while left:
            changed = run.changed
            if piece := bytes(run.output[after : after + 65_536]):
                after += len(piece)
                line = {"output": base64.b64encode(piece).decode()}
            elif run.end is not None:
                line = {"end": run.end}
            else:
                await changed.wait()
                continue
            await talk.send(json.dumps(line).encode() + b"\n")
            if "end" in line:
                return
            left -= 1
        talk.cut()

    async def _run(self, run: Run, at: Environment, wanted: dict[str, Any]) -> None:
        self.ran.append(wanted["line"])
        with tempfile.TemporaryDirectory() as secrets:
            for name, data in wanted["files"].items():
                path = Path(secrets) / name
                path.write_bytes(base64.b64decode(data))
                path.chmod(0o400)
            run.process = await asyncio.create_subprocess_exec(
                *_command_line(at, wanted, Path(secrets)), stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            loop = asyncio.get_running_loop()
            late = loop.call_later(wanted["seconds"], run.kill, "timeout")
            watching = loop.create_task(_watched(run, at))
            await _read(run, 64 * at.limits.output)
            code = await run.process.wait()
            if run.why == "disk":
                await at.watch.look()
            late.cancel()
            watching.cancel()
        run.end = {
            "exit": code,
            "size": len(run.output),
            "ended": run.why,
            "words": run.words,
            "tried": self.tried,
        }
        run.tell()

    def stop(self) -> None:
        """End every command."""
        for run in self.runs.values():
            run.kill("stopped")


@contextlib.contextmanager
def service(root: Path) -> Iterator[BoxService]:
    """The service in a thread of this process."""
    found = BoxService(root)
    with raw_http.served(found.handle) as port:
        found.url = f"http://127.0.0.1:{port}"
        try:
            yield found
        finally:
            found.stop()


async def _tell(talk: Talk, told: dict[str, Any]) -> None:
    await talk.answer(json.dumps(told).encode(), content_type="application/json")


async def _refuse(talk: Talk, status: int, code: str, message: str) -> None:
    body = json.dumps({"error": {"code": code, "message": message}}).encode()
    await talk.answer(body, status, content_type="application/json")


def _command_line(at: Environment, wanted: dict[str, Any], secrets: Path) -> list[str]:
    binds = {"/work": at.disk, "/run/secrets": secrets}
    cwd = os.path.normpath(os.path.join("/work", wanted["cwd"]))
    line = ["bash", "-c", wanted["line"]]
    return boxed.argv(binds, line, cwd=cwd, variables=wanted["variables"])


async def _read(run: Run, most: int) -> None:
    assert run.process is not None
    assert run.process.stdout is not None
    while data := await run.process.stdout.read(65_536):
        run.output += data
        if len(run.output) > most:
            run.kill("output")
        run.tell()


async def _watched(run: Run, at: Environment) -> None:
    before = at.watch.last
    while True:
        await asyncio.sleep(at.watch.period)
        if words := await at.watch.over(before):
            run.kill("disk", words)
