"""An environment in a container of docker or podman; its disk is a folder of this machine.

One container is kept for an environment, found by the label of its identity and by nothing else.
It waits; each command is one `exec`, given to a shell by its standard input.
"""

import asyncio
import contextlib
import os
import secrets
import shutil
import socket
import stat
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from studio.core.sandboxes.box.usage import FREE
from studio.core.sandboxes.containers import flags, script
from studio.core.sandboxes.containers.cli import PULL_SECONDS, Cli, unavailable
from studio.core.sandboxes.containers.flags import Shape
from studio.core.sandboxes.containers.run import ContainerRun
from studio.core.sandboxes.containers.script import Task
from studio.core.sandboxes.contract import Command, Kind, Limits, Ran, SandboxError
from studio.core.sandboxes.host_disk import HostDisk

# Answers what a command asks of the network: a listener, and the id that tries are noted under.
Serve = Callable[[socket.socket, str], Coroutine[Any, Any, None]]
USER = 65_533  # who commands are, when the studio runs as root
FIRST_PORT = 3128


@dataclass(frozen=True, kw_only=True)
class Image:
    """What a container is made of. `pin` is what `name` meant at the first start, or empty.

    `pinned` is told the pin when there was none.
    """

    name: str
    pin: str = ""
    pinned: Callable[[str], None] = lambda _: None


class Container(HostDisk):
    """One environment of the kind `container`."""

    kind: Kind = "container"

    def __init__(
        self, disk: Path, *, identity: str, image: Image, cli: Cli, limits: Limits | None = None,
        serve: Serve | None = None, loosened: frozenset[str] = frozenset(), free: int = FREE,
    ) -> None:  # fmt: skip
        super().__init__(disk, limits or Limits(), USER if os.geteuid() == 0 else None, free)
        self._identity, self._image, self._cli = identity, image, cli
        self._serve, self._loosened = serve, loosened
        self._files = asyncio.Lock()  # one command with secret files at a time
        self._starting = asyncio.Lock()
        self._ports: set[int] = set()
        self._running: set[ContainerRun] = set()
        self._id: str | None = None
        self._runtime = self._disk.with_name(f"{self._disk.name}.sockets")  # the proxy's
        self.features: frozenset[str] = frozenset()

    async def start(self) -> None:
        """Find the container of this identity, or make it."""
        async with self._starting:
            if self._id is not None:
                return
            await super().start()
            backend = await self._cli.backend()
            await asyncio.to_thread(_made, self._runtime)
            shape = await self._shape()
            self._id = await self._found(flags.digest(shape, backend))
            if self._id is None:
                out = await self._cli.sure(*flags.argv(shape, backend))
                self._id = out.decode().strip().splitlines()[-1]
            self.features = backend.features
            if (await self._inside(b"command -v socat >/dev/null")).code == 0:
                self.features |= {"relay"}

    async def stop(self) -> None:
        """End the container, and with it every process; the disk stays."""
        await super().stop()
        for run in self._running:
            run.end("stopped", "The environment was stopped.")
        async with self._gate.alone(), self._starting:
            for item in await self._containers():
                await self._cli.sure("rm", "--force", item["Id"])
            self._id = None
            if self._runtime.exists():
                await asyncio.to_thread(shutil.rmtree, self._runtime)

    async def renewed(self) -> None:
        """The next command looks for a container of the folder that the disk is now."""
        async with self._starting:
            self._id = None

    async def shell(self, command: Command, heard: Callable[[bytes], None] = lambda _: None) -> Ran:
        """Run a line in the container."""
        async with contextlib.AsyncExitStack() as stack:
            if command.files:
                await stack.enter_async_context(self._files)
            await stack.enter_async_context(self.at_work(command.cwd))
            command.begun()
            mark = secrets.token_hex(16)
            port = await stack.enter_async_context(self._egress(mark, command.egress))
            return await self._ran(_task(command, mark, port), command, heard)

    async def _ran(self, task: Task, command: Command, heard: Callable[[bytes], None]) -> Ran:
        given = script.script(task)
        process = await self._cli.begin(*self._exec(given))
        ending = partial(self._inside, script.ending(task.mark))
        run = ContainerRun(process, self._limits, heard, ending)
        seconds = self._limits.command_seconds if command.seconds is None else command.seconds
        self._running.add(run)
        try:
            ran = await run.follow(given, seconds, self._watch)
        except SandboxError:
            self._id = None  # the next command looks for the container anew
            raise
        finally:
            self._running.discard(run)
            if run.is_left and self._id is not None:
                await self._cli.call("rm", "--force", self._id)  # what hides from its mark ends so
                self._id = None
        if ran.ended == "disk":
            await self._watch.look()  # the next command finds it full, and may clear it
        return ran

    def _exec(self, given: bytes) -> list[str]:
        """The words that have a shell in the container read a script."""
        assert self._id is not None, "it was started, and stopping waits for commands"
        return ["exec", "--interactive", self._id, *script.reading(given)]

    async def _inside(self, given: bytes) -> Any:
        """Have a shell in the container do something short."""
        return await self._cli.call(*self._exec(given), given=given, seconds=20)

    @contextlib.asynccontextmanager
    async def _egress(self, mark: str, label: str) -> AsyncIterator[int | None]:
        """A socket that leads to the proxy, for one command; its port inside."""
        if self._serve is None or "relay" not in self.features:
            yield None
            return
        with self._port() as port, _listener(self._runtime, f"{mark}.sock") as listener:
            async with asyncio.TaskGroup() as group:
                serving = group.create_task(self._serve(listener, label))
                try:
                    yield port
                finally:
                    serving.cancel()

    @contextlib.contextmanager
    def _port(self) -> Iterator[int]:
        """A port that no other command of this container has."""
        port = next(n for n in range(FIRST_PORT, 65_536) if n not in self._ports)
        self._ports.add(port)
        try:
            yield port
        finally:
            self._ports.discard(port)

    async def _containers(self) -> list[dict[str, Any]]:
        """Every container of exactly this identity, as the service describes it."""
        label = f"label={flags.IDENTITY}={self._identity}"
        out = await self._cli.sure("ps", "--all", "--quiet", "--no-trunc", "--filter", label)
        found = list[dict[str, Any]]()
        for number in out.decode().split():
            item = await self._cli.inspect("container", "inspect", number)
            if item is not None and _labels(item).get(flags.IDENTITY) == self._identity:
                found.append(item)
        return found

    async def _found(self, digest: str) -> str | None:
        """The container that is there, running, when it was made of the same."""
        items = await self._containers()
        if len(items) > 1:
            raise unavailable(
                f"There are {len(items)} containers with the label {flags.IDENTITY}="
                f"{self._identity}, and which is meant cannot be told. Remove them."
            )
        for item in items:
            number = str(item["Id"])
            if _labels(item).get(flags.SHAPE) == digest:
                if not (item.get("State") or {}).get("Running"):
                    await self._cli.sure("start", number)
                return number
            await self._cli.sure("rm", "--force", number)  # made of other limits; the disk is ours
        return None

    async def _shape(self) -> Shape:
        disk = str(self._disk)
        if any(letter in disk for letter in ',"\n'):
            raise unavailable(f"Its folder has a comma or a quote in its path: {disk}.")
        entry = await asyncio.to_thread(os.stat, disk)
        return Shape(
            identity=self._identity, image=await self._pinned(), disk=disk,
            inode=(entry.st_dev, entry.st_ino), runtime=str(self._runtime),
            limits=self._limits, loosened=self._loosened,
            owner=os.geteuid() if self._owner is None else self._owner,
        )  # fmt: skip

    async def _pinned(self) -> str:
        """The image, exactly: what it meant at the first start, fetched when it is not here."""
        wanted = self._image.pin or self._image.name
        item = await self._cli.inspect("image", "inspect", wanted)
        if item is None:
            await self._cli.sure("pull", wanted, seconds=PULL_SECONDS)
            item = await self._cli.inspect("image", "inspect", wanted)
        if item is None:
            raise unavailable(f"The image {wanted} was fetched and is not there.")
        if not self._image.pin:
            pin = next(iter(item.get("RepoDigests") or ()), None) or str(item["Id"])
            self._image.pinned(pin)
            self._image = Image(name=self._image.name, pin=pin)
        return str(item["Id"])


