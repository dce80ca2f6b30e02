"""From what an environment is to the sandbox that does it, with the gaps that it then has."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from studio.core.network.connector import Connector
from studio.core.network.resolver import Rules
from studio.core.sandboxes import gaps
from studio.core.sandboxes.box import probe as probing
from studio.core.sandboxes.box.launching import Launcher
from studio.core.sandboxes.box.probe import Machine
from studio.core.sandboxes.box.usage import FREE
from studio.core.sandboxes.container import Container, Image
from studio.core.sandboxes.containers import cli as programs
from studio.core.sandboxes.containers.cli import Cli
from studio.core.sandboxes.contract import Kind, Limits, Sandbox, SandboxError
from studio.core.sandboxes.egress.allowing import AllowList, BadPlace
from studio.core.sandboxes.egress.proxy import Egress
from studio.core.sandboxes.egress.tried import Tried
from studio.core.sandboxes.gaps import Column, Gap
from studio.core.sandboxes.none import NoSandbox
from studio.core.sandboxes.remote import RemoteSandbox
from studio.core.sandboxes.sandbox import Box
from studio.core.sandboxes.services.service import Service

Isolation = Literal["sandbox", "reduced", "none"]
# What may hold commands, by what an operator accepts.
_ACCEPTED: Final = {
    "sandbox": {"bubblewrap"},
    "reduced": {"bubblewrap", "landlock"},
    "none": {"bubblewrap", "landlock", "none"},
}


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What an environment is, as far as running commands goes.

    `identity` is its id, and nobody else's. `folder` is this environment's own: the disk is `disk`
    in it, and a remote disk is brought there. `places` are hosts of the allow-list with their
    ports. `image` and `pin` are a container's (see `container.Image`), `url` and `token` a
    service's. `isolation` is the least that is accepted of this machine; `loosened` are rows of
    `gaps` that a container does without.
    """

    kind: Kind
    identity: str
    folder: Path
    limits: Limits = field(default_factory=Limits)
    places: tuple[tuple[str, tuple[int, ...]], ...] = ()
    image: str = ""
    pin: str = ""
    url: str = ""
    token: str = field(default="", repr=False)
    isolation: Isolation = "sandbox"
    loosened: frozenset[str] = frozenset()
    refuse_on_gaps: bool = False


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A sandbox, and `gaps()`: what it does not enforce, as far as it is known by now.

    What a container's image has, and what a service keeps, is known once it was started.
    """

    sandbox: Sandbox
    gaps: Callable[[], tuple[Gap, ...]]


class Opener:
    """Makes sandboxes for a studio. `rules` are its own for the network, `now` is milliseconds.

    `cli` is the container program, the one that answers here unless it is given; `free` is what
    the file system must have left, in bytes.
    """

    def __init__(
        self, rules: Rules, now: Callable[[], int], *, cli: Cli | None = None, free: int = FREE
    ) -> None:
        self._rules, self._now, self._free = rules, now, free
        self._cli = cli
        self._launcher, self._connector = Launcher(), Connector(rules)
        self._probing = asyncio.Lock()
        self._machine: Machine | None = None

    async def aclose(self) -> None:
        """Let go of what all sandboxes share. They were stopped before."""
        await self._launcher.close()
        await self._connector.aclose()

    async def machine(self) -> Machine:
        """What this machine holds commands with, tried once."""
        async with self._probing:
            if self._machine is None:
                self._machine = await asyncio.to_thread(probing.probe)
            return self._machine

    async def open(
        self, spec: Spec, tried: Callable[[Tried], None],
        pinned: Callable[[str], None] = lambda _: None,
    ) -> Opened:  # fmt: skip
        """The sandbox of an environment, not started unless its gaps must be known.

        `tried` hears of every try to reach a place, `pinned` what an image meant at the first
        start. SandboxError `sandbox.unavailable`: it cannot be had here, or has gaps that it must
        not have.
        """
        opened = await self._made(spec, _allow(spec), tried, pinned)
        if spec.refuse_on_gaps:
            await opened.sandbox.start()
            try:
                gaps.refuse(opened.gaps())
            except SandboxError:
                await opened.sandbox.stop()
                raise
        return opened

    async def _made(
        self, spec: Spec, allow: AllowList, tried: Callable[[Tried], None],
        pinned: Callable[[str], None],
    ) -> Opened:  # fmt: skip
        serve = Egress(allow, self._rules, tried, self._now).serve if allow else None
        if spec.kind == "sandbox":
            machine = await self._accepted(spec.isolation)
            box = Box(
                spec.folder / "disk", machine=machine, launcher=self._launcher,
                limits=spec.limits, serve=serve, free=self._free,
            )  # fmt: skip
            return _opened(box, machine.isolation, lambda: machine.features, spec)
        elif spec.kind == "container":
            container = Container(
                spec.folder / "disk", identity=spec.identity, cli=await self._container_program(),
                image=Image(name=spec.image, pin=spec.pin, pinned=pinned), limits=spec.limits,
                serve=serve, loosened=spec.loosened, free=self._free,
            )  # fmt: skip
            return _opened(container, "container", lambda: container.features, spec)
        elif spec.kind == "remote":
            await asyncio.to_thread(spec.folder.mkdir, parents=True, exist_ok=True)
            service = Service(spec.url, spec.token, spec.identity, self._connector)
            remote = RemoteSandbox(service, spec.limits, spec.folder, allow, spec.image, tried)
            return _opened(remote, "remote", lambda: remote.features, spec)
        return Opened(sandbox=NoSandbox(), gaps=lambda: ())

    async def _accepted(self, isolation: Isolation) -> Machine:
        """This machine, when what it gives is accepted."""
        machine = await self.machine()
        if machine.isolation is None and isolation == "none":
            machine = probing.machine("none", machine.words)
        if machine.isolation not in _ACCEPTED[isolation]:
            words = (
                f"{machine.words} This environment asks for isolation “{isolation}”; on this"
                " machine it cannot run commands. Tell an operator."
            )
            raise SandboxError("sandbox.unavailable", words)
        return machine

    async def _container_program(self) -> Cli:
        cli = self._cli or await programs.answering()
        if cli is None:
            raise programs.unavailable("Neither docker nor podman is installed here.")
        self._cli = cli if cli.is_known else None  # one that does not answer yet is asked again
        return cli


def _allow(spec: Spec) -> AllowList:
    try:
        return AllowList.of(spec.places)
    except BadPlace as wrong:
        words = f"The allow-list of this environment cannot be used: {wrong} Tell an operator."
        raise SandboxError("sandbox.unavailable", words) from None


def _opened(
    sandbox: Sandbox, column: Column | None, features: Callable[[], frozenset[str]], spec: Spec
) -> Opened:
    assert column is not None, "what holds commands was accepted"
    loosened = spec.loosened if spec.kind == "container" else frozenset[str]()

    def found() -> tuple[Gap, ...]:
        return gaps.gaps(column, features(), places=bool(spec.places), loosened=loosened)

    return Opened(sandbox=sandbox, gaps=found)
