"""Environment: what the facts of one environment add up to, by folding them one at a time.

The state is bounded: of the disk it holds the newest version alone; the others, and what was tried
to reach, are rows of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from studio.core.rules import events as e
from studio.core.rules.environments import slots
from studio.core.rules.environments.slots import Slot

State = Literal["made", "running", "stopped", "lost", "deleted"]
Setup = Literal["", "started", "ok", "failed"]
STATES: tuple[State, ...] = ("made", "running", "stopped", "lost", "deleted")


@dataclass(frozen=True, kw_only=True)
class Disk:
    """The newest kept version of a disk. `digest` names its bytes in the disk store."""

    version: int
    digest: str
    files: int
    folders: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Environment:
    """What is known of an environment after `seq` facts. Times are ms, UTC.

    `versions` counts those that are there, `used` is when it was last worked in. `setup` says how
    that went on the present disk; `setup_seq` is the fact that told. `owner` "" is everybody.
    `begun` is false until the first disk was made ready, which a fork's begins with a version.
    `puts` counts how often another disk was put in the place of the one that was there.
    """

    id: str
    seq: int = 0
    time: int = 0
    name: str = ""
    kind: str = ""
    manifest: str | None = None
    manifest_version: int | None = None
    definition: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    by: str = ""
    made: int = 0
    used: int = 0
    state: State = "made"
    isolation: str = ""
    gaps: tuple[str, ...] = ()
    lost: str = ""
    setup: Setup = ""
    setup_seq: int = 0
    begun: bool = False
    forked_from: e.ForkedFrom | None = None
    disk: Disk | None = None
    versions: int = 0
    puts: int = 0
    deleted: int | None = None

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The secret slots that it declares."""
        return slots.of_definition(self.definition)

    @property
    def delete_after(self) -> int | None:
        """After so many ms without use it is deleted; None for never."""
        seconds = self.definition.get("delete_after")
        return None if seconds is None else int(seconds) * 1000

    @property
    def is_unset_fork(self) -> bool:
        """It was forked with a disk, which nobody has put in place yet."""
        from_version = self.forked_from is not None and self.forked_from.version is not None
        return from_version and not self.begun and self.disk is not None

    @property
    def version(self) -> int:
        """The number of the newest disk version, 0 while there is none."""
        return self.disk.version if self.disk is not None else 0


def apply(environment: Environment, fact: e.Fact) -> Environment:
    """The environment after one more fact of its journal."""
    at = max(environment.time, fact.time)
    environment = replace(environment, seq=fact.seq, time=at)
    match fact.event:
        case e.EnvironmentMade() as f:
            return replace(
                environment, name=f.name, kind=f.kind, manifest=f.manifest,
                manifest_version=f.manifest_version, definition=f.definition, digest=f.digest,
                labels=f.labels, owner=f.owner, by=f.by, made=at, used=at,
                forked_from=f.forked_from,
            )  # fmt: skip
        case e.EnvironmentLabelled() as f:
            return replace(environment, labels=f.labels)
        case e.EnvironmentOwnerChanged() as f:
            return replace(environment, owner=f.owner)
        case e.EnvironmentDeleted():
            return replace(environment, state="deleted", deleted=at)
        case _:
            return _worked(environment, fact, at)


def _worked(environment: Environment, fact: e.Fact, at: int) -> Environment:
    """After something that happened in it, or to its disk."""
    match fact.event:
        case e.EnvironmentStarted() as f:
            return replace(
                environment, state="running", isolation=f.isolation, gaps=f.gaps, lost="", used=at
            )
        case e.EnvironmentStopped():
            return replace(environment, state="stopped")
        case e.EnvironmentReset():
            return replace(
                environment, state="stopped", setup="", setup_seq=0, lost="",
                begun=True, puts=environment.puts + 1,
            )  # fmt: skip
        case e.EnvironmentLost() as f:
            return replace(environment, state="lost", lost=f.reason)
        case e.SetupStarted():
            return replace(environment, setup="started", setup_seq=fact.seq, used=at)
        case e.SetupFinished() as f:
            setup: Setup = "ok" if f.ok else "failed"
            return replace(
                environment, setup=setup, setup_seq=fact.seq, used=at,
                begun=environment.begun or f.ok,
            )  # fmt: skip
        case e.DiskKept() as f:
            disk = Disk(
                version=f.version, digest=f.digest, files=f.files, folders=f.folders, bytes=f.bytes
            )
            return replace(
                environment, disk=disk, versions=environment.versions + 1, used=at,
                puts=environment.puts + (f.reason == "import"),
            )  # fmt: skip
        case e.DiskRestored():
            found = environment if environment.state != "lost" else replace(
                environment, state="stopped", lost=""
            )  # fmt: skip
            return replace(found, used=at, setup="ok", begun=True, puts=environment.puts + 1)
        case e.DiskVersionRemoved():
            return replace(environment, versions=environment.versions - 1)
        case e.EgressTried():
            return replace(environment, used=at)
        case _:
            return environment