def _task(command: Command, mark: str, port: int | None) -> Task:
    return Task(
        mark=mark, line=command.line, cwd=os.path.normpath(os.path.join("/work", command.cwd)),
        variables=command.variables, files=command.files, port=port,
    )  # fmt: skip


def _labels(item: dict[str, Any]) -> dict[str, str]:
    return (item.get("Config") or {}).get("Labels") or {}


def _made(folder: Path) -> None:
    """A folder that a container's user may look for sockets in, and not list."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o711)


@contextlib.contextmanager
def _listener(folder: Path, name: str) -> Iterator[socket.socket]:
    """A socket in a folder, open to the container's user; gone afterwards.

    It is bound by the folder's descriptor: a socket's path has 107 bytes at most (unix(7)).
    """
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{place}/{name}")
            _open_to_all(place, name)
            listener.listen(64)
            yield listener
    finally:
        (folder / name).unlink(missing_ok=True)
        os.close(place)


def _open_to_all(folder: int, name: str) -> None:
    """Let every user connect, by a descriptor of the very socket: who is our own user outside of
    the container could have put a link at its name, and a mode is set behind links."""
    found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        if not stat.S_ISSOCK(os.fstat(found).st_mode):
            raise unavailable("Something else took the place of its way to the network.")
        Path(f"/proc/self/fd/{found}").chmod(0o666)
    finally:
        os.close(found)
