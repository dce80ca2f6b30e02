"""docker or podman, spoken to by their command line."""

import asyncio
import contextlib
import json
import os
import shutil
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass, field
from typing import Any

from studio.core.sandboxes.containers.flags import Backend, Name
from studio.core.sandboxes.contract import SandboxError

SECONDS = 60.0
PULL_SECONDS = 1_800.0
_MOST_WORDS = 500


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a call ended with."""

    code: int
    out: bytes = field(repr=False)
    error: str


class Cli:
    """One of the two programs. `program` is its path, `name` which of them it is."""

    def __init__(self, program: str, name: Name) -> None:
        self.program, self.name = program, name
        self._backend: Backend | None = None

    @property
    def is_known(self) -> bool:
        """Whether its service has answered."""
        return self._backend is not None

    async def call(self, *words: str, given: bytes = b"", seconds: float = SECONDS) -> Done:
        """Run it to its end; SandboxError when it takes longer than `seconds`."""
        process = await self.begin(*words)
        try:
            async with asyncio.timeout(seconds):
                out, error = await process.communicate(given)
        except TimeoutError:
            words_ = f"{self.name} {words[0]} took more than {seconds:g} s."
            raise unavailable(words_) from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None, "it was waited for"
        return Done(code=process.returncode, out=out, error=_said(error))

    async def sure(self, *words: str, seconds: float = SECONDS) -> bytes:
        """What it writes; SandboxError with its own words when it fails."""
        done = await self.call(*words, seconds=seconds)
        if done.code:
            raise unavailable(f"{self.name} {words[0]} failed: {done.error}")
        return done.out

    async def begin(self, *words: str) -> Process:
        """Start it. Its environment is the studio's: it names the service that it speaks to."""
        try:
            return await asyncio.create_subprocess_exec(
                self.program, *words, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
        except OSError as wrong:
            raise unavailable(f"{self.name} cannot be run: {wrong.strerror}.") from None

    async def inspect(self, *words: str) -> dict[str, Any] | None:
        """What it knows of one thing; None when there is no such thing."""
        done = await self.call(*words)
        if done.code:
            return None
        found = _json(done.out, self.name)
        first = found[0] if isinstance(found, list) and found else found
        return first if isinstance(first, dict) else None

    async def backend(self) -> Backend:
        """What its service keeps, asked for once."""
        if self._backend is None:
            told = _json(await self.sure("info", "--format", "{{json .}}"), self.name)
            if not isinstance(told, dict) or told.get("ServerErrors"):
                raise unavailable(f"{self.name} does not reach its service.")
            read = _docker if self.name == "docker" else _podman
            rootless, features = read(told)
            if os.geteuid() == 0 and not rootless:
                features.add("own_user")
            self._backend = Backend(name=self.name, rootless=rootless, features=frozenset(features))
        return self._backend


async def answering() -> Cli | None:
    """The program whose service answers here, docker before podman; None when neither is installed.

    When none of those that are installed answers it is the first, which says why.
    """
    names: tuple[Name, ...] = ("docker", "podman")
    there = [Cli(program, name) for name in names if (program := shutil.which(name))]
    for cli in there:
        with contextlib.suppress(SandboxError):
            await cli.backend()
            return cli
    return there[0] if there else None


def unavailable(why: str) -> SandboxError:
    """The container cannot be had; nothing ran."""
    words = (
        f"The container of this environment cannot be used. {why} Nothing ran; tell an operator."
    )
    return SandboxError("sandbox.unavailable", words)


def _docker(told: dict[str, Any]) -> tuple[bool, set[str]]:
    """Rootless, and the features (docker's `info`, API 1.40 and later)."""
    options = [str(item) for item in told.get("SecurityOptions") or ()]
    names = {part for option in options for part in option.split(",") if part.startswith("name=")}
    features = {
        feature for feature, field_ in (("memory", "MemoryLimit"), ("pids", "PidsLimit"))
        if told.get(field_)
    }  # fmt: skip
    if any(option.startswith("name=seccomp") and "unconfined" not in option for option in options):
        features.add("seccomp")
    return "name=rootless" in names, features


def _podman(told: dict[str, Any]) -> tuple[bool, set[str]]:
    host = told.get("host") or {}
    security = host.get("security") or {}
    controllers = {str(item) for item in host.get("cgroupControllers") or ()}
    features = controllers & {"memory", "pids"}
    if security.get("seccompEnabled"):
        features.add("seccomp")
    return bool(security.get("rootless")), features


def _json(out: bytes, name: str) -> Any:
    try:
        return json.loads(out)
    except ValueError:
        raise unavailable(f"{name} gave an answer that cannot be read.") from None


def _said(error: bytes) -> str:
    """The last of what it says of an error."""
    return error.decode("utf-8", "replace").strip()[-_MOST_WORDS:]
